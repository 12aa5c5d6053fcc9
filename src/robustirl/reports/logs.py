"""Read demonstrations for a world, and number states and actions as the world does."""

import dataclasses
from pathlib import Path

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.formats import load_with_note
from robustirl.demonstrations.tables import TableOptions
from robustirl.envs import Environment
from robustirl.errors import InvalidInputError

KINDS = ("state", "action")


def read_demonstrations(path: Path, table: TableOptions, environment: Environment) -> tuple[Demonstrations, str]:
    """Return demonstrations in an environment, and the line that says what was understood.

    A table may use the environment's names instead of numbers.

    Args:
        path: The file, a folder of imitation's trajectories, or `minari:ID`.
        table: How the file is to be read, if it is a table.
        environment: Whose names count.
    """
    names = {f"{kind}_names": getattr(environment, f"{kind}_names") for kind in KINDS}
    given = {name: getattr(table, name) or known for name, known in names.items()}
    found, understood = load_with_note(path, dataclasses.replace(table, world=environment.name, **given))
    for kind in KINDS:
        own, known = found.names[f"{kind}_names"], names[f"{kind}_names"]
        if own is not None and known is None and getattr(table, f"{kind}_names") is None:
            raise InvalidInputError(
                f"{path} names its {kind}s, as {own[0]!r}, but {environment.name} has no names for them; number them"
                f" from 0, or save the world with an array '{kind}_names'."
            )
    used = {name: names[name] for name, own in found.names.items() if own is not None and names[name] is not None}
    return found.renumber(**used), understood
