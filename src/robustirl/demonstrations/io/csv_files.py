"""Read and write the table of `tables.py` as CSV.

The first line of a file that `save` wrote is a comment, `# robustirl.demonstrations schema=1 rows=5 actions=true`,
and if states or actions have names, a second one holds them. Spreadsheets show them as text and
`pandas.read_csv(path, comment="#")` skips them. They let a file that was cut off be recognized. Files made elsewhere
need not have them. Blank lines, lines of spaces or commas, a byte-order mark and any line ends are accepted.
"""

import csv
import io
import json
import re
from typing import Any

from robustirl._runtime import in_brief, shown
from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.tables import COLUMNS, Source, TableOptions, find_columns, from_table, table
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

NAMES = "# robustirl.names "
_COMMENT = re.compile(rf"# {re.escape(NAME)} schema=(\d{{1,18}}) rows=(\d{{1,18}}) actions=(true|false)")


def csv_text(demonstrations: Demonstrations) -> str:
    """Return the table as CSV, under a comment."""
    buffer = io.StringIO()
    size, actions = demonstrations.states.size, str(demonstrations.has_actions).lower()
    buffer.write(f"# {NAME} schema={SCHEMA} rows={size} actions={actions}\n")
    names = {key: value for key, value in demonstrations.names.items() if value is not None}
    if names:
        buffer.write(f"{NAMES}{json.dumps(names, ensure_ascii=False)}\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    words = {True: "true", False: "false", None: ""}
    *numbers, ends = (column.tolist() for column in table(demonstrations).values())  # What is masked becomes None.
    writer.writerows(zip(*numbers, [words[end] for end in ends], strict=True))
    return buffer.getvalue()


def read_csv(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    """Return the demonstrations of a CSV file, and a line that says what was understood."""
    try:
        text = content.decode("utf-8-sig")  # Spreadsheets begin a file with a byte-order mark.
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    lines = text.splitlines()
    first, rows_due, has_actions, names = _read_comments(lines, path)
    try:
        rows = list(csv.reader(lines[first:], strict=True))
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a CSV file ({error}).") from None
    # People leave blank lines between episodes and at the end; spreadsheets fill them with commas.
    places = [first + 1 + i for i, cells in enumerate(rows) if any(cell.strip() for cell in cells)]
    rows = [cells for cells in rows if any(cell.strip() for cell in cells)]
    if len(rows) < 2:
        raise InvalidInputError(f"{path} has no rows under its header; there must be at least one episode.")
    header, rows = [name.strip() for name in rows[0]], rows[1:]
    chosen = find_columns(path, header, options)

    def row(i: int) -> str:
        return f"line {places[i + 1]} of {path}"

    for i, cells in enumerate(rows):
        if len(cells) != len(header):
            raise InvalidInputError(
                f"{row(i)} has {len(cells)} columns, but the header has {len(header)}; it may have been cut off."
            )
    columns = {name: as_column([cells[header.index(own)] for cells in rows]) for name, own in chosen.items()}
    found = from_table(columns, Source(path, row, has_actions, names), options)
    if rows_due is not None and rows_due != len(rows):
        raise InvalidInputError(
            f"{path} has {len(rows)} rows, but line 1 says {rows_due}; it was cut off, or that line is outdated."
        )
    return found


def _read_comments(lines: list[str], path: str) -> tuple[int, int | None, bool | None, dict[str, Any]]:
    """Return how many lines are comments, and what they say: rows, actions, names."""
    first, rows_due, has_actions, names = 0, None, None, {}
    while first < len(lines) and lines[first].lstrip('"').startswith("#"):
        # A spreadsheet may have quoted the comment, or cut it into cells at its commas.
        comment = ",".join(next(csv.reader([lines[first]]))).rstrip(",")
        first += 1
        if comment.startswith(NAMES):
            names = _read_names(comment.removeprefix(NAMES), f"line {first} of {path}")
        elif comment.startswith(f"# {NAME}"):
            found = _COMMENT.fullmatch(comment)
            if not found:
                raise InvalidInputError(
                    f"line {first} of {path} is damaged ({shown(comment)}); correct it or leave it out."
                )
            require_schema(path, int(found[1]))
            rows_due, has_actions = int(found[2]), found[3] == "true"
    return first, rows_due, has_actions, names


def _read_names(text: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the names in {place} are damaged ({in_brief(error)}); leave that line out.") from None
    return require_names(found, place)


def require_names(found: Any, place: str) -> dict[str, Any]:
    """Return the names that a file holds beside its table, or refuse what is not lists of words."""
    valid = isinstance(found, dict) and all(
        key in ("state_names", "action_names") and isinstance(value, list) and all(isinstance(x, str) for x in value)
        for key, value in found.items()
    )
    if not valid:
        raise InvalidInputError(
            f"the names in {place} are {shown(found)}, but lists of words by state_names and action_names are needed."
        )
    return found
