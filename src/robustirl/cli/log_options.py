"""The options of every command that reads a table of demonstrations: how its columns are called and numbered."""

import dataclasses
from typing import Literal

from robustirl.demonstrations import TableOptions
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Say how a table (.csv, .parquet) is to be read."""

    columns: str | None = None
    """The table's own names of columns, by ours: episode=trip,state=link. Ours are episode, state, and if there are
    any step, action, terminated."""
    first_state: Literal[0, 1] = 0
    """The number of the first state in the table."""
    first_action: Literal[0, 1] = 0
    """The number of the first action in the table."""

    def table_options(self) -> TableOptions:
        """Return the options as `demonstrations.load` takes them."""
        return TableOptions(
            columns=parse_columns(self.columns), first_state=self.first_state, first_action=self.first_action
        )


def parse_columns(text: str | None) -> dict[str, str] | None:
    """Return the names of columns in `episode=trip,state=link`.

    Example:
        >>> parse_columns("episode=trip, state=link")
        {'episode': 'trip', 'state': 'link'}
    """
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    for name, sign, own in pairs:
        if not (name.strip() and sign and own.strip()):
            raise InvalidInputError(f"--columns is {text!r}, but pairs as episode=trip,state=link are needed.")
    return {name.strip(): own.strip() for name, _, own in pairs}
