"""Read and write the table of `tables.py` as CSV.

The first line of a file that `save` wrote is a comment, `# robustirl.demonstrations schema=1 rows=5 actions=true`,
and if states or actions have names, a second one holds them. Spreadsheets show them as text and
`pandas.read_csv(path, comment="#")` skips them. They let a file that was cut off be recognized. Files made elsewhere
need not have them. Blank lines, lines of spaces or commas, a byte-order mark and any line ends are accepted. Cells may
be separated by commas, semicolons, tabs or |, which is read off the header, or by what the options say.
"""

import array
import csv
import io
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from robustirl._runtime import one_line, short_repr, unique_fields
from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.separators import KNOWN, sniff_separator
from robustirl.demonstrations.io.table_options import COLUMNS, TIME, TableOptions
from robustirl.demonstrations.io.tables import Source, find_columns, from_table, table
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

NAMES = "# robustirl.names "
_MAX_KNOWN = 10**6  # Cells remembered to share their strings.
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
    if b"\0" in content:
        kind = "in UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "with zero bytes"
        raise InvalidInputError(f"{path} is a file {kind}, not a text file in UTF-8; save it as one.")
    lines = _lines(content)
    rows = _Rows(path, options)
    try:
        comments = _read_comments(lines, path)
        rows.separator = options.separator or _sniff(comments.next_line, options)
        reader = csv.reader(itertools.chain([comments.next_line], lines), delimiter=rows.separator, strict=True)
        for cells in reader:
            rows.add(cells, comments.height + reader.line_num)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a CSV file ({error}).") from None
    if not rows.places:
        raise InvalidInputError(f"{path} has no rows under its header; there must be at least one episode.")
    columns = {name: as_column(rows.columns.pop(name)) for name in list(rows.columns)}
    rows.require_no_comments()
    source = Source(
        path,
        rows.name,
        comments.has_actions,
        saved=comments.rows_due is not None,
        names=comments.names,
        separated_by=KNOWN.get(rows.separator, rows.separator),
    )
    found = from_table(columns, source, options)
    if comments.rows_due is not None and comments.rows_due != len(rows.places):
        raise InvalidInputError(
            f"{path} has {len(rows.places)} rows, but line 1 says {comments.rows_due}; it was cut off, or that line is"
            " outdated."
        )
    return found


def _sniff(header: str, options: TableOptions) -> str:
    """Return what separates the cells of a header."""
    return sniff_separator(header, {*COLUMNS, TIME, *(options.columns or {}).values()})


def _lines(content: bytes) -> Iterator[str]:
    """Return the lines of a text one after another, without their ends.

    A list of all lines would take many times the size of the file.
    """
    # Spreadsheets begin a file with a byte-order mark.
    return (line.rstrip("\n") for line in io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig"))


class _Rows:
    """The columns that are wanted, filled row by row; equal cells share one string."""

    def __init__(self, path: str, options: TableOptions):
        self.columns: dict[str, list[str]] = {}
        self.places = array.array("q")
        self._path, self._options = path, options
        self._header: list[str] | None = None
        self._wanted: list[tuple[list[str], int]] = []
        self._known: dict[str, str] = {}
        self._marked = array.array("q")  # Lines that begin with #.
        self.separator: str = ","

    def add(self, cells: list[str], line: int) -> None:
        """Add a row; the first one is the header, and blank ones are passed over."""
        # People leave blank lines between episodes and at the end; spreadsheets fill them with commas.
        if not any(cell.strip() for cell in cells):
            return
        if self._header is None:
            self._header = [name.strip() for name in cells]
            return
        if not self.places:
            self._require_several()
            chosen = find_columns(self._path, self._header, self._options)
            self.columns = {name: [] for name in chosen}
            self._wanted = [(self.columns[name], self._header.index(own)) for name, own in chosen.items()]
        self.places.append(line)
        if cells[0].lstrip().startswith("#"):
            self._marked.append(line)
        if len(cells) != len(self._header):
            self.require_no_comments()
            more = len(cells) > len(self._header)
            hint = (
                "write numbers with points, not with decimal commas, or separate cells by semicolons"
                if more and self.separator == ","
                else "correct that line"
                if more
                else "it may have been cut off"
            )
            raise InvalidInputError(
                f"{self.name(len(self.places) - 1)} has {len(cells)} columns, but the header has {len(self._header)};"
                f" {hint}."
            )
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        for column, i in self._wanted:
            column.append(self._known.setdefault(cells[i], cells[i]))

    def require_no_comments(self) -> None:
        """Refuse rows that begin with # if others do not.

        They may be comments, or episodes of such names.
        """
        if self._marked and len(self._marked) < len(self.places):
            raise InvalidInputError(
                f"line {self._marked[0]} of {self._path} begins with # as comments do, which belong above the header;"
                " remove it, or let no row of the table begin with #."
            )

    def _require_several(self) -> None:
        """Refuse a header of one column: an episode and a state need two."""
        if self._header is None or len(self._header) > 1:
            return
        option = "--separator" if self._options.command_line else "separator"
        given = f"is {self._options.separator!r}; correct it" if self._options.separator else "names it"
        raise InvalidInputError(
            f"{self._path} has one column, {short_repr(self._header[0])}, but episode and state need one each; if its"
            f" cells are separated by something else than commas, semicolons, tabs or |, {option} {given}."
        )

    def name(self, i: int) -> str:
        """Return what messages call a row."""
        return f"line {self.places[i]} of {self._path}"


class _Comments(NamedTuple):
    """The lines above the header: how many, what they say, and the first line after them."""

    height: int
    rows_due: int | None
    has_actions: bool | None
    names: dict[str, Any]
    next_line: str


def _read_comments(lines: Iterator[str], path: str) -> _Comments:
    """Return what the comments at the top of a file say."""
    count, rows_due, has_actions, names = 0, None, None, {}
    for line in lines:
        if not line.lstrip('"').startswith("#"):
            return _Comments(count, rows_due, has_actions, names, line)
        # A spreadsheet may have quoted the comment, or cut it into cells at its commas.
        comment = ",".join(next(csv.reader([line]))).rstrip(",;\t")
        count += 1
        if comment.startswith(NAMES):
            names = _read_names(comment.removeprefix(NAMES), f"line {count} of {path}")
        elif comment.startswith(f"# {NAME}"):
            found = _COMMENT.fullmatch(comment)
            if not found:
                raise InvalidInputError(
                    f"line {count} of {path} is damaged ({short_repr(comment)}); correct it or leave it out."
                )
            require_schema(path, int(found[1]))
            rows_due, has_actions = int(found[2]), found[3] == "true"
    return _Comments(count, rows_due, has_actions, names, "")


def _read_names(text: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the names in {place} are damaged ({one_line(error)}); leave that line out.") from None
    return require_names(found, place)


def require_names(found: Any, place: str) -> dict[str, Any]:
    """Return the names that a file holds beside its table, or refuse what is not lists of words."""
    valid = isinstance(found, dict) and all(
        key in ("state_names", "action_names") and isinstance(value, list) and all(isinstance(x, str) for x in value)
        for key, value in found.items()
    )
    if not valid:
        raise InvalidInputError(
            f"the names in {place} are {short_repr(found)}, but lists of words by state_names and action_names are"
            " needed."
        )
    return found
