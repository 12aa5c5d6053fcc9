"""The options of every command that reads a table of demonstrations: how its columns are called and numbered."""

import dataclasses
import re
from pathlib import Path
from typing import Literal

from robustirl._runtime import one_line, read_regular
from robustirl.demonstrations import TableOptions
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Say how a table (.csv, .tsv, .parquet) is to be read."""

    columns: str | None = None
    """The table's own names of columns, by ours: episode=trip,state=link. Ours are episode, state, and if there are
    any step, action, terminated."""
    first_state: Literal[0, 1] | None = None
    """The number of the first state in the table; 0 if omitted."""
    first_action: Literal[0, 1] | None = None
    """The number of the first action in the table; 0 if omitted."""
    time_step: float | None = None
    """Seconds between two steps, for tables with a column time (numbers, or timestamps such as 2024-05-01 08:30:00)."""
    separator: str | None = None
    """What separates the cells of a text table: comma, semicolon, tab, pipe, or a character; read off its header if
    omitted."""
    state_names: Path | None = None
    """A text file with the name of every state, a line each, in the order of their numbers."""
    action_names: Path | None = None
    """The same for actions."""

    def table_options(self) -> TableOptions:
        """Return the options as `demonstrations.load` takes them."""
        return TableOptions(
            columns=parse_columns(self.columns),
            state_names=_read_names(self.state_names),
            action_names=_read_names(self.action_names),
            first_state=self.first_state,
            first_action=self.first_action,
            time_step=self.time_step,
            separator=self.separator,
            command_line=True,
        )


def _read_names(path: Path | None) -> list[str] | None:
    """Return the lines of a text file; the number of a name is the number of its line."""
    if path is None:
        return None
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read ({one_line(error)}); give a text file of names.") from None
    # Only at the ends of lines: Python's splitlines cuts at further characters, which may be part of a name.
    words = [line.strip() for line in re.split(r"\r\n|\r|\n", text.rstrip())]
    if "" in words and len(words) > 1:
        raise InvalidInputError(
            f"line {words.index('') + 1} of {path} is blank, which would move all later names by one; name every number"
            " in a line of its own."
        )
    words = [word for word in words if word]
    if len(set(words)) < len(words) or not words:
        raise InvalidInputError(f"{path} must hold different names, one a line; it holds {len(words)} lines.")
    return words


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
    names = [name.strip() for name, _, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"--columns is {text!r}, which names {name} more than once; name it once.")
    return {name.strip(): own.strip() for name, _, own in pairs}
