"""Sums of gathered vectors, written out and in a loop, and what kernels with long lists make of them."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from robustirl.mdp import SuccessorKernel
from robustirl.mdp.gathers import MOST_UNROLLED, gather_sum

LENGTH = MOST_UNROLLED + 1  # One more than is written out.
RANDOM = np.random.default_rng(0)
PLACES = RANDOM.integers(0, 3, (LENGTH, 3))
WEIGHTS = RANDOM.integers(0, 9, (LENGTH, 3)).astype(float)


def test_long_lists_are_summed_in_a_loop():
    value = np.array([1.0, 10.0, 100.0])
    expected = (WEIGHTS * value[PLACES]).sum(0)
    rows = [jnp.asarray(row) for row in WEIGHTS]
    found = eqx.filter_jit(lambda places, rows: gather_sum(places, rows, value))(jnp.asarray(PLACES), rows)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(gather_sum(jnp.asarray(PLACES), jnp.asarray(WEIGHTS), value), expected)


def test_kernels_with_long_lists_have_the_products_of_their_arrays():
    places = np.stack([PLACES.T, PLACES.T[::-1]], 1)
    chances = np.stack([WEIGHTS.T, WEIGHTS.T[::-1]], 1) + 1.0
    chances /= chances.sum(-1, keepdims=True)
    shares = np.array([[0.5, 1.0, 0.25], [0.5, 0.0, 0.75]])
    measure = np.array([1.0, 2.0, 4.0])

    def products(kernel):
        chain, own = kernel.chain([jnp.asarray(share) for share in shares]), jnp.asarray(measure)
        return kernel.expect(own), chain.push(own), chain.expect(own)

    for lists in (places, np.repeat(places[:, :1], 2, 1)):  # Each action with a list of its own; one list for both.
        array = np.zeros((3, 2, 3))
        np.add.at(array, (np.arange(3)[:, None, None], np.arange(2)[:, None], lists), chances)
        chain = np.einsum("as,sat->st", shares, array)
        found = eqx.filter_jit(products)(SuccessorKernel(lists, chances))
        for one, expected in zip(found, (array @ measure, measure @ chain, chain @ measure), strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-12)
