"""What every study refuses before it begins, by the names of its options."""

import dataclasses
import math

import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies.options import _require_number, require_options


@dataclasses.dataclass(frozen=True)
class Options:
    side: int = 4
    draws: int = 10
    steps: int = 5
    budget: int = 20
    resamples: int = 3
    first_seed: int = 0
    lengths: tuple[int, ...] = (7, 30)
    limit: int | None = None
    slips: tuple[float, ...] = (0.1,)
    alphas: tuple[float, ...] = (1.0,)
    factors: tuple[float, ...] = (2.0,)
    size: float = 1.0
    tail: str = "chain"
    noise_model: str = "published"
    environments: tuple[str, ...] = ()
    name: str = "any"
    fast: bool = False


@pytest.mark.parametrize(
    "fine",
    [
        {},
        {"side": 32, "draws": 1000, "steps": 10_000, "budget": 20_000, "lengths": (1, 30_000), "limit": 10**10},
        {"resamples": 0, "first_seed": 2**63 - 1, "slips": (0.0, 1.0), "alphas": (0.001, 1.0), "fast": True},
        {"factors": (0.01, 100.0), "size": -1e9, "environments": ("gridworld-1",), "name": "gridworld-0"},
    ],
)
def test_the_ends_of_what_is_allowed(fine):
    require_options(Options(**fine))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"side": 33}, "--side is 33, but at most 32 is possible."),
        ({"draws": 1001}, "--draws is 1001, but at most 1,000 is possible."),
        ({"steps": 0}, "--steps is 0, but a whole number of at least 1 is needed."),
        ({"steps": 10_001}, "--steps is 10001, but at most 10,000 is possible."),
        ({"budget": 20_001}, "--budget is 20001, but at most 20,000 is possible."),
        ({"lengths": (7, 30_001)}, "--lengths is 30001, but at most 30,000 is possible."),
        ({"resamples": -1}, "--resamples is -1, but a whole number of at least 0 is needed."),
        ({"first_seed": 2**63}, f"--first-seed is {2**63}, but at most {2**63 - 1:,} is possible."),
        ({"limit": 10**10 + 1}, f"--limit is {10**10 + 1}, but at most {10**10:,} is possible."),
        ({"slips": ()}, "--slips is empty, but at least one value is needed."),
        ({"slips": (0.5, 1.01)}, "--slips is 1.01, but a probability from 0 to 1 is needed."),
        ({"slips": (-0.01,)}, "--slips is -0.01, but a probability from 0 to 1 is needed."),
        ({"alphas": (0.0,)}, "--alphas is 0.0, but a number above 0 and at most 1 is needed."),
        ({"alphas": (1.01,)}, "--alphas is 1.01, but a number above 0 and at most 1 is needed."),
        ({"factors": (0.009,)}, "--factors is 0.009, but a factor from 0.01 to 100 is needed."),
        ({"factors": (100.1,)}, "--factors is 100.1, but a factor from 0.01 to 100 is needed."),
        ({"size": float("inf")}, "--size is inf, but a finite number is needed."),
    ],
)
def test_what_is_refused(bad, sentence):
    with pytest.raises(InvalidInputError) as error:
        require_options(Options(**bad))
    assert str(error.value) == sentence


def test_words_that_are_not_among_the_known_ones_are_refused():
    for bad, words in (
        ({"tail": "tale"}, "'tale'"),
        ({"noise_model": "slop"}, "--noise-model names 'slop'; choose from "),
        ({"environments": ("gridworld-1", "gridworld-0")}, "--environments names 'gridworld-0'; choose from "),
    ):
        with pytest.raises(InvalidInputError, match=words):
            require_options(Options(**bad))


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
