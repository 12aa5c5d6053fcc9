"""Read and write demonstrations as a table of one row per state.

    episode      any number or word; rows of an episode stand together, or have a step to order them by
    step         t within each episode, from 0 or from 1 on; if there is no such column, rows are in order
    state        s_t, a number or a name
    action       a_t; empty in the last row of an episode, which has no action, and everywhere if there are none
    terminated   true or false in the last row of an episode, empty or false in all others; if there is no such
                 column, or it is empty, the ends are unknown and are read off the world (`infer_terminated`)

Columns may have other names (`columns={"episode": "trip"}`); further columns are ignored.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import Row, answers, names_or_numbers, whole_numbers, without_empty_words
from robustirl.demonstrations.io.separators import as_separator
from robustirl.demonstrations.io.table_checks import require_columns, require_first, require_names_given
from robustirl.demonstrations.io.timestamps import bin_by_time
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_positive

COLUMNS = ("episode", "step", "state", "action", "terminated")
NEEDED = ("episode", "state")
TIME = "time"

Names = Sequence[str] | Mapping[str, int] | None


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Say how a table is to be read.

    Attributes:
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`.
        state_names: The name of each state in order, or a number for each name; found in the table if omitted.
        action_names: The same for actions.
        first_state: The number of the first state in the table: 0, or 1 for tables that count from 1.
        first_action: The same for actions.
        time_step: The seconds (or units) between two steps, for tables with a column `time`; see `timestamps.py`.
        separator: What separates the cells of a text table, a character or a word (`semicolon`, `tab`); read off the
            header if omitted.
        command_line: Whether messages name options as a command line has them.
        renumbered: Whether a world will number the names, so that numbers of their own need not be said.
    """

    columns: Mapping[str, str] | None = None
    state_names: Names = None
    action_names: Names = None
    first_state: int = 0
    first_action: int = 0
    time_step: float | None = None
    separator: str | None = None
    command_line: bool = False
    renumbered: bool = False

    def __post_init__(self) -> None:
        require_columns(self.columns, (*COLUMNS, TIME))
        for option in ("state_names", "action_names"):
            require_names_given(option, getattr(self, option))
        if self.time_step is not None:
            as_positive("the time step", self.time_step)
        if TIME in (self.columns or {}) and self.time_step is None:
            step = "--time-step" if self.command_line else "time_step"
            raise InvalidInputError(f"columns names a column of times, but no time step; give {step}, in seconds.")
        option = "--separator" if self.command_line else "separator"
        object.__setattr__(self, "separator", as_separator(self.separator, option))
        for name in ("first_state", "first_action"):
            require_first(name, getattr(self, name))

    def require_none(self, path: str) -> None:
        """Refuse options that only tables have a use for, because the file is none."""
        for name, value in dataclasses.asdict(self).items():
            if value and name not in ("command_line", "renumbered"):
                raise InvalidInputError(f"{name} is for tables (.csv, .parquet), but {path} is none; leave it out.")


@dataclasses.dataclass(frozen=True)
class Source:
    """Say where a table comes from.

    Attributes:
        name: The file, or what to call the frame.
        row: The name of each row in messages.
        has_actions: Whether there are actions, if the file says so itself.
        names: `state_names` and `action_names`, if the file holds them beside the table.
        separated_by: What separates its cells, in words, if it is a text table.
    """

    name: str
    row: Row
    has_actions: bool | None = None
    names: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict[str, Sequence[str]])
    separated_by: str = "commas"


def table(demonstrations: Demonstrations) -> dict[str, np.ma.MaskedArray]:
    """Return the columns of the table; what is empty is masked."""
    last = np.zeros(demonstrations.states.size, dtype=bool)
    last[demonstrations.offsets[1:] - 1] = True
    actions = np.ma.array(np.zeros(last.size, dtype=np.int64), mask=True)
    if demonstrations.actions is not None:
        actions[~last] = demonstrations.actions
    terminated = np.ma.array(np.zeros(last.size, dtype=bool), mask=True)
    if demonstrations.ends_known:
        terminated[last] = demonstrations.terminated
    full = {"episode": demonstrations.episodes, "step": demonstrations.steps, "state": demonstrations.states}
    return {name: np.ma.array(array) for name, array in full.items()} | {"action": actions, "terminated": terminated}


def find_columns(source: str, found: Sequence[str], options: TableOptions) -> dict[str, str]:
    """Return the table's column for each of ours that it has.

    Refuse a table that lacks a needed one, or has one twice.
    """
    names = COLUMNS if options.time_step is None else (*COLUMNS, TIME)
    needed = NEEDED if options.time_step is None else (*NEEDED, TIME)
    chosen = {name: (options.columns or {}).get(name, name) for name in names}
    for name, own in chosen.items():
        asked = name in (options.columns or {})
        if own not in found and (asked or name in needed):
            which = f"--columns {name}=NAME" if options.command_line else f'columns={{"{name}": ...}}'
            hint = "correct the name" if asked else f"say which one it is with {which}"
            raise InvalidInputError(f"{source} has no column {short_repr(own)}, only {_few(found)}; {hint}.")
        if list(found).count(own) > 1:
            raise InvalidInputError(f"{source} has the column {short_repr(own)} more than once; keep one.")
    return {name: own for name, own in chosen.items() if own in found}


def _few(names: Sequence[str], most: int = 12) -> str:
    """Return the first of many names, each cut where it gets long."""
    named = ", ".join(name if len(name) <= 40 else f"{name[:40]}..." for name in names[:most])
    return named if len(names) <= most else f"{named} and {len(names) - most} more"


def from_table(
    columns: Mapping[str, np.ma.MaskedArray], source: Source, options: TableOptions
) -> tuple[Demonstrations, str]:
    """Return the demonstrations in the columns of a table, and a line on what was understood."""
    row = source.row
    for name in ("episode", "state"):
        _require_filled(name, columns[name], row)
    if options.time_step is not None:
        columns, row = bin_by_time(columns, row, options.time_step)
        source = dataclasses.replace(source, row=row, has_actions=False)
    states, state_names = names_or_numbers("state", columns["state"], row, options.first_state, options.state_names)
    order, begins = _order(columns, row)
    last = np.append(begins[1:], True)
    at = _Rows(columns["episode"], order, begins, row)
    taken, action_names = _actions(columns, last, at, source, options)
    ends = _ends(columns, last, at)
    names: dict[str, Any] = {
        "state_names": state_names or source.names.get("state_names"),
        "action_names": action_names or source.names.get("action_names"),
    }
    lengths = np.diff(np.append(np.flatnonzero(begins), begins.size))
    try:
        found = Demonstrations(np.ma.getdata(states)[order], taken, lengths, ends, **names)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source.name}: {error}") from None
    sorted_names = {
        "states": state_names is not None and options.state_names is None,
        "actions": action_names is not None and options.action_names is None,
    }
    return found, _understood(columns, source, options, found, sorted_names)


def _require_filled(name: str, column: np.ma.MaskedArray, row: Row) -> None:
    empty = np.ma.getmaskarray(column)
    if empty.any():
        raise InvalidInputError(f"the column {name!r} is empty in {row(int(np.argmax(empty)))}; fill it.")


def _order(columns: Mapping[str, np.ma.MaskedArray], row: Row) -> tuple[Int[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """Return the order of the rows by episode and step, and which rows begin an episode.

    Episodes are in the order in which they first occur.
    """
    words: list[str] = [str(cell).strip() for cell in np.ma.getdata(columns["episode"]).tolist()]
    numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
    episode = np.array([numbers[word] for word in words], dtype=np.int64)
    if "step" not in columns:
        back = np.flatnonzero(np.diff(episode) < 0)
        if back.size:
            i = int(back[0]) + 1
            raise InvalidInputError(
                f"{row(i)} returns to episode {short_repr(words[i])} after rows of others, and no column 'step' tells"
                " the order; add one, or keep the rows of an episode together."
            )
        return np.arange(episode.size), np.diff(episode, prepend=-1) != 0
    _require_filled("step", columns["step"], row)
    step = np.ma.getdata(whole_numbers("step", columns["step"], row))
    order = np.lexsort((step, episode))
    begins = np.diff(episode[order], prepend=-1) != 0
    expected = np.arange(step.size) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    first = 1 if bool(np.all(step[order][begins] == 1)) else 0
    wrong = step[order] != expected + first
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{row(int(order[i]))} is step {step[order[i]]} of episode {short_repr(words[int(order[i])])}, but step"
            f" {expected[i] + first} is due; number the steps of an episode from 0 or 1 without gaps, or leave the"
            " column out if the rows are in order."
        )
    return order, begins


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Hold the order of the rows, and name them in messages."""

    episode: np.ma.MaskedArray
    order: Int[np.ndarray, " N"]
    begins: Bool[np.ndarray, " N"]
    row: Row

    def name(self, i: int) -> str:
        """Return the name of the row at place `i` of the order, with its step and episode."""
        step = i - int(np.flatnonzero(self.begins[: i + 1])[-1])
        here = int(self.order[i])
        return f"{self.row(here)}, step {step} of episode {_few([str(np.ma.getdata(self.episode)[here]).strip()])}"


def _ends(
    columns: Mapping[str, np.ma.MaskedArray], last: Bool[np.ndarray, " N"], at: _Rows
) -> Bool[np.ndarray, " E"] | None:
    """Return whether each episode terminated, or None if the table does not say."""
    if "terminated" not in columns:
        return None
    ends = answers("terminated", without_empty_words(columns["terminated"]), at.row)[at.order]
    told = ~np.ma.getmaskarray(ends)
    if not told.any():
        return None
    wrong = np.where(last, ~told, told & np.ma.getdata(ends))
    if wrong.any():
        i = int(np.argmax(wrong))
        problem = "says nothing" if last[i] else "says true"
        raise InvalidInputError(
            f"the column 'terminated' {problem} in {at.name(i)}; it must be true or false in the last row of every"
            " episode and empty or false in all others (the file may have been cut off)."
        )
    return np.ma.getdata(ends)[last]


def _actions(
    columns: Mapping[str, np.ma.MaskedArray],
    last: Bool[np.ndarray, " N"],
    at: _Rows,
    source: Source,
    options: TableOptions,
) -> tuple[Int[np.ndarray, " M"] | None, tuple[str, ...] | None]:
    """Return the actions and their names, or None if the table has none."""
    if "action" not in columns:
        if source.has_actions:
            raise InvalidInputError(f"{source.name} has no column 'action', although it says that there are actions.")
        return None, None
    cells = without_empty_words(columns["action"]) if options.action_names is None else columns["action"]
    column, names = names_or_numbers("action", cells, at.row, options.first_action, options.action_names)
    column = column[at.order]
    given = ~np.ma.getmaskarray(column)
    has_actions = bool(given.any()) if source.has_actions is None else source.has_actions
    wrong = given != (~last & has_actions)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInputError(
            f"the column 'action' is {'filled' if given[i] else 'empty'} in {at.name(i)}; every row has an action but"
            " the last of each episode, or none has."
        )
    return (np.ma.getdata(column)[~last], names) if has_actions else (None, None)


def _understood(
    columns: Mapping[str, np.ma.MaskedArray],
    source: Source,
    options: TableOptions,
    found: Demonstrations,
    sorted_names: Mapping[str, bool],
) -> str:
    """Return the line that says what was understood."""
    renamed = options.columns or {}
    parts = [] if source.separated_by == "commas" else [f"cells separated by {source.separated_by}"]
    parts += [f"{name} from {renamed[name]!r}" for name in COLUMNS if renamed.get(name, name) != name]
    for kind, names, first in (
        ("states", found.state_names, options.first_state),
        ("actions", found.action_names, options.first_action),
    ):
        if names is not None:
            few = ", ".join(f"{name} = {number}" for number, name in enumerate(names[:4]))
            more = ", ..." if len(names) > 4 else ""
            order = " in alphabetical order" if sorted_names[kind] else ""
            parts.append(f"{len(names)} {kind} by name" + ("" if options.renumbered else f"{order} ({few}{more})"))
        elif first:
            parts.append(f"{kind} numbered from {first}")
    if options.time_step is not None:
        parts.append(f"a step every {options.time_step:g} of time")
    elif "step" not in columns:
        parts.append("steps by the order of rows")
    parts.append("with actions" if found.has_actions else "no actions")
    parts.append(f"{int(found.terminated.sum())} terminated" if found.ends_known else "ends not recorded")
    return f"{source.name}: {len(found)} episodes in {found.states.size} rows; {', '.join(parts)}."
