"""Structs of Thrift: every kind of value, and nothing that never ends."""

import pytest

from robustirl.demonstrations.io.thrift import Allowance, read_struct


@pytest.mark.parametrize(
    "content",
    [b"", b"\x15", b"\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x1c" * 40, b"\x1b\x00", b"\x19\xf5\xff\x7f"],
)
def test_a_struct_that_never_ends_is_refused(content):
    with pytest.raises((ValueError, IndexError)):
        read_struct(content, 0)


def test_values_of_every_kind_are_passed_over():
    parts = [
        *(b"\x11", b"\x12"),  # Yes and no.
        b"\x13\x07",
        *(b"\x14\x02", b"\x16\x80\x01"),  # One, and 64 in two bytes.
        b"\x17" + bytes(8),
        b"\x18\x03abc",
        b"\x19\x25\x02\x04",  # A list of one and two.
        b"\x1a\x12\x00",  # A set of no.
        b"\x0c\x28\x15\x06\x00",  # Field 20, named in full: a struct.
    ]
    fields, end = read_struct(b"".join(parts) + b"\x00rest", 0)
    assert end == sum(map(len, parts)) + 1
    expected = {1: True, 2: False, 3: 7, 4: 1, 5: 64, 6: None, 7: b"abc", 8: [1, 2], 9: [0], 20: {1: 3}}
    assert fields == expected


def test_a_list_is_read_to_its_end():
    assert read_struct(b"\x19\xf5\x14" + b"\x02" * 20 + b"\x00", 0) == ({1: [1] * 20}, 24)
    with pytest.raises(IndexError):
        read_struct(b"\x19\xf5" + b"\xff" * 9 + b"\x01", 0)  # A list that says it has 2^64 - 1 numbers.


def test_no_more_values_are_read_than_are_allowed():
    """An empty struct is one byte in a file, and 70 in Python."""
    structs = b"\x19\xfc\x14" + bytes(20) + b"\x00"
    assert len(read_struct(structs, 0, Allowance(21))[0][1]) == 20
    with pytest.raises(MemoryError, match="more than 20 values"):
        read_struct(structs, 0, Allowance(20))
    pages = Allowance(30)  # For several together.
    read_struct(structs, 0, pages)
    with pytest.raises(MemoryError):
        read_struct(structs, 0, pages)


def test_a_list_that_is_longer_than_the_rest_is_damaged_whatever_stands_before_it():
    before = b"\x18\x64" + b"a" * 100
    with pytest.raises(IndexError):
        read_struct(before + b"\x19\xf5\x32" + b"\x02" * 40, 0, Allowance(45))
    assert len(read_struct(before + b"\x19\xf5\x28" + b"\x02" * 40 + b"\x00", 0, Allowance(45))[0][2]) == 40
