"""The options of every command that reads a table of demonstrations: how its columns are called."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from robustirl._check import one_line
from robustirl._files import read_regular
from robustirl.demonstrations.tables import TableOptions
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Say how a table (.csv, .tsv, .parquet) is to be read."""

    columns: tuple[str, ...] = ()
    """The table's own names of columns, by ours: episode=trip state=link. Ours are episode, state, and if there are
    any step, action, terminated."""
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
    if "" in words or len(set(words)) < len(words):
        raise InvalidInputError(f"{path} must hold different names, one a line; it holds {len(words)} lines.")
    return words


def parse_columns(words: Sequence[str]) -> dict[str, str] | None:
    """Return the names of columns in `episode=trip state=link`, or in one word with commas.

    Example:
        >>> parse_columns(["episode=trip", "state=link"]) == parse_columns(["episode=trip, state=link"])
        True
    """
    pairs = [part.partition("=") for word in words for part in word.split(",")]
    for name, sign, own in pairs:
        if not (name.strip() and sign and own.strip()):
            raise InvalidInputError(f"--columns is {' '.join(words)!r}, but pairs as episode=trip are needed.")
    named = {name.strip(): own.strip() for name, _, own in pairs}
    if len(named) < len(pairs):
        raise InvalidInputError(f"--columns is {' '.join(words)!r}, which names a column twice; name each once.")
    return named or None
