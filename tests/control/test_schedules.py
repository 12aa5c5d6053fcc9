"""Learning rates: those of optax, with a number of steps that compiled programs need not know."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.control import falling_rate

TAKEN = 1500


def rates_of(schedule):
    """The rates of the first steps, one after the other as in a training."""
    return jax.lax.scan(lambda count, _: (count + 1, schedule(count)), jnp.zeros((), jnp.int32), length=TAKEN)[1]


@pytest.mark.parametrize("steps", [1, 3, 16, 720, 736, 1203])
def test_the_rate_is_that_of_optax_to_the_last_bit(steps):
    ours = jax.jit(lambda steps: rates_of(falling_rate(1e-3, 1e-4, steps)))(np.int32(steps))
    theirs = jax.jit(lambda: rates_of(optax.linear_schedule(1e-3, 1e-4, steps)))()
    np.testing.assert_array_equal(ours, theirs)
    assert [float(ours[0]), float(ours[-1])] == pytest.approx([1e-3, 1e-4], rel=1e-6)
