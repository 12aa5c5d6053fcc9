"""Intermediate results that are computed once."""

import re

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import unfused


def twice(x):
    return jnp.roll(x, 1) + jnp.roll(x, -1)


def test_the_result_is_that_of_the_function():
    x = jnp.arange(5.0)
    np.testing.assert_array_equal(unfused(jnp.asarray(True), twice, x), twice(x))
    pair = unfused(jnp.asarray(0.5) >= 0, lambda a, b: (a + b["c"], {"d": a}), x, {"c": x})
    np.testing.assert_array_equal(pair[0], 2 * x)
    np.testing.assert_array_equal(pair[1]["d"], x)


def test_a_program_keeps_it_apart():
    """Programs for a CPU have a branch that cannot be left out; those for other devices a barrier."""
    text = jax.jit(lambda rate, x: twice(unfused(rate >= 0, twice, x))).lower(0.5, jnp.arange(5.0)).compile().as_text()
    assert re.search("conditional" if jax.default_backend() == "cpu" else "opt-barrier", text or "")
