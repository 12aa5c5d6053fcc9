"""What an Arrow stream unpacks to, read off its messages before anything is unpacked.

A compressed buffer begins with its unpacked length (eight bytes, -1 for one that is stored as it is). pyarrow allocates
that length, and offers no function that tells it before. So the messages are read by pyarrow, and the places of the
buffers by hand from the header of each: a FlatBuffer, in which a table names where its fields are.
"""

import struct
from typing import Any, NamedTuple

from robustirl._runtime import excess

DICTIONARY, RECORDS = 2, 3
"""The kinds of messages with buffers."""
EARLIER = b"ARROW:experimental_compression"
"""How versions before 1.0 say that buffers are compressed."""


class Table(NamedTuple):
    """A table of a FlatBuffer."""

    content: bytes
    place: int

    def field(self, index: int) -> int | None:
        """Return where a field is; None if it has its default."""
        listing = self.place - self.number("<i", self.place)
        offset = 4 + 2 * index
        found = self.number("<H", listing + offset) if offset < self.number("<H", listing) else 0
        return self.place + found if found else None

    def table(self, index: int) -> "Table | None":
        """Return the table in a field."""
        place = self.field(index)
        return None if place is None else Table(self.content, self.follow(place))

    def number(self, form: str, place: int) -> int:
        """Return the number at a place."""
        if place < 0:
            raise ValueError("its messages are damaged")
        return struct.unpack_from(form, self.content, place)[0]

    def follow(self, place: int) -> int:
        """Return where a reference leads."""
        return place + self.number("<I", place)


def require_stream_fits(content: bytes) -> None:
    """Refuse an Arrow stream that unpacks to more than memory holds.

    Raises:
        MemoryError: If it does; the reason is in words.
        ValueError: If its messages are damaged.
    """
    import pyarrow

    total = 0
    reader = pyarrow.ipc.MessageReader.open_stream(pyarrow.py_buffer(content))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            break
        try:
            total += unpacked_bytes(message)
        except (struct.error, IndexError):
            raise ValueError("its messages are damaged") from None
    if reason := excess(total):
        raise MemoryError(f"unpacked, it would hold {reason}")


def unpacked_bytes(message: Any) -> int:
    """Return what the compressed buffers of a message unpack to; nothing for one without any."""
    header = message.metadata.to_pybytes()
    whole = Table(header, struct.unpack_from("<I", header)[0])
    kind, records = whole.field(1), whole.table(2)
    kind = 0 if kind is None else header[kind]
    if kind == DICTIONARY and records is not None:
        records = records.table(1)
    if kind not in (DICTIONARY, RECORDS) or records is None:
        return 0
    buffers = records.field(2)
    if buffers is None or (records.field(3) is None and EARLIER not in header):
        return 0
    place = records.follow(buffers)
    count = records.number("<I", place)
    body = memoryview(message.body)
    total = 0
    for index in range(count):
        offset, length = struct.unpack_from("<qq", header, place + 4 + 16 * index)
        if length > 0:
            if offset < 0:
                raise ValueError("its messages are damaged")
            unpacked = struct.unpack_from("<q", body, offset)[0]
            total += max(unpacked, 0)
    return total
