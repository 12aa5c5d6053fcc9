"""Counts, seeds and numbers: real ones within bounds, or a sentence of any length of input that stays short."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.mdp.checks import as_count, as_number_within, as_positive, as_seed, concrete, require_discount


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


@pytest.mark.parametrize(
    "value",
    [0.5 + 0.3j, np.complex128(0.5 + 0.3j), np.complex64(0.5), np.array(0.5 + 0.3j), jnp.complex64(0.5 + 0.3j)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.usefixtures("mistyped")
def test_a_complex_number_does_not_lose_its_imaginary_part(refused, value):
    with refused("the discount γ is ", "but a number with 0 <= γ < 1 is needed."):
        require_discount(value)
    with refused("the tolerance is ", "but a finite number above 0 is needed."):
        as_positive("the tolerance", value)
    with refused("alpha is ", "but a number with 0 < alpha is needed."):
        as_number_within("alpha", value, "0 < alpha", lambda number: number > 0)
    with refused("the discount γ is "):
        MDP(np.full((3, 2, 3), 1 / 3), discount=value)


@pytest.mark.usefixtures("mistyped")
def test_a_complex_number_is_refused_where_it_is_traced(refused):
    def double(value):
        return 2 * as_number_within("alpha", value, "0 < alpha", lambda number: number > 0)

    with refused("alpha is "):
        jax.jit(double)(1j)
    assert jax.jit(double)(1.5) == 3


@pytest.mark.parametrize("depth", [70, 2_000, 100_000])
@pytest.mark.usefixtures("mistyped")
def test_lists_in_lists_in_lists_are_refused_in_a_sentence(refused, depth):
    nested = []
    for _ in range(depth):
        nested = [nested]
    with refused("rectangular"):
        MDP(nested, discount=0.9)
    with refused("the tolerance is "):
        as_positive("the tolerance", nested)
    if depth > 1_000:
        with refused("an argument is lists in lists too deep to be an array; give a rectangular one."):
            concrete(nested)
