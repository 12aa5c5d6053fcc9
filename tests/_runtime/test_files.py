"""Values out of files: which may stand where a type is asked for, and how foreign texts are shown."""

import dataclasses
from typing import Any, Literal

import numpy as np
import pytest

from robustirl._runtime import from_dict, one_line, printable, short_repr
from robustirl._runtime.files import _fits


@dataclasses.dataclass
class Point:
    x: float
    name: str | None = None


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (object(), Any, True),
        (1, int, True),
        (True, int, False),
        (1.0, int, False),
        (2**63 - 1, int, True),
        (2**63, int, False),
        (-(2**63), int, False),
        (1.5, float, True),
        (1, float, True),
        (True, float, False),
        ("1", float, False),
        (2**1024 - 1, float, True),
        (2**1024, float, False),
        ("a", str, True),
        (1, str, False),
        (True, bool, True),
        (1, bool, False),
        (None, type(None), True),
        (0, type(None), False),
        ((1, 2), tuple[int, ...], True),
        ((), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ([1], tuple[int, ...], False),
        (((1.0, 2),), tuple[tuple[float, ...], ...], True),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (["a"], Literal["a", "b"], False),
        (1, int | str, True),
        (1.5, int | str, False),
        (None, float | None, True),
        (np.zeros(2), np.ndarray, True),
        (Point(1.0), Point, True),
        ({"x": 1.0}, Point, False),
        (1, list, False),
    ],
)
def test_a_value_fits_its_type(value, hint, fits):
    assert _fits(value, hint) is fits


def test_fields_are_known_and_those_without_a_default_are_there():
    assert from_dict(Point, {"x": 1, "name": "a"}) == Point(1, "a")
    for values, why in (
        ({}, "'x' is missing"),
        ({"x": 1.0, "y": 2.0}, "'y' is not known here"),
        ([1.0], "stands where fields by name are needed"),
        ({"x": 1.0, "name": 3}, "'name' is 3, which is not of the kind str | None"),
    ):
        with pytest.raises(ValueError, match=why.replace("|", r"\|")):
            from_dict(Point, values)


@pytest.mark.parametrize(("length", "shown"), [(9, "x" * 9), (10, "x" * 10), (11, "x" * 10 + "...")])
def test_long_texts_are_cut(length, shown):
    assert printable("x" * length, 10) == shown
    assert short_repr(10**length, 4) == f"{10**length}"[:4] + "..."


def test_control_characters_are_written_out_and_lines_stay():
    assert printable("a\tb\nc\x1bd\u2028") == "a\tb\nc\\x1bd\\u2028"


class Odd:
    def __repr__(self):
        raise RuntimeError("no")


def test_errors_and_objects_are_named_in_a_line():
    assert short_repr(Odd()) == "a Odd that cannot be printed"
    assert one_line(ValueError("first. Second.")) == "first"
    assert one_line(ValueError("version 1.5 is odd.")) == "version 1.5 is odd"
    assert one_line(OSError(2, "No such file")) == "[Errno 2] No such file"
    assert one_line(ValueError("the reason", 1)) == "the reason"
    assert one_line(ValueError("<Odd at 0x7f> is odd")) == "<Odd> is odd"
