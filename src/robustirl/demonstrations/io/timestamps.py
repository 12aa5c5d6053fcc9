"""Tables with timestamps: the state at every tick of a clock becomes a step.

A row says that from its time on the episode is in its state. At times t₀, t₀ + Δ, t₀ + 2Δ, … of an episode, t₀ that of
its first row, the state of the latest row is taken; the last tick is the first one at or after the last row.
"""

import dataclasses
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from jaxtyping import Int

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import Row, without_empty_words
from robustirl.demonstrations.io.ordering import Columns, OrderedRows, number_episodes, order_rows
from robustirl.demonstrations.io.times import CLOCK, EXACT, Times, read_times
from robustirl.errors import InvalidInputError

MAX_STEPS = 50_000_000
ROUNDING = Decimal("1e-6")
"""The part of a step by which a row may be late for a tick; times are often sums of rounded numbers."""


def bin_by_time(columns: Columns, row: Row, time_step: float) -> tuple[OrderedRows, OrderedRows]:
    """Return the rows of a table in the order of their times, and the latest row at every tick.

    Args:
        columns: Those of the table, with a column `time`: numbers, times of one day such as `8:30`, or timestamps
            such as `2024-05-01 08:30:00`.
        row: The name of each row in messages.
        time_step: Δ, in the unit of the numbers, or in seconds for timestamps.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> table = {"episode": ["a"] * 3, "state": [4, 5, 6], "time": [0, 25, 31]}
        >>> _, ticks = bin_by_time({name: as_column(cells) for name, cells in table.items()}, str, 10.0)
        >>> ticks.order.tolist()
        [0, 0, 0, 1, 2]
    """
    if "action" in columns and not np.ma.getmaskarray(without_empty_words(columns["action"])).all():
        raise InvalidInputError(
            "the table has actions, which a time step cannot bin: several may fall between two ticks; drop the column"
            " 'action', or the time step."
        )
    times = read_times(columns["time"], row)
    rows = _in_order(columns, row, times)
    parts = np.split(rows.order, np.flatnonzero(rows.begins)[1:])
    ticks = [_ticks([times.seconds[i] for i in part.tolist()], Decimal(repr(float(time_step)))) for part in parts]
    lengths = [found[-1] + 1 for found in ticks]
    if sum(lengths) > MAX_STEPS:
        raise InvalidInputError(
            f"a time step of {time_step:g} makes {float(min(sum(lengths), 10**300)):.3g} steps of this table, but"
            f" {MAX_STEPS} are the most; choose a longer one."
        )
    chosen = [_latest(part, found, length) for part, found, length in zip(parts, ticks, lengths, strict=True)]
    begins = np.zeros(sum(lengths), dtype=bool)
    begins[np.cumsum([0, *lengths[:-1]])] = True
    return rows, dataclasses.replace(rows, order=np.concatenate(chosen), begins=begins)


def _in_order(columns: Columns, row: Row, times: Times) -> OrderedRows:
    """Return the rows by episode and time; refuse an order that the table contradicts."""
    seconds = times.seconds
    if "step" in columns:
        rows = order_rows(columns, row)
        _require_no_return(rows, columns["time"], seconds, "correct one of the two columns, or leave out 'step'")
        return rows
    words, episode = number_episodes(columns["episode"], row)
    rows = _sorted(words, episode, row, range(len(words)))
    if times.kind == CLOCK:
        # Sorted, a row after midnight would come first.
        _require_no_return(rows, columns["time"], seconds, "sort the rows, or write dates, too, if midnight passed")
    return _sorted(words, episode, row, sorted(range(len(words)), key=seconds.__getitem__))


def _sorted(words: Sequence[str], episode: Int[np.ndarray, " N"], row: Row, places: Sequence[int]) -> OrderedRows:
    """Return the rows at these places by episode."""
    order = np.array(places, dtype=np.int64)
    order = order[np.argsort(episode[order], kind="stable")]
    return OrderedRows(words, order, np.diff(episode[order], prepend=-1) != 0, row)


def _require_no_return(rows: OrderedRows, column: np.ma.MaskedArray, seconds: Sequence[Decimal], remedy: str) -> None:
    """Refuse rows of an episode that are earlier than the row before them."""
    cells = np.ma.getdata(column)
    for i in np.flatnonzero(~rows.begins).tolist():
        before, here = int(rows.order[i - 1]), int(rows.order[i])
        if seconds[here] < seconds[before]:
            raise InvalidInputError(
                f"the column 'time' holds {short_repr(cells[here])} in {rows.name(i)}, which is before"
                f" {short_repr(cells[before])} in {rows.row(before)}, the step before it; {remedy}."
            )


def _ticks(seconds: Sequence[Decimal], step: Decimal) -> list[int]:
    """Return for each time of an episode, in order, the first tick that is not before it."""
    found, late = [], EXACT.multiply(step, ROUNDING)
    for time in seconds:
        whole, rest = EXACT.divmod(EXACT.subtract(time, seconds[0]), step)
        found.append(int(whole) + (rest > late))
    return found


def _latest(part: Int[np.ndarray, " n"], ticks: Sequence[int], length: int) -> Int[np.ndarray, " m"]:
    """Return the latest row at every tick."""
    return part[np.searchsorted(ticks, np.arange(length), side="right") - 1]
