"""Read the cells of a table as people write them: whole numbers, answers, or names.

A column is a masked array; an empty cell is masked. CSV files give words, Parquet files and frames give numbers,
answers or words. `18`, `18.0` and `" 18 "` are the same number; `true`, `TRUE`, `1` and `1.0` the same answer.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from robustirl._runtime import one_line, short_repr
from robustirl.errors import InvalidInputError

Found = TypeVar("Found")
Row = Callable[[int], str]
"""Names a row of a table by its place, as `line 3 of walks.csv`."""

EMPTY_WORDS = frozenset({"", "nan", "na", "n/a", "null", "none"})
_YES, _NO = ("true", "1", "1.0", "yes", "y"), ("false", "0", "0.0", "no", "n")
_ANSWERS = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_WHOLE = re.compile(r"\+?\d{1,30}(\.0*)?")
_LEADING_ZERO = re.compile(r"\+?0\d")
_LARGEST = np.iinfo(np.int64).max


def of_each(function: Callable[[Any], Found], cells: Sequence[Any]) -> list[Found]:
    """Return what a function returns for each cell; equal texts share a call, as do integers.

    A column of a million cells has few different ones.

    Example:
        >>> of_each(as_whole, ["3", "3", 3, 3.0, True])
        [3, 3, 3, 3, None]
    """
    # Not of all kinds: 1, 1.0 and True are equal, but no text equals a number.
    known = {cell: function(cell) for cell in {cell for cell in cells if type(cell) is str or type(cell) is int}}
    return [known[cell] if type(cell) is str or type(cell) is int else function(cell) for cell in cells]


def as_column(cells: Sequence[Any]) -> np.ma.MaskedArray:
    """Return Python values as a column of objects; None, NaN and their like in pandas are empty.

    Example:
        >>> as_column([3, None, float("nan")]).mask.tolist()
        [False, True, True]
    """
    values = np.empty(len(cells), dtype=object)
    values[:] = list(cells)
    return np.ma.array(values, mask=of_each(_is_missing, cells))


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def without_empty_words(column: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """Return the column with cells such as `NaN` and `null` empty, as many programs write them."""
    words = of_each(_is_empty_word, np.ma.getdata(column).tolist())
    return np.ma.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column) | np.array(words, dtype=bool))


def _is_empty_word(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in EMPTY_WORDS


def whole_numbers(name: str, column: np.ma.MaskedArray, row: Row, first: int = 0) -> np.ma.MaskedArray:
    """Return a column of whole numbers, counted from 0; in the table they count from `first`.

    Example:
        >>> whole_numbers("state", as_column(["1", "18.0", None]), str, first=1).tolist()
        [0, 17, None]
    """
    empty, cells = np.ma.getmaskarray(column), np.ma.getdata(column).tolist()
    numbers = of_each(as_whole, cells)
    for i, number in enumerate(numbers):
        if (number is None or number < first) and not empty[i]:
            comma = isinstance(cells[i], str) and DECIMAL_COMMA.fullmatch(cells[i])
            problem = ", a number with a decimal comma" if comma else ""
            remedy = "; write numbers with points" if comma else ""
            raise InvalidInputError(
                f"the column {name!r} holds {short_repr(cells[i])} in {row(i)}{problem}, but a whole number of at least"
                f" {first} is needed{remedy}."
            )
    values = np.array([first if number is None else number for number in numbers], dtype=np.int64) - first
    return np.ma.array(values, mask=empty)


def as_whole(cell: Any) -> int | None:
    """Return the whole number of at least 0 that a cell holds, or None.

    Example:
        >>> as_whole(" 18 "), as_whole(18.0), as_whole("1e3"), as_whole(np.timedelta64(18, "s"))
        (18, 18, None, None)
    """
    if isinstance(cell, str):
        text = cell.strip()
        # Few digits first: Python refuses to convert thousands of them.
        number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else None
    elif isinstance(cell, bool | np.timedelta64) or not isinstance(cell, int | float | np.integer | np.floating):
        number = None  # NumPy's spans of time are integers to it.
    elif isinstance(cell, int | np.integer):
        number = int(cell)
    else:
        number = int(cell) if np.isfinite(cell) and cell == int(cell) else None
    return number if number is not None and 0 <= number <= _LARGEST else None


def spelled(cell: Any) -> str:
    """Return the word of a cell, with whole numbers spelled in one way.

    Leading zeros stay, because they may be part of a name.

    Example:
        >>> [spelled(cell) for cell in (18, 18.0, " 18 ", "018", " trip 7")]
        ['18', '18', '18', '018', 'trip 7']
    """
    word = as_word(cell)
    number = None if isinstance(cell, str) and _LEADING_ZERO.match(word) else as_whole(cell)
    return word if number is None else str(number)


def as_word(cell: Any) -> str:
    """Return the text of a cell; refuse one without, such as a number of thousands of digits."""
    try:
        return str(cell).strip()
    except Exception as error:
        raise InvalidInputError(
            f"a cell of the type {type(cell).__name__} cannot be written as text ({one_line(error)}); give numbers or"
            " words."
        ) from None


def answers(name: str, column: np.ma.MaskedArray, row: Row) -> np.ma.MaskedArray:
    """Return a column of true and false, written as words or as 1 and 0.

    Example:
        >>> answers("terminated", as_column(["TRUE", 0, 1.0, None]), str).tolist()
        [True, False, True, None]
    """
    empty, cells = np.ma.getmaskarray(column), np.ma.getdata(column).tolist()
    found = of_each(lambda cell: _ANSWERS.get(as_word(cell).lower()), cells)
    for i, answer in enumerate(found):
        if answer is None and not empty[i]:
            raise InvalidInputError(
                f"the column {name!r} holds {short_repr(cells[i])} in {row(i)}, but true or false (or 1 or 0) is"
                " needed, or nothing."
            )
    return np.ma.array(np.array([answer is True for answer in found]), mask=empty)
