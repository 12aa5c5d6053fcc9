"""`robustirl --help`: every command in a line, in the order in which a user meets them."""

from collections.abc import Mapping
from typing import Any

from robustirl.cli.console import console
from robustirl.cli.output_options import HELP
from robustirl.cli.world_options import NAMES

GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("fit", "page"),
    "Data": ("demos", "convert"),
    "Worlds that differ": ("theory", "imitate"),
    "Other": ("version",),
}
EXAMPLES = (
    "robustirl demos make --env gridworld-1 --noise 0.2 --episodes 200 --out walks.csv",
    "robustirl fit --env gridworld-1 --demos walks.csv --out found",
    "robustirl page found",
)


def print_overview(kinds: Mapping[str, Any]) -> None:
    """Print the commands, a few examples, and the names of environments.

    Args:
        kinds: The dataclasses of the commands by name.
    """
    lines = ["usage: robustirl COMMAND [OPTIONS]; robustirl COMMAND --help explains a command", ""]
    lines.append("Inverse reinforcement learning when the expert's world and the learner's move differently.")
    for title, names in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:<11} {(kinds[name].__doc__ or '').strip().splitlines()[0]}" for name in names]
    lines += ["", "As in", "", *(f"  {line}" for line in EXAMPLES)]
    lines += ["", f"Environments: {NAMES}.", "", HELP]
    console.print("\n".join(lines))
