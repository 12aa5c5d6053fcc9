"""The line search takes the first length that lowers the objective enough."""

import jax.numpy as jnp
import pytest

from robustirl._runtime import double_precision
from robustirl.irl.mce.line_search import SUFFICIENT_DECREASE, search_length


def search(objective, *, slope=-1.0, slack=0.0, most_cuts=10, skip=False):
    with double_precision():
        numbers = (jnp.asarray(number, float) for number in (0.0, slope, slack))
        found = search_length(objective, *numbers, cut=0.5, most_cuts=most_cuts, skip=jnp.asarray(skip))
        return tuple(number.item() for number in found)


def steep_until(limit):
    """Lower by the length up to a limit, and higher beyond it."""
    return lambda length: (jnp.where(length <= limit, -length, 1.0), jnp.asarray(True))


@pytest.mark.parametrize(
    ("limit", "expected"), [(1.0, (1.0, True, 0)), (0.6, (0.5, True, 1)), (0.1, (0.0625, True, 4))]
)
def test_the_longest_of_the_halved_lengths_is_taken(limit, expected):
    assert search(steep_until(limit)) == expected


def test_a_fall_must_be_a_share_of_what_the_slope_promises():
    for share, good in ((1.01, True), (0.99, False)):
        found = search(lambda t, share=share: (-share * SUFFICIENT_DECREASE * t, jnp.asarray(True)), most_cuts=2)
        assert found[1] is good
    assert search(lambda t: (0.0 * t + 1e-9, jnp.asarray(True)), slope=-1e-9, slack=2e-9) == (1.0, True, 0)


def test_what_cannot_be_computed_is_not_taken():
    assert search(lambda t: (-t, t < 0.3)) == (0.25, True, 2)


def test_the_search_ends_after_the_most_cuts_and_can_be_skipped():
    assert search(steep_until(0.0), most_cuts=3) == (0.125, False, 3)
    assert search(steep_until(1.0), skip=True)[2] == -1
