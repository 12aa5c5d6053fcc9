"""The commands by name: which file holds each, loaded when it is asked for.

Documented dataclasses are the commands, and their fields the options. A command loads its own file alone, and with
it the rooms that it needs.
"""

import functools
import importlib
import operator
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import tyro


class Command(NamedTuple):
    """Where a command is.

    Attributes:
        module: The file of this folder.
        kind: The dataclass in it, whose fields are the options.
        run: The function in it that runs such a request and returns the exit status.
    """

    module: str
    kind: str
    run: str

    def load(self) -> tuple[Any, Callable[[Any], int]]:
        """Return the dataclass and the function."""
        module = importlib.import_module(f"robustirl.cli.{self.module}")
        return getattr(module, self.kind), getattr(module, self.run)


COMMANDS = {
    "theory": Command("theory", "Theory", "run_theory"),
    "fit": Command("fit", "Fit", "run_fit"),
    "page": Command("page", "Page", "run_page"),
    "demos": Command("demos", "Demos", "run_demos"),
    "convert": Command("demos", "Convert", "run_convert"),
    "imitate": Command("imitate", "Imitate", "run_imitate"),
    "version": Command("version", "Version", "run_version"),
}
"""All commands."""


def load_kinds() -> dict[str, Any]:
    """Return the dataclasses of all commands by name."""
    return {name: command.load()[0] for name, command in COMMANDS.items()}


def parse_command(words: list[str], description: str) -> Any:
    """Return what a command line asks for.

    Raise SystemExit if it asks for nothing, or if tyro cannot read it.

    Args:
        words: The command line.
        description: What the help of the program says.

    Example:
        >>> parse_command(["theory", "three-state"], "").environment
        'three-state'
    """
    name = words[0] if words else ""
    if name in COMMANDS:
        kind, _ = COMMANDS[name].load()
        return tyro.cli(kind, args=words[1:], prog=f"robustirl {name}")
    # No command, or a question that tyro answers itself: shell completion needs all commands.
    kinds = [Annotated[kind, tyro.conf.subcommand(name)] for name, kind in load_kinds().items()]
    union: Any = functools.reduce(operator.or_, kinds)
    return tyro.cli(union, args=words, prog="robustirl", description=description)
