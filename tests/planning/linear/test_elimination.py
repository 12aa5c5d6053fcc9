"""Systems without the states that can be eliminated: the solution is that of the whole system."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp.chains import DenseChain, ListChain
from robustirl.mdp.halves import halved_lists
from robustirl.planning.linear.elimination import reduced_system

RNG = np.random.default_rng(0)
SIZE, DISCOUNT = 6, 0.9


def walk():
    """A ring of six states that stays sometimes, so that diagonals count; every other state is eliminated."""
    states = np.arange(SIZE)
    places = np.stack([(states + 1) % SIZE, (states - 1) % SIZE, states])
    weights = RNG.dirichlet(np.ones(3), size=SIZE).T
    lists = halved_lists(places, np.ones(places.shape, bool), states % 2 == 0)
    matrix = np.zeros((SIZE, SIZE))
    np.add.at(matrix, (np.broadcast_to(states, places.shape), places), weights)
    return ListChain(jnp.asarray(places), jnp.asarray(weights), None, lists), matrix


def as_matrix(system):
    columns = [np.asarray(system.apply(unit)) for unit in jnp.eye(system.right.size)]
    return np.stack(columns, 1)


@pytest.mark.parametrize("halved", [True, False])
def test_its_solution_is_that_of_the_whole(halved):
    chain, matrix = walk()
    chain = chain if halved else DenseChain(jnp.asarray(matrix))
    right = jnp.asarray(RNG.normal(size=SIZE))
    system = reduced_system(chain, jnp.asarray(DISCOUNT), right)
    assert system.right.size == (SIZE // 2 if halved else SIZE)
    inner = np.linalg.solve(as_matrix(system), np.asarray(system.right))
    expected = np.linalg.solve(np.eye(SIZE) - DISCOUNT * matrix, np.asarray(right))
    np.testing.assert_allclose(system.expand(jnp.asarray(inner)), expected, atol=1e-12)
    np.testing.assert_array_equal(system.restrict(jnp.asarray(expected)), expected[1::2] if halved else expected)


def test_a_product_is_that_of_the_schur_complement():
    chain, matrix = walk()
    system = reduced_system(chain, jnp.asarray(DISCOUNT), jnp.zeros(SIZE))
    full = np.eye(SIZE) - DISCOUNT * matrix
    first, second = np.s_[0::2], np.s_[1::2]
    schur = full[second, second] - full[second, first] @ np.linalg.solve(full[first, first], full[first, second])
    np.testing.assert_allclose(as_matrix(system), schur / np.diag(full)[second][:, None], atol=1e-14)


def test_residuals_of_the_whole_are_no_larger():
    chain, matrix = walk()
    right = jnp.asarray(RNG.normal(size=SIZE))
    system = reduced_system(chain, jnp.asarray(DISCOUNT), right)
    guess = jnp.asarray(RNG.normal(size=SIZE // 2))
    whole = np.asarray(right) - (np.eye(SIZE) - DISCOUNT * matrix) @ np.asarray(system.expand(guess))
    own = np.asarray(system.right - system.apply(guess))
    np.testing.assert_allclose(whole[0::2], 0, atol=1e-14)
    np.testing.assert_allclose(whole[1::2], own * (1 - DISCOUNT * np.diag(matrix)[1::2]), atol=1e-14)
