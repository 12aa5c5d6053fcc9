"""Find what separates the cells of a text table, and name it."""

import csv
from collections.abc import Collection

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError

KNOWN = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|"}
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


def as_separator(value: str | None, option: str = "separator") -> str | None:
    r"""Return a separator that was given as a character or as a word.

    Example:
        >>> as_separator("tab"), as_separator(";"), as_separator(None)
        ('\t', ';', None)
    """
    if value is None:
        return None
    found = _WORDS.get(value, value) if isinstance(value, str) else value
    if not isinstance(found, str) or len(found) != 1 or found.isalnum() or found in '"\r\n\0.-_#':
        raise InvalidInputError(
            f"{option} is {short_repr(value)}, but one of {', '.join(word for word in _WORDS if word != chr(92) + 't')}"
            " or a single character is needed."
        )
    return found


def sniff_separator(header: str, names: Collection[str]) -> str:
    """Return the separator of a header: the one that gives the most cells found in `names`.

    Example:
        >>> sniff_separator("trip;link;where, if known", ["trip", "link"])
        ';'
    """

    def found(separator: str) -> tuple[int, int]:
        try:
            cells = [cell.strip() for cell in next(csv.reader([header], delimiter=separator, strict=True))]
        except (csv.Error, StopIteration):
            return 0, 0
        return sum(cell in names for cell in cells), len(cells)

    return max(KNOWN, key=found)  # The first of equals, which is the comma.
