"""Tables with timestamps: the state at every tick of a clock becomes a step.

A row says that from its time on the episode is in its state. At times t₀, t₀ + Δ, t₀ + 2Δ, … of an episode, t₀ that of
its first row, the state of the latest row is taken; the last tick is the first one at or after the last row.
"""

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import DECIMAL_COMMA, Row, without_empty_words
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_number

MAX_STEPS = 50_000_000
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)

Columns = Mapping[str, np.ma.MaskedArray]


def bin_by_time(columns: Columns, row: Row, time_step: float) -> tuple[dict[str, np.ma.MaskedArray], Row]:
    """Return the columns of the table with one row a tick, and the names of its rows.

    Args:
        columns: Those of the table, with a column `time`: numbers, times of one day such as `8:30`, or timestamps
            such as `2024-05-01 08:30:00`.
        row: The name of each row in messages.
        time_step: Δ, in the unit of the numbers, or in seconds for timestamps.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> table = {"episode": ["a"] * 3, "state": [4, 5, 6], "time": [0, 25, 31]}
        >>> found, _ = bin_by_time({name: as_column(cells) for name, cells in table.items()}, str, 10.0)
        >>> found["state"].tolist()
        [4, 4, 4, 5, 6]
    """
    if "action" in columns and not np.ma.getmaskarray(without_empty_words(columns["action"])).all():
        raise InvalidInputError(
            "the table has actions, which a time step cannot bin: several may fall between two ticks; drop the column"
            " 'action', or the time step."
        )
    times = seconds_of(columns["time"], row)
    words = [str(cell).strip() for cell in np.ma.getdata(columns["episode"]).tolist()]
    numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
    episode = np.array([numbers[word] for word in words], dtype=np.int64)
    order = np.lexsort((times, episode))
    cuts = np.flatnonzero(np.diff(episode[order])) + 1
    parts = np.split(order, cuts)
    with np.errstate(over="ignore"):  # Times that are too far apart for a number make too many steps.
        spans = np.array([times[part[-1]] - times[part[0]] for part in parts]) / time_step
    if not (spans + 1).sum() <= MAX_STEPS:
        raise InvalidInputError(
            f"a time step of {time_step:g} makes {(spans + 1).sum():.3g} steps of this table, but {MAX_STEPS} are the"
            " most; choose a longer one."
        )
    lengths = [math.ceil(span - 1e-9) + 1 for span in spans.tolist()]
    chosen = np.concatenate(
        [_at_ticks(part, times[part], length, time_step) for part, length in zip(parts, lengths, strict=True)]
    )
    found = {name: columns[name][chosen] for name in ("episode", "state")}
    if "terminated" in columns:
        ends = np.cumsum(lengths) - 1
        told = np.ma.array(np.ma.getdata(columns["terminated"])[chosen], mask=True)
        told[ends] = columns["terminated"][chosen[ends]]
        found["terminated"] = told
    return found, lambda i: row(int(chosen[i]))


def _at_ticks(
    part: Int[np.ndarray, " n"], times: Float[np.ndarray, " n"], length: int, time_step: float
) -> Int[np.ndarray, " m"]:
    """Return the latest row at every tick."""
    ticks = times[0] + time_step * np.arange(length)
    return part[np.searchsorted(times, ticks + 1e-9 * time_step, side="right") - 1]


def seconds_of(column: np.ma.MaskedArray, row: Row) -> Float[np.ndarray, " N"]:
    """Return times as numbers: as they are, or the seconds of timestamps.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> found = seconds_of(as_column(["2024-05-01 08:30:00", "2024-05-01T08:31:30"]), str)
        >>> float(found[1] - found[0])
        90.0
    """
    empty = np.ma.getmaskarray(column)
    values = np.zeros(len(column))
    for i, cell in enumerate(np.ma.getdata(column).tolist()):
        number = None if empty[i] else _seconds(cell)
        if number is None or not math.isfinite(number):
            comma = not empty[i] and isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell)
            remedy = "; write numbers with points, not with decimal commas" if comma else ""
            raise InvalidInputError(
                f"the column 'time' holds {'nothing' if empty[i] else short_repr(cell)} in {row(i)}, but a number or a"
                f" timestamp such as 2024-05-01 08:30:00 is needed{remedy}."
            )
        values[i] = number
    return values


def _seconds(cell: Any) -> float | None:
    if isinstance(cell, str):
        text = cell.strip()
        if "_" in text:  # Python reads 1_000 as a number.
            return None
        try:
            return float(text)
        except ValueError:
            pass
        if (clock := _CLOCK.fullmatch(text)) is not None:
            hours, minutes, seconds = (float(part or 0) for part in clock.groups())
            return 3600 * hours + 60 * minutes + seconds
        try:
            cell = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
    if isinstance(cell, datetime.datetime):
        # Without a zone all rows count as one zone's: differences are what matters.
        return (cell if cell.tzinfo else cell.replace(tzinfo=datetime.UTC)).timestamp()
    if isinstance(cell, bool) or not isinstance(cell, int | float | np.number):
        return None
    return as_number("a time", cell)
