"""Lists of large worlds: shared by actions where that pays, with predecessors, in an order that memory likes."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from robustirl.mdp import MDP, SuccessorKernel, renumbered, renumbering
from robustirl.planning import solve
from tests.compiled import call

STATES, ACTIONS = 1200, 3


def lists(kind, seed=0):
    """Successors within two states (which actions share), or anywhere; a third of all states leads to state 7."""
    rng = np.random.default_rng(seed)
    places = rng.integers(STATES, size=(STATES, ACTIONS, 2))
    if kind == "near":
        places = (np.arange(STATES)[:, None, None] + rng.integers(-2, 2, size=places.shape)) % STATES
    else:
        places[::3, 0, 0] = 7
    chances = rng.dirichlet(np.ones(2), size=(STATES, ACTIONS))
    chances[5, 1] = 0
    return places, chances


def dense(places, chances):
    array = np.zeros((STATES, ACTIONS, STATES))
    np.add.at(array, (np.arange(STATES)[:, None, None], np.arange(ACTIONS)[:, None], places), chances)
    return array


@pytest.mark.parametrize("kind", ["near", "anywhere"])
def test_every_product_is_that_of_the_array(kind):
    places, chances = lists(kind)
    kernel: Any = SuccessorKernel(places, chances)
    array = dense(places, chances)
    assert (kernel.places.shape[1] == 1) == (kind == "near")
    assert (kernel.inflow.more_sources.size > 0) == (kind == "anywhere")  # State 7 has too many for a list.
    rng = np.random.default_rng(1)
    value: Any = rng.normal(size=STATES)
    measure: Any = rng.normal(size=(STATES, ACTIONS))
    np.testing.assert_allclose(call(kernel, "expect", value), array @ value, atol=1e-13)
    np.testing.assert_allclose(call(kernel, "push", measure), np.einsum("sa,sat->t", measure, array), atol=1e-12)
    chain = call(kernel, "chain", list(measure.T))
    matrix = np.einsum("sa,sat->st", measure, array)
    np.testing.assert_allclose(call(chain, "expect", value), matrix @ value, atol=1e-12)
    np.testing.assert_allclose(call(chain.transpose(), "expect", value), value @ matrix, atol=1e-12)
    np.testing.assert_allclose(call(chain.transpose(), "push", value), matrix @ value, atol=1e-12)
    np.testing.assert_allclose(chain.sparse_part().toarray(), matrix, atol=1e-13)
    np.testing.assert_allclose(kernel.to_sparse().toarray(), array.reshape(-1, STATES), atol=1e-15)
    np.testing.assert_allclose(call(kernel, "row_sums"), array.sum(-1), atol=1e-14)


def test_a_world_in_another_order_has_the_same_solution(monkeypatch):
    monkeypatch.setattr(renumbering, "LEAST_STATES", 1000)
    monkeypatch.setattr(renumbering, "FAR", 100)
    places, chances = lists("near")
    shuffle = np.random.default_rng(2).permutation(STATES)
    back = np.argsort(shuffle)
    world = MDP(SuccessorKernel(shuffle[places][back], chances[back]), discount=0.9)
    found: Any = renumbered(world)
    again: Any = renumbered(world)
    inner, order = found
    assert again[0].kernel.places is inner.kernel.places  # Found once.
    here, there = np.asarray(inner.kernel.to_sparse().tocoo().coords[1]), order.rank
    np.testing.assert_array_equal(np.sort(there), np.arange(STATES))
    assert here.size == world.kernel.to_sparse().nnz
    reward = np.random.default_rng(3).normal(size=STATES)
    value = np.asarray(solve(world, reward).value)
    plain = np.asarray(solve(MDP(SuccessorKernel(places, chances), discount=0.9), reward[shuffle]).value)
    np.testing.assert_allclose(value[shuffle], plain, atol=1e-8)


def test_a_sparse_matrix_is_a_kernel_with_the_number_of_actions(refused):
    matrix = scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    world = MDP(matrix, discount=0.5, num_actions=2)
    assert np.asarray(world.kernel.to_array()).tolist() == [[[0, 1], [1, 0]], [[1, 0], [0, 1]]]
    with refused("sparse matrix of shape (4, 2)", "pass num_actions"):
        MDP(matrix, discount=0.5)
    with refused("num_actions is for sparse matrices", "Omit"):
        MDP([[[1.0]]], discount=0.5, num_actions=1)
