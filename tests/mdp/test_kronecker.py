"""Worlds of independent parts against the array of the whole, and against a closed form."""

from typing import Any

import jax
import numpy as np

from robustirl.mdp import MDP, DenseKernel, KroneckerKernel, SuccessorKernel
from robustirl.planning import solve
from tests.compiled import call

RNG = np.random.default_rng(0)
FIRST = RNG.dirichlet(np.ones(3), size=(3, 2))
SECOND = RNG.dirichlet(np.ones(2), size=(2, 1))
THIRD = RNG.dirichlet(np.ones(2), size=(2, 2))


def whole():
    return np.einsum("sau,tbv,xcy->stxabcuvy", FIRST, SECOND, THIRD).reshape(12, 4, 12)


def test_every_product_is_that_of_the_whole():
    listed = SuccessorKernel(np.broadcast_to(np.arange(2), (2, 1, 2)), SECOND)
    kernel: Any = KroneckerKernel(FIRST, listed, DenseKernel(THIRD))
    array, value, measure = whole(), RNG.normal(size=12), RNG.normal(size=(12, 4))
    assert (kernel.num_states, kernel.num_actions) == (12, 4)
    np.testing.assert_allclose(call(kernel, "to_array"), array, atol=1e-15)
    np.testing.assert_allclose(kernel.to_sparse().toarray().reshape(12, 4, 12), array, atol=1e-15)
    np.testing.assert_allclose(call(kernel, "expect", value), array @ value, atol=1e-14)
    np.testing.assert_allclose(call(kernel, "push", measure), np.einsum("sa,sat->t", measure, array), atol=1e-14)
    np.testing.assert_allclose(call(kernel, "row_sums"), 1, atol=1e-14)
    np.testing.assert_allclose(call(kernel, "self_transitions"), np.einsum("sas->sa", array), atol=1e-15)
    chain, matrix = call(kernel, "chain", list(measure.T)), np.einsum("sa,sat->st", measure, array)
    np.testing.assert_allclose(call(chain, "expect", value), matrix @ value, atol=1e-13)
    np.testing.assert_allclose(call(chain.transpose(), "expect", value), value @ matrix, atol=1e-13)
    np.testing.assert_allclose(chain.sparse_part().toarray(), matrix, atol=1e-13)
    np.testing.assert_allclose(kernel.row_distances(DenseKernel(array)), 0, atol=1e-12)


def test_draws_come_from_the_parts():
    kernel = KroneckerKernel(FIRST, THIRD)
    states = np.zeros(4000, int)
    drawn = np.asarray(kernel.sample(states, states + 3, key=jax.random.key(0)))  # pyright: ignore[reportArgumentType]
    expected = np.outer(FIRST[0, 1], THIRD[0, 1]).ravel()
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 4000, expected, atol=0.03)


def test_rewards_of_independent_parts_add_up():
    reward = np.array([1.0, 0.0])
    value = np.asarray(
        solve(MDP(KroneckerKernel(SECOND, SECOND), discount=0.9), np.add.outer(reward, reward).ravel()).value
    )
    alone = np.linalg.solve(np.eye(2) - 0.9 * SECOND[:, 0], reward)
    np.testing.assert_allclose(value, np.add.outer(alone, alone).ravel(), atol=1e-9)


def test_no_parts_are_refused(refused):
    with refused("no parts", "at least one"):
        KroneckerKernel()


def test_parts_in_a_list_are_refused(refused):
    part = DenseKernel(np.ones((2, 1, 2)) / 2)
    with refused("the parts were given as one list; give them one by one: KroneckerKernel(*parts)"):
        KroneckerKernel([part, part])  # pyright: ignore[reportArgumentType]
