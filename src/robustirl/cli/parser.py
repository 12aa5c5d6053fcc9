"""Say which commands there are, and read a command line with tyro."""

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from robustirl.cli.demos import Convert, Inspect, Make
from robustirl.cli.fit import Fit, Page
from robustirl.cli.imitate import Imitate
from robustirl.cli.theory import Theory

DESCRIPTION = """Inverse reinforcement learning when the expert's world and the learner's move differently.

    robustirl demos make --env gridworld-1 --noise 0.2 --episodes 200 --out walks.csv
    robustirl fit --env gridworld-1 --demos walks.csv --out found
"""
CONFIG = (tyro.conf.FlagCreatePairsOff,)


def _one_of(kinds: dict[str, Any]) -> Any:
    """Return the type of any of several commands, each with the first line of its help."""
    lines = {name: (kind.__doc__ or "").splitlines()[0] for name, kind in kinds.items()}
    named = [Annotated[kind, tyro.conf.subcommand(name, description=lines[name])] for name, kind in kinds.items()]
    return functools.reduce(operator.or_, named)


DEMOS = {"make": Make, "inspect": Inspect, "convert": Convert}


@dataclasses.dataclass(frozen=True)
class Demos:
    """Make, inspect and convert files of demonstrations."""

    action: Annotated[_one_of(DEMOS), tyro.conf.arg(name="")]  # pyright: ignore[reportInvalidTypeForm]


COMMANDS = {"fit": Fit, "page": Page, "demos": Demos, "theory": Theory, "imitate": Imitate}


def parse(words: Sequence[str]) -> Any:
    """Return what a command line asks for; end the process as tyro does if it asks for nothing.

    Example:
        >>> parse(["demos", "convert", "walks.csv", "walks.parquet"]).target
        PosixPath('walks.parquet')
    """
    words = list(words)
    if words == ["--version"]:
        from robustirl import __version__

        print(f"robustirl {__version__}")
        raise SystemExit(0)
    kind, count = (DEMOS.get(words[1]), 2) if words[:1] == ["demos"] and len(words) > 1 else (None, 0)
    if kind is None and words and words[0] in COMMANDS:
        kind, count = COMMANDS[words[0]], 1
    if kind is not None:  # With the whole help of the one command.
        request: Any = tyro.cli(kind, args=words[count:], prog=" ".join(["robustirl", *words[:count]]), config=CONFIG)
    else:
        request = tyro.cli(_one_of(COMMANDS), args=words, prog="robustirl", description=DESCRIPTION, config=CONFIG)
    return request.action if isinstance(request, Demos) else request
