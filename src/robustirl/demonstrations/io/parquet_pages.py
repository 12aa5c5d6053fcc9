"""What a Parquet file holds and unpacks to, read off its descriptions before anything is unpacked.

pyarrow allocates what the header of each page declares, and has no function that reads these headers alone. It tells
what the end of the file declares, but its accessor of a column ends the process where that is damaged
(`RowGroupMetaData.column`, pyarrow 26: an exception of C++ that nothing catches). So both are read here.
"""

from typing import Any, NamedTuple

from robustirl.demonstrations.io.thrift import DAMAGED, Allowance, read_struct

TAIL = 8  # The length of the description at the end, and a mark.
VALUES = {0: (5, 1), 3: (8, 1)}
"""Of the kinds of pages with data, the fields that say how many values there are."""


class Column(NamedTuple):
    """A part of a column in one group of rows.

    Attributes:
        name: Of the column at the top: a column of lists has one below it.
        values: How many there are, of lists those in them.
        rows: Of the group.
        start: Where its first page begins.
        declared: What the end of the file says that it unpacks to, with the headers of its pages.
    """

    name: str
    values: int
    rows: int
    start: int
    declared: int


def read_columns_of(content: bytes) -> list[Column]:
    """Return the parts of all columns, as the end of the file describes them.

    Raises:
        ValueError: If it is damaged.
        MemoryError: If it is longer than any that is taken.
    """
    try:
        size = int.from_bytes(content[-TAIL : -TAIL + 4], "little")
        file, _ = read_struct(content, _within(len(content) - TAIL - size))
        names = _top_names(file[2])
        found: list[Column] = []
        for group in file.get(4, []):
            # By their place: what a part says of its own name is not what a reader goes by.
            for name, part in zip(names, group[1], strict=True):
                inner = part[3]
                starts = [inner[field] for field in (9, 11) if inner.get(field)]  # Of the data, and of the words.
                found.append(Column(name, inner[5], group[3], _within(min(starts, default=0)), inner[6]))
    except (IndexError, KeyError, TypeError, AttributeError, ValueError):
        raise ValueError(DAMAGED) from None
    return found


def _top_names(schema: list[dict[int, Any]]) -> list[str]:
    """Return of every column of values the name of the column at the top that it belongs to."""
    found: list[str] = []
    place = 1  # The first is the table itself.
    while place < len(schema):
        name, waiting = schema[place][4].decode("utf-8"), 1
        while waiting:
            children = schema[place].get(5, 0)
            if not children:
                found.append(name)
            waiting += children - 1
            place += 1
    return found


def _within(place: int) -> int:
    if place < 0:
        raise ValueError(DAMAGED)
    return place


def pages_bytes(content: bytes, columns: list[Column]) -> int:
    """Return what the pages of columns unpack to.

    Raises:
        ValueError: If a header is damaged.
        MemoryError: If the headers have more values than are taken.
    """
    allowance = Allowance()
    return sum(unpacked for column in columns for unpacked, _ in page_sizes(content, column, allowance))


def page_sizes(content: bytes, column: Column, allowance: Allowance | None = None) -> list[tuple[int, int]]:
    """Return of every page what it unpacks to, and how long its header is.

    Pages beyond the values of the column are not read, and not counted.
    """
    place, found, values = column.start, [], 0
    allowance = allowance or Allowance()
    while values < column.values:
        try:
            header, after = read_struct(content, place, allowance)
            kind, unpacked, packed = (int(header[field]) for field in (1, 2, 3))
            outer, inner = VALUES.get(kind, (0, 0))
            values += int(header[outer][inner]) if outer else 0
        except (IndexError, KeyError, TypeError):
            raise ValueError(DAMAGED) from None
        if min(unpacked, packed) < 0:
            raise ValueError(DAMAGED)
        found.append((unpacked, after - place))
        place = after + packed
    return found
