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
from robustirl.demonstrations.io.columns import Row, answers, without_empty_words
from robustirl.demonstrations.io.names import names_or_numbers
from robustirl.demonstrations.io.ordering import OrderedRows, order_rows, require_filled
from robustirl.demonstrations.io.table_checks import require_one_each
from robustirl.demonstrations.io.table_options import COLUMNS, NEEDED, TIME, TableOptions
from robustirl.demonstrations.io.timestamps import bin_by_time
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True)
class Source:
    """Say where a table comes from.

    Attributes:
        name: The file, or what to call the frame.
        row: The name of each row in messages.
        has_actions: Whether there are actions, if the file says so itself.
        saved: Whether `save` wrote the table, so that its states and actions are numbers.
        names: `state_names` and `action_names`, if the file holds them beside the table.
        separated_by: What separates its cells, in words, if it is a text table.
    """

    name: str
    row: Row
    has_actions: bool | None = None
    saved: bool = False
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
    asked = dict(options.columns or {})
    read = {
        name: own
        for name, own in chosen.items()
        # A column that was named for something else is not ours by its name alone.
        if own in found and (name in asked or name in needed or own not in asked.values())
    }
    require_one_each(asked, read)
    options.require_used(source, read)
    return read


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
        require_filled(name, columns[name], row)
    if options.time_step is None:
        recorded = rows = order_rows(columns, row)
    else:
        recorded, rows = bin_by_time(columns, row, options.time_step)
    ends = _ends(columns, recorded)
    numbering = options.numbering("state", by_number=source.saved)
    states, state_names = names_or_numbers(columns["state"], row, numbering)
    taken, action_names = _actions(columns, rows, source, options) if options.time_step is None else (None, None)
    names: dict[str, Any] = {
        "state_names": state_names or source.names.get("state_names"),
        "action_names": action_names or source.names.get("action_names"),
    }
    try:
        found = Demonstrations(np.ma.getdata(states)[rows.order], taken, rows.lengths, ends, **names)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source.name}: {error}") from None
    sorted_names = {
        "states": state_names is not None and options.state_names is None,
        "actions": action_names is not None and options.action_names is None,
    }
    return found, _understood(columns, source, options, found, sorted_names)


def _ends(columns: Mapping[str, np.ma.MaskedArray], rows: OrderedRows) -> Bool[np.ndarray, " E"] | None:
    """Return whether each episode terminated, or None if the table does not say."""
    if "terminated" not in columns:
        return None
    ends = answers("terminated", without_empty_words(columns["terminated"]), rows.row)[rows.order]
    told, last = ~np.ma.getmaskarray(ends), rows.last
    if not told.any():
        return None
    wrong = np.where(last, ~told, told & np.ma.getdata(ends))
    if wrong.any():
        i = int(np.argmax(wrong))
        problem = "says nothing" if last[i] else "says true"
        raise InvalidInputError(
            f"the column 'terminated' {problem} in {rows.name(i)}; it must be true or false in the last row of every"
            " episode and empty or false in all others (the file may have been cut off)."
        )
    return np.ma.getdata(ends)[last]


def _actions(
    columns: Mapping[str, np.ma.MaskedArray], rows: OrderedRows, source: Source, options: TableOptions
) -> tuple[Int[np.ndarray, " M"] | None, tuple[str, ...] | None]:
    """Return the actions and their names, or None if the table has none."""
    if "action" not in columns:
        if source.has_actions:
            raise InvalidInputError(f"{source.name} has no column 'action', although it says that there are actions.")
        return None, None
    cells = without_empty_words(columns["action"]) if options.action_names is None else columns["action"]
    column, names = names_or_numbers(cells, rows.row, options.numbering("action", by_number=source.saved))
    column, last = column[rows.order], rows.last
    given = ~np.ma.getmaskarray(column)
    has_actions = bool(given.any()) if source.has_actions is None else source.has_actions
    wrong = given != (~last & has_actions)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInputError(
            f"the column 'action' is {'filled' if given[i] else 'empty'} in {rows.name(i)}; every row has an action but"
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
            numbering = options.numbering(kind.removesuffix("s"))
            order = f"{order} ({few}{more})" if numbering.known is None else f", as in {numbering.world}"
            parts.append(f"{len(names)} {kind} by name{order}")
        elif first:
            parts.append(f"{kind} numbered from {first}")
    if options.time_step is not None:
        parts.append(f"a step every {options.time_step:g} of time")
    elif "step" not in columns:
        parts.append("steps by the order of rows")
    parts.append("with actions" if found.has_actions else "no actions")
    parts.append(f"{int(found.terminated.sum())} terminated" if found.ends_known else "ends not recorded")
    return f"{source.name}: {len(found)} episodes in {found.states.size} rows; {', '.join(parts)}."
