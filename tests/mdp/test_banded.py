"""Kernels as diagonals say the same as lists and arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, BandedKernel, SuccessorKernel, banded_or_lists
from robustirl.mdp.banded import MOST_OFFSETS
from tests.compiled import call


def banded(offsets, rng):
    """A banded kernel of 7 states and 2 actions, by chance with an action that does not exist somewhere."""
    states = np.arange(7)
    inside = np.stack([(states + d >= 0) & (states + d < 7) for d in offsets])
    weights = rng.uniform(size=(len(offsets), 2, 7)) * inside[:, None, :] * (rng.uniform(size=(1, 2, 7)) < 0.9)
    total = weights.sum(0, keepdims=True)
    return BandedKernel(offsets, weights / np.where(total > 0, total, 1))


@given(st.sampled_from([[0], [-1, 1], [3, -6, 0, 6, 1]]), st.integers(0, 2**32 - 1))
def test_all_of_it_is_that_of_the_array(offsets, seed):
    rng = np.random.default_rng(seed)
    kernel = banded(offsets, rng)
    array = np.asarray(call(kernel, "to_array"))
    value, measure = rng.normal(size=7), rng.uniform(size=(7, 2))
    np.testing.assert_allclose(call(kernel, "expect", value), array @ value, atol=1e-14)
    np.testing.assert_allclose(call(kernel, "push", measure), np.einsum("sa,sat->t", measure, array), atol=1e-14)
    np.testing.assert_allclose(call(kernel, "row_sums"), array.sum(-1), atol=1e-14)
    np.testing.assert_allclose(call(kernel, "self_transitions"), np.einsum("sas->sa", array), atol=1e-15)
    np.testing.assert_allclose(kernel.to_sparse().toarray().reshape(7, 2, 7), array, atol=1e-15)
    matrix = np.einsum("sa,sat->st", measure, array)
    np.testing.assert_allclose(call(kernel, "policy_matrix", measure), matrix, atol=1e-14)
    chain = call(kernel, "chain", list(measure.T))
    np.testing.assert_allclose(call(chain, "expect", value), matrix @ value, atol=1e-14)
    np.testing.assert_allclose(call(chain, "push", value), value @ matrix, atol=1e-14)


def test_distances_whatever_the_diagonals():
    step = BandedKernel((1, 0), [[[1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])
    slow = BandedKernel((1, 0), [[[0.5, 0.5, 0.0]], [[0.5, 0.5, 1.0]]])
    back = BandedKernel((-1, 0), [[[0.0, 1.0, 1.0]], [[1.0, 0.0, 0.0]]])
    assert step.row_distances(slow).tolist() == [[1.0], [1.0], [0.0]]
    assert step.row_distances(back).tolist() == [[2.0], [2.0], [2.0]]
    assert step.row_distances(slow.to_lists()).tolist() == [[1.0], [1.0], [0.0]]
    assert slow.to_lists().row_distances(step).tolist() == [[1.0], [1.0], [0.0]]


def test_samples_follow_the_kernel():
    kernel = BandedKernel((-1, 1, 0), [[[0.0, 0.25]], [[0.75, 0.0]], [[0.25, 0.75]]])
    states = jnp.tile(jnp.arange(2), 4000)
    found = kernel.sample(states, jnp.zeros(8000, int), key=jax.random.key(0))
    assert set(np.asarray(found).tolist()) == {0, 1}
    assert float(found[states == 0].mean()) == pytest.approx(0.75, abs=0.03)
    assert float(found[states == 1].mean()) == pytest.approx(0.75, abs=0.03)


def test_few_distances_become_diagonals_and_many_stay_lists():
    ring = np.stack([(np.arange(50) + 1) % 50, (np.arange(50) - 1) % 50], -1)[..., None]
    kernel = banded_or_lists(ring, np.ones((50, 2, 1)))
    assert isinstance(kernel, BandedKernel)
    assert kernel.offsets == (-49, -1, 1, 49)
    assert np.allclose(kernel.to_array(), SuccessorKernel(ring, np.ones((50, 2, 1))).to_array())
    anywhere = np.random.default_rng(0).integers(0, 50, (50, 2, 1))
    assert len(np.unique(anywhere - np.arange(50)[:, None, None])) > MOST_OFFSETS
    assert isinstance(banded_or_lists(anywhere, np.ones((50, 2, 1))), SuccessorKernel)


def test_a_successor_listed_twice_counts_twice():
    kernel = banded_or_lists(np.array([[[1, 1]], [[0, 1]]]), np.array([[[0.5, 0.5]], [[1.0, 0.0]]]))
    assert kernel.to_array().tolist() == [[[0.0, 1.0]], [[1.0, 0.0]]]


def test_what_cannot_be_is_refused(refused):
    with refused("action 0", "state 1", "by 1", "0 to 1"):
        BandedKernel((1,), [[[1.0, 1.0]]])
    with refused("(2, 2)", "(J, A, S)"):
        BandedKernel((1, 0), np.ones((2, 2)))
    with refused("(1, 1)", "2 different"):
        BandedKernel((1, 1), np.ones((2, 1, 2)) / 2)
    with refused("state 0, action 0", "0.5"):
        BandedKernel((0,), [[[0.5, 1.0]]])
    with refused("leaky"):
        leaky = BandedKernel((0,), [[[0.5, 1.0]]], leaky=True)
        leaky.sample(jnp.array([0]), jnp.array([0]), key=jax.random.key(0))


def test_a_world_of_diagonals_masks_what_does_not_exist():
    world = MDP(BandedKernel((1, 0), [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]), discount=0.5)
    assert world.mask.tolist() == [[True, True], [True, False]]


def test_a_negative_weight_is_named_by_its_state(refused):
    weights = np.ones((1, 2, 3))
    weights[0, 1, 2] = -1.0
    with refused("the weight of a diagonal is negative at state 2, action 1, diagonal 0: -1.0"):
        BandedKernel((0,), weights)
