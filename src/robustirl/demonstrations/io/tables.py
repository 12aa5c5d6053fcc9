"""Demonstrations as a table of one row a state, and that table as CSV.

    episode      0, 1, 2, …: the rows of an episode stand together, episodes in order
    step         0, 1, …, n within each episode
    state        s_t
    action       a_t; empty in the last row of an episode, which has no action, and everywhere if there are none
    terminated   `true` or `false` in the last row of an episode, empty or `false` in all others

The first line of a CSV file that `save` wrote is a comment, `# robustirl.demonstrations schema=1 rows=5 actions=true`,
which spreadsheets show as text and `pandas.read_csv(path, comment="#")` skips. It lets a file that was cut off be
recognised. Files made elsewhere, or by hand, need not have it, nor the column `action`; blank lines are passed over.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from robustirl._runtime import shown
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

COLUMNS = ("episode", "step", "state", "action", "terminated")
_COMMENT = re.compile(rf"# {re.escape(NAME)} schema=(\d{{1,18}}) rows=(\d{{1,18}}) actions=(true|false)")

Row = Callable[[int], str]
"""Names a row of a file, by its place in the table."""


def table(demonstrations: Demonstrations) -> dict[str, np.ma.MaskedArray]:
    """The columns of the table; what is empty is masked."""
    last = np.zeros(demonstrations.states.size, dtype=bool)
    last[demonstrations.offsets[1:] - 1] = True
    actions = np.ma.array(np.zeros(last.size, dtype=np.int64), mask=True)
    if demonstrations.actions is not None:
        actions[~last] = demonstrations.actions
    terminated = np.ma.array(np.zeros(last.size, dtype=bool), mask=True)
    terminated[last] = demonstrations.terminated
    full = {"episode": demonstrations.episodes, "step": demonstrations.steps, "state": demonstrations.states}
    return {name: np.ma.array(array) for name, array in full.items()} | {"action": actions, "terminated": terminated}


def from_table(
    columns: Mapping[str, np.ma.MaskedArray], path: str, row: Row, has_actions: bool | None
) -> Demonstrations:
    """Demonstrations from the columns of a table, `action` optional; `has_actions` where the file says so itself."""
    names = ("episode", "step", "state")
    for name in names:
        hollow = np.ma.getmaskarray(columns[name])
        if hollow.any():
            raise InvalidInputError(f"the column {name!r} is empty in {row(int(np.argmax(hollow)))}; fill it.")
    episode, step, states = (np.ma.getdata(columns[name]) for name in names)
    begins = np.diff(episode, prepend=-1) != 0
    expected_step = np.arange(step.size) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    expected_episode = np.cumsum(begins) - 1
    wrong = (episode != expected_episode) | (step != expected_step)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{row(i)} is of episode {episode[i]}, step {step[i]}, but episode {expected_episode[i]}, step"
            f" {expected_step[i]} is due; order the rows by episode and step, both numbered from 0 without gaps."
        )
    last = np.append(begins[1:], True)
    ends = columns["terminated"]
    told = ~np.ma.getmaskarray(ends)
    wrong = np.where(last, ~told, told & np.ma.getdata(ends).astype(bool))
    if wrong.any():
        i = int(np.argmax(wrong))
        problem = "says nothing" if last[i] else "says true"
        raise InvalidInputError(
            f"the column 'terminated' {problem} in {row(i)}, step {step[i]} of episode {episode[i]}; it must be true or"
            " false in the last row of every episode and empty or false in all others (the file may have been cut off)."
        )
    actions = columns.get("action")
    if actions is not None:
        given = ~np.ma.getmaskarray(actions)
        has_actions = bool(given.any()) if has_actions is None else has_actions
        wrong = given != (~last & has_actions)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InvalidInputError(
                f"the column 'action' is {'filled' if given[i] else 'empty'} in {row(i)}, step {step[i]} of episode"
                f" {episode[i]}; every row has an action but the last of each episode, or none has."
            )
    elif has_actions:
        raise InvalidInputError(f"{path} has no column 'action', although it says that there are actions.")
    taken = np.ma.getdata(actions)[~last] if has_actions and actions is not None else None
    try:
        return Demonstrations(states, taken, np.bincount(episode), np.ma.getdata(ends)[last])
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def require_columns(path: str, found: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has the same one twice."""
    for name in COLUMNS:
        if name not in found and name != "action":
            raise InvalidInputError(
                f"{path} has no column {name!r}, only {', '.join(found)}; {', '.join(COLUMNS)} are needed."
            )
        if list(found).count(name) > 1:
            raise InvalidInputError(f"{path} has the column {name!r} more than once; keep one.")


def csv_text(demonstrations: Demonstrations) -> str:
    """The table as CSV, under a comment."""
    buffer = io.StringIO()
    size, actions = demonstrations.states.size, str(demonstrations.has_actions).lower()
    buffer.write(f"# {NAME} schema={SCHEMA} rows={size} actions={actions}\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    words = {True: "true", False: "false", None: ""}
    *numbers, ends = (column.tolist() for column in table(demonstrations).values())  # What is masked becomes None.
    writer.writerows(zip(*numbers, [words[end] for end in ends], strict=True))
    return buffer.getvalue()


def read_csv(content: bytes, path: str) -> Demonstrations:
    """Demonstrations from a CSV file with these columns, in any order; others are ignored."""
    try:
        lines = content.decode("utf-8-sig").splitlines()  # Spreadsheets begin a file with a byte-order mark.
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    comment = lines[0].rstrip(",").strip('"') if lines and lines[0].lstrip('"').startswith("#") else None
    rows_due = has_actions = None
    if comment is not None and comment.startswith(f"# {NAME}"):
        found = _COMMENT.fullmatch(comment)
        if not found:
            raise InvalidInputError(f"line 1 of {path} is damaged ({shown(comment)}); correct it or leave it out.")
        require_schema(path, int(found[1]))
        rows_due, has_actions = int(found[2]), found[3] == "true"
    first = 0 if comment is None else 1
    try:
        rows = list(csv.reader(lines[first:], strict=True))
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a CSV file ({error}).") from None
    places = [first + 1 + i for i, cells in enumerate(rows) if cells]
    rows = [cells for cells in rows if cells]  # People leave blank lines between episodes and at the end.
    if len(rows) < 2:
        raise InvalidInputError(f"{path} has no rows under its header; there must be at least one episode.")
    header, rows = [name.strip() for name in rows[0]], rows[1:]
    require_columns(path, header)

    def row(i: int) -> str:
        return f"line {places[i + 1]} of {path}"

    for i, cells in enumerate(rows):
        if len(cells) != len(header):
            raise InvalidInputError(
                f"{row(i)} has {len(cells)} columns, but the header has {len(header)}; it may have been cut off."
            )
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    numbers = {name: _numbers(name, columns[name], row) for name in COLUMNS[:4] if name in columns}
    answers = {"terminated": _answers(columns["terminated"], row)}
    demonstrations = from_table(numbers | answers, path, row, has_actions)
    if rows_due is not None and rows_due != len(rows):
        raise InvalidInputError(
            f"{path} has {len(rows)} rows, but line 1 says {rows_due}; it was cut off, or that line is outdated."
        )
    return demonstrations


def _numbers(name: str, cells: Sequence[str], row: Row) -> np.ma.MaskedArray:
    """A column of whole numbers, empty cells masked."""
    for i, cell in enumerate(cells):
        if not (cell.isdecimal() and len(cell) < 19) and cell.strip() and not _is_whole(cell):
            raise InvalidInputError(
                f"the column {name!r} holds {shown(cell)} in {row(i)}, but a whole number of at least 0 is needed."
            )
    given = [bool(cell.strip()) for cell in cells]
    values = np.array([int(cell) if there else 0 for cell, there in zip(cells, given, strict=True)], dtype=np.int64)
    return np.ma.array(values, mask=[not there for there in given])


def _is_whole(cell: str) -> bool:
    # Few digits first: Python refuses to convert thousands of them.
    return re.fullmatch(r"\s*\d{1,30}\s*", cell) is not None and int(cell) <= np.iinfo(np.int64).max


def _answers(cells: Sequence[str], row: Row) -> np.ma.MaskedArray:
    """A column of true and false, empty cells masked; spreadsheets write them in capitals."""
    meaning = {"true": 1, "false": 0, "": -1}
    values = np.array([meaning.get(cell.strip().lower(), 2) for cell in cells])
    if (values == 2).any():
        i = int(np.argmax(values == 2))
        raise InvalidInputError(
            f"the column 'terminated' holds {shown(cells[i])} in {row(i)}, but true or false is needed, or nothing."
        )
    return np.ma.array(values == 1, mask=values == -1)
