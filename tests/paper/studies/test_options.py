"""Numbers that options of studies may be, on both sides of their bounds."""

import math

import pytest

from robustirl.paper.studies.options import _require_number


@pytest.mark.parametrize(
    ("name", "good", "bad", "needed"),
    [
        ("factors", (0.01, 0.5, 100.0), (0.0099, 100.1, math.nan), "a factor from 0.01 to 100"),
        ("alphas", (1e-6, 1.0), (0.0, 1.001, math.nan), "a number above 0 and at most 1"),
        ("other", (-5.0, 1e9), (math.inf, math.nan), "a finite number"),
    ],
)
def test_numbers_are_within_their_bounds(name, good, bad, needed, refused):
    for value in good:
        _require_number(f"--{name}", name, value)
    for value in bad:
        with refused(f"--{name} is {value!r}", needed):
            _require_number(f"--{name}", name, value)
