"""Counts, seeds and numbers: real ones within bounds, or a sentence of any length of input that stays short."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, as_action_reward, as_local_alpha, as_occupancy, require_discount
from robustirl.mdp.checks import (
    as_count,
    as_floats,
    as_number_within,
    as_positive,
    as_seed,
    concrete,
    in_host_memory,
    require_squares,
    shape_of,
)


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


class Closed:
    def __array__(self, *_, **__):
        raise RuntimeError("closed.\nReally.")


class ClosedWithShape(Closed):
    shape = (2,)


@pytest.mark.parametrize("given", [Closed(), ClosedWithShape()])
def test_arrays_that_cannot_be_read_are_refused(given, refused):
    with refused("the reward is not a rectangular array of real numbers (closed)"):
        as_floats("the reward", given)
    with refused("the discount γ is"):
        require_discount(given)
    world = MDP(np.eye(2)[:, None], discount=0.9)
    for call in (as_occupancy, as_action_reward, as_local_alpha):
        with refused("is not a rectangular array", "(closed)"):
            call(given, world)


def test_shapes_are_told_without_reading_the_array(refused):
    assert shape_of("x", ClosedWithShape()) == (2,)
    assert shape_of("x", [[1], [2]]) == (2, 1)
    assert jax.jit(lambda x: x.sum() * shape_of("x", x)[0])(jnp.ones(3)) == 9
    with refused("x is not a rectangular array (closed)."):
        shape_of("x", Closed())


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 1e15), (np.float64, 1e150)])
def test_numbers_whose_squares_overflow_are_refused(dtype, largest, refused):
    sound = np.array([[0.0, -largest, largest]])
    require_squares("x", sound, np.dtype(dtype))
    assert np.isfinite(np.sum(np.full(10**6, largest, dtype) ** 2))
    for bad in (2 * largest, -2 * largest, np.inf, np.nan):
        with refused("at state 0, action 2", f"needs numbers of at most {largest:g}"):
            require_squares("x", np.array([[0.0, 1.0, bad]]), np.dtype(dtype))


def test_arrays_on_one_device_of_a_cpu_are_in_host_memory():
    assert in_host_memory(jnp.ones(2), np.ones(3), 1.0)
    seen = []
    jax.make_jaxpr(lambda x: seen.append(in_host_memory(x, np.ones(3))))(1.0)
    assert seen == [False]
