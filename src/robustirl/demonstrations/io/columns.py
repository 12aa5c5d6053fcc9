"""Read the cells of a table as people write them: whole numbers, answers, or names.

A column is a masked array; an empty cell is masked. CSV files give words, Parquet files and frames give numbers,
answers or words. `18`, `18.0` and `" 18 "` are the same number; `true`, `TRUE`, `1` and `1.0` the same answer.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError

Row = Callable[[int], str]
"""Names a row of a table by its place, as `line 3 of walks.csv`."""

EMPTY_WORDS = frozenset({"", "nan", "na", "n/a", "null", "none"})
_YES, _NO = ("true", "1", "1.0", "yes", "y"), ("false", "0", "0.0", "no", "n")
_ANSWERS = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_WHOLE_WITH_COMMA = re.compile(r"\s*\+?\d+,0+\s*")
_WHOLE = re.compile(r"\+?\d{1,30}(\.0*)?")
_LARGEST = np.iinfo(np.int64).max


def as_column(cells: Sequence[Any]) -> np.ma.MaskedArray:
    """Return Python values as a column of objects; None, NaN and their like in pandas are empty.

    Example:
        >>> as_column([3, None, float("nan")]).mask.tolist()
        [False, True, True]
    """
    values = np.empty(len(cells), dtype=object)
    values[:] = list(cells)
    return np.ma.array(values, mask=[_is_missing(cell) for cell in cells])


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, str):
        return not cell.strip()
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def without_empty_words(column: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """Return the column with cells such as `NaN` and `null` empty, as many programs write them."""
    words = [isinstance(cell, str) and cell.strip().lower() in EMPTY_WORDS for cell in np.ma.getdata(column)]
    return np.ma.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column) | np.array(words, dtype=bool))


def whole_numbers(name: str, column: np.ma.MaskedArray, row: Row, first: int = 0) -> np.ma.MaskedArray:
    """Return a column of whole numbers, counted from 0; in the table they count from `first`.

    Example:
        >>> whole_numbers("state", as_column(["1", "18.0", None]), str, first=1).tolist()
        [0, 17, None]
    """
    empty = np.ma.getmaskarray(column)
    values = np.zeros(len(column), dtype=np.int64)
    for i, cell in enumerate(np.ma.getdata(column).tolist()):
        if empty[i]:
            continue
        number = _whole(cell)
        if number is None or number < first:
            comma = isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell)
            problem = ", a number with a decimal comma" if comma else ""
            remedy = "; write numbers with points" if comma else ""
            raise InvalidInputError(
                f"the column {name!r} holds {short_repr(cell)} in {row(i)}{problem}, but a whole number of at least"
                f" {first} is needed{remedy}."
            )
        values[i] = number - first
    return np.ma.array(values, mask=empty)


def _whole(cell: Any) -> int | None:
    """Return the whole number of at least 0 that a cell holds, or None."""
    if isinstance(cell, str):
        text = cell.strip()
        # Few digits first: Python refuses to convert thousands of them.
        number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else None
    elif isinstance(cell, bool | np.bool_) or not isinstance(cell, int | float | np.number):
        number = None
    else:
        number = int(cell) if np.isfinite(cell) and cell == int(cell) else None
    return number if number is not None and 0 <= number <= _LARGEST else None


def answers(name: str, column: np.ma.MaskedArray, row: Row) -> np.ma.MaskedArray:
    """Return a column of true and false, written as words or as 1 and 0.

    Example:
        >>> answers("terminated", as_column(["TRUE", 0, 1.0, None]), str).tolist()
        [True, False, True, None]
    """
    empty = np.ma.getmaskarray(column)
    values = np.zeros(len(column), dtype=bool)
    for i, cell in enumerate(np.ma.getdata(column).tolist()):
        if empty[i]:
            continue
        found = _ANSWERS.get(str(cell).strip().lower())
        if found is None:
            raise InvalidInputError(
                f"the column {name!r} holds {short_repr(cell)} in {row(i)}, but true or false (or 1 or 0) is needed,"
                " or nothing."
            )
        values[i] = found
    return np.ma.array(values, mask=empty)


def names_or_numbers(
    name: str, column: np.ma.MaskedArray, row: Row, first: int, known: Sequence[str] | Mapping[str, int] | None
) -> tuple[np.ma.MaskedArray, tuple[str, ...] | None]:
    """Return a column as numbers, and the names they stand for if the table uses names.

    A column is one of names if `known` names are given, or if none of its cells looks like a number. Without known
    names they are numbered in alphabetical order.

    Example:
        >>> found, names = names_or_numbers("state", as_column(["north", "east", "north"]), str, 0, None)
        >>> found.tolist(), names
        ([1, 0, 1], ('east', 'north'))
    """
    empty = np.ma.getmaskarray(column)
    cells = np.ma.getdata(column).tolist()
    words = [cell.strip() if isinstance(cell, str) else str(cell) for cell in cells]
    if known is None:
        given = [cell for cell, hollow in zip(cells, empty, strict=True) if not hollow]
        # 3,4 may be a place in a grid; 18,0 is a number if all cells are like that.
        commas = all(isinstance(cell, str) and _WHOLE_WITH_COMMA.fullmatch(cell) for cell in given)
        if not given or commas or not all(isinstance(cell, str) and not _looks_numeric(cell) for cell in given):
            return whole_numbers(name, column, row, first), None
        known = sorted({word for word, hollow in zip(words, empty, strict=True) if not hollow})
    names = _in_order(name, known)
    places = {word: i for i, word in enumerate(names)}
    values = np.zeros(len(words), dtype=np.int64)
    for i, word in enumerate(words):
        if not empty[i]:
            if word not in places:
                raise InvalidInputError(
                    f"the column {name!r} holds {short_repr(word)} in {row(i)}, which is not among the {len(names)}"
                    f" {name} names given; add it to them, or correct the table."
                )
            values[i] = places[word]
    return np.ma.array(values, mask=empty), names


def _in_order(name: str, known: Sequence[str] | Mapping[str, int]) -> tuple[str, ...]:
    if not isinstance(known, Mapping):
        return tuple(str(word) for word in known)
    if sorted(known.values()) != list(range(len(known))):
        raise InvalidInputError(
            f"the {name} names are mapped to {short_repr(sorted(known.values()))}, but each number from 0 to"
            f" {len(known) - 1} is needed once; give a list, or correct the mapping."
        )
    return tuple(sorted(known, key=known.__getitem__))


def _looks_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
