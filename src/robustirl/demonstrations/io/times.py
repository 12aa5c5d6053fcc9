"""Read a column of times exactly: numbers, times of one day, or timestamps.

A column holds times of one kind. Numbers such as nanoseconds since 1970 have more digits than a float keeps, so that
times are decimal numbers until they are counted in steps.
"""

import datetime
import decimal
import math
import re
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import DECIMAL_COMMA, Row, as_word
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_number

NUMBER, CLOCK, STAMP = "a number", "a time of day", "a timestamp without a zone"
ZONED = "a timestamp with a zone"
EXACT = decimal.Context(prec=700, Emax=10**6, Emin=-(10**6), traps=[])
"""Keeps every digit of numbers from 5e-324 to 1.8e308."""
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)
_COMPACT = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_SECONDS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Times(NamedTuple):
    """Hold the times of a column: their kind, and seconds, or numbers as they are."""

    kind: str
    seconds: list[Decimal]


def read_times(column: np.ma.MaskedArray, row: Row) -> Times:
    """Return the times of a column; refuse cells that are none, and times of several kinds.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> kind, seconds = read_times(as_column(["2024-05-01 08:30:00", "2024-05-01T08:31:30"]), str)
        >>> kind, int(seconds[1] - seconds[0])
        ('a timestamp without a zone', 90)
    """
    empty, cells = np.ma.getmaskarray(column), np.ma.getdata(column).tolist()
    kind, seconds = "", []
    for i, cell in enumerate(cells):
        found = None if empty[i] else _time(cell)
        if found is None:
            comma = not empty[i] and isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell)
            remedy = "; write numbers with points, not with decimal commas" if comma else ""
            raise InvalidInputError(
                f"the column 'time' holds {'nothing' if empty[i] else short_repr(cell)} in {row(i)}, but a number or a"
                f" timestamp such as 2024-05-01 08:30:00 is needed{remedy}."
            )
        kind = kind or found[0]
        if found[0] != kind:
            raise InvalidInputError(
                f"the column 'time' holds {short_repr(cells[0])} in {row(0)}, {kind}, and {short_repr(cell)} in"
                f" {row(i)}, {found[0]}; write all times in one way."
            )
        seconds.append(found[1])
    if kind == NUMBER:
        _require_no_dates(cells, row)
    return Times(kind, seconds)


def _time(cell: Any) -> tuple[str, Decimal] | None:
    """Return the kind of a time and its seconds, or None if it is no time."""
    if isinstance(cell, str):
        return _written_time(cell.strip())
    if isinstance(cell, datetime.datetime):
        return _stamp(cell)
    if isinstance(cell, np.datetime64):
        return _numpy_stamp(cell)
    if isinstance(cell, bool | np.timedelta64) or not isinstance(cell, int | float | np.number):
        return None
    if isinstance(cell, int | np.integer):
        return (NUMBER, Decimal(int(cell))) if math.isfinite(as_number("a time", cell)) else None
    number = as_number("a time", cell)
    # The digits that are shown: 0.1 is a tenth, whatever its binary digits are.
    return (NUMBER, Decimal(repr(number))) if math.isfinite(number) else None


def _written_time(text: str) -> tuple[str, Decimal] | None:
    if "_" in text:  # Python reads 1_000 as a number.
        return None
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        # What is too small for a float is zero; its exponent may be too large to count with.
        return (NUMBER, EXACT.create_decimal(text) if number else Decimal(0)) if math.isfinite(number) else None
    if (clock := _CLOCK.fullmatch(text)) is not None:
        hours, minutes, seconds = (Decimal(part or 0) for part in clock.groups())
        return CLOCK, 3600 * hours + 60 * minutes + seconds
    try:
        return _stamp(datetime.datetime.fromisoformat(text))
    except ValueError:
        return None


def _stamp(cell: datetime.datetime) -> tuple[str, Decimal]:
    """Return the seconds of a timestamp since 1970.

    Without a zone all rows count as one zone's: differences are what matters.
    """
    offset = cell.utcoffset()
    whole = (cell.toordinal() - _EPOCH) * 86_400 + cell.hour * 3600 + cell.minute * 60 + cell.second
    parts = cell.microsecond * 1000 + getattr(cell, "nanosecond", 0)  # Those of pandas have nanoseconds.
    if offset is not None:
        whole -= offset.days * 86_400 + offset.seconds
        parts -= offset.microseconds * 1000
    return STAMP if offset is None else ZONED, Decimal(whole) + Decimal(parts).scaleb(-9)


def _numpy_stamp(cell: np.datetime64) -> tuple[str, Decimal] | None:
    unit, count = np.datetime_data(cell.dtype)
    if unit in ("Y", "M"):
        days = cell.astype("M8[D]")
        if days.astype(cell.dtype) != cell:  # NumPy begins anew at the other end of its range.
            return None
        cell, unit, count = days, "D", 1
    number = Decimal(int(cell.astype(np.int64)) * count)
    if unit in _SECONDS:
        return STAMP, number * _SECONDS[unit]
    return (STAMP, number.scaleb(-_DIGITS[unit])) if unit in _DIGITS else None


def _require_no_dates(cells: list[Any], row: Row) -> None:
    """Refuse numbers all of which are dates without separators, as 20240501.

    Their differences are no spans of time.
    """
    read = [_compact_date(cell) for cell in cells[:1]]
    if read[0] is None or any(_compact_date(cell) is None for cell in cells):
        return
    raise InvalidInputError(
        f"the column 'time' holds {short_repr(cells[0])} in {row(0)}, and all its numbers may be dates; write them as"
        f" {read[0]:%Y-%m-%d}, or subtract the first if they are numbers."
    )


def _compact_date(cell: Any) -> datetime.datetime | None:
    text = as_word(cell).removesuffix(".0")
    if len(text) not in _COMPACT or not (text.isascii() and text.isdecimal()):
        return None
    try:
        found = datetime.datetime.strptime(text, _COMPACT[len(text)])
    except ValueError:
        return None
    return found if 1900 <= found.year < 2100 else None
