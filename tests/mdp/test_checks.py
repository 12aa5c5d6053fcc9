"""Counts and seeds: whole numbers within bounds, or a sentence of any length of input that stays short."""

import pytest

from robustirl.mdp.checks import as_count, as_seed


@pytest.mark.parametrize(
    "value", [-1, 2.0, "3", None, 10**9 + 1, 2**63, 10**5000], ids=lambda value: type(value).__name__
)
def test_what_is_no_count_is_refused(refused, value):
    with refused("steps is "):
        as_count("steps", value)


@pytest.mark.parametrize("value", [0, 1, 10**9])
def test_counts_go_up_to_their_bound(value):
    assert as_count("steps", value) == value


@pytest.mark.parametrize("value", [-1, 2**63, 2**64, 0.5])
def test_what_is_no_seed_is_refused(refused, value):
    with refused("the seed is "):
        as_seed("the seed", value)


def test_seeds_go_up_to_what_a_key_takes():
    assert as_seed("the seed", 2**63 - 1) == 2**63 - 1
