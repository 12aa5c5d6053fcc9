"""Read structs of Thrift's compact protocol, in which Parquet files describe themselves.

A struct is a list of fields: a number, a kind and a value. Every value takes a byte at least, so that what is declared
cannot be longer than the content, and nothing is allocated by declaration. But an empty struct of one byte takes 70 in
Python, so that a reader allows for some number of values and no more.
"""

from typing import Any

TRUE, FALSE = 1, 2
"""Kinds of values, as Thrift numbers them."""
DEEPEST = 16  # Structs and lists in each other; those of Parquet have six.
DAMAGED = "a description in it is damaged"
MOST_VALUES = 5 * 10**6
"""What a file may be described by: some 200,000 parts of columns, or a million pages."""


class Allowance:
    """Count the values that may still be read.

    Args:
        values: How many.
    """

    def __init__(self, values: int = MOST_VALUES):
        self.values = self._left = values

    def take(self, count: int) -> None:
        """Take some; raise a MemoryError if there are not as many."""
        self._left -= count
        if self._left < 0:
            raise MemoryError(f"it is described by more than {self.values:,} values")


def read_struct(
    content: bytes, place: int, allowance: Allowance | None = None, depth: int = 0
) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct by number, and where it ends.

    Args:
        content: What it is in.
        place: Where it begins.
        allowance: How many values may be read, in this struct and in others.
        depth: How many others it is in.

    Raises:
        ValueError: If it is damaged.
        IndexError: If it goes on beyond the content.
        MemoryError: If it has more values than are allowed.

    Example:
        >>> read_struct(bytes([0x15, 0x06, 0x2C, 0x15, 0x01, 0x00, 0x00]), 0)
        ({1: 3, 3: {1: -1}}, 7)
    """
    if depth > DEEPEST:
        raise ValueError(DAMAGED)
    allowance = allowance or Allowance()
    fields: dict[int, Any] = {}
    number = 0
    while first := content[place]:
        allowance.take(1)
        place += 1
        if step := first >> 4:
            number += step
        else:
            number, place = _signed(content, place)
        kind = first & 15
        # The truth of a field is in its kind.
        plain = kind <= FALSE
        fields[number], place = (kind == TRUE, place) if plain else _value(content, place, kind, allowance, depth)
    return fields, place + 1


def _value(content: bytes, place: int, kind: int, allowance: Allowance, depth: int) -> tuple[Any, int]:
    """Return a value of a kind, and where it ends."""
    match kind:
        case 1 | 2 | 3:  # A truth in a list, or a byte.
            return content[place], place + 1
        case 4 | 5 | 6:  # Whole numbers of 16, 32 and 64 bits.
            return _signed(content, place)
        case 7:  # A double.
            return None, place + 8
        case 8:  # Bytes.
            length, place = _unsigned(content, place)
            return content[place : place + length], place + length
        case 9 | 10:  # A list or a set.
            return _list(content, place, allowance, depth + 1)
        case 12:
            return read_struct(content, place, allowance, depth + 1)
        case _:  # Parquet has no maps.
            raise ValueError(DAMAGED)


def _list(content: bytes, place: int, allowance: Allowance, depth: int) -> tuple[list[Any], int]:
    if depth > DEEPEST:
        raise ValueError(DAMAGED)
    count, kind = content[place] >> 4, content[place] & 15
    place += 1
    if count == 15:
        count, place = _unsigned(content, place)
    if count > len(content) - place:
        raise IndexError(DAMAGED)
    allowance.take(count)  # Before any is read.
    values = []
    for _ in range(count):
        value, place = _value(content, place, kind, allowance, depth)
        values.append(value)
    return values, place


def _signed(content: bytes, place: int) -> tuple[int, int]:
    number, place = _unsigned(content, place)
    return (number >> 1) ^ -(number & 1), place


def _unsigned(content: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = content[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
    raise ValueError(DAMAGED)
