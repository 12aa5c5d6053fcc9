"""Kernels of entries: lists of very different lengths, as one list."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from robustirl.mdp import MDP, DenseKernel, MarkovGame, RaggedKernel, SuccessorKernel, from_function, shard_states
from robustirl.mdp.ragged import wasteful
from robustirl.planning import NewtonKrylov, solve

# Four states and two actions. From state 0 action 0 leads anywhere; state 2 lacks action 1.
ARRAY = np.zeros((4, 2, 4))
ARRAY[0, 0] = [0.1, 0.2, 0.3, 0.4]
ARRAY[[0, 1, 1, 3], [1, 0, 1, 0], [1, 0, 2, 0]] = 1
ARRAY[2, 0], ARRAY[3, 1] = [0.5, 0, 0.5, 0], [0, 0, 0.25, 0.75]


@pytest.fixture(scope="module")
def kernel():
    return RaggedKernel(scipy.sparse.csr_array(ARRAY.reshape(8, 4)), num_actions=2)


def hub(states):
    """Return a matrix of one action: state 0 leads anywhere, every other state to the next, the last to state 0."""
    matrix = scipy.sparse.lil_array((states, states))
    matrix[0] = np.full((1, states), 1 / states)
    matrix[np.arange(1, states), np.arange(2, states + 1) % states] = 1.0
    return matrix.tocsr()


def test_lists_are_wasteful_from_a_million_entries_of_which_an_eighth_is_used():
    assert not wasteful(1000, 1000, 10)
    assert wasteful(1001, 1000, 125_124)
    assert not wasteful(1001, 1000, 125_125)


def test_products_are_those_of_the_array(kernel):
    value, measure = jnp.asarray([1.0, -2.0, 3.0, 0.5]), jnp.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(kernel.expect(value), ARRAY @ value, atol=1e-15)
    np.testing.assert_allclose(kernel.push(measure), np.einsum("sa,sat->t", measure, ARRAY), atol=1e-15)
    np.testing.assert_allclose(kernel.row_sums(), ARRAY.sum(-1), atol=1e-15)
    policy = jnp.asarray([[0.3, 0.7], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    matrix = np.einsum("sa,sat->st", policy, ARRAY)
    chain = kernel.chain(list(policy.T))
    np.testing.assert_allclose(chain.expect(value), matrix @ value, atol=1e-15)
    np.testing.assert_allclose(chain.push(value), value @ matrix, atol=1e-15)
    np.testing.assert_allclose(kernel.policy_matrix(policy), matrix, atol=1e-15)


def test_rows_that_do_not_sum_to_one_are_refused(refused):
    matrix = scipy.sparse.csr_array(np.array([[0.5, 0.4], [0.0, 1.0]]))
    with refused("the transition row of state 0, action 0 sums to 0.9 instead of 1"):
        RaggedKernel(matrix, num_actions=1)
    assert RaggedKernel(matrix, num_actions=1, leaky=True).leaky


def test_distances_are_those_of_the_arrays_whatever_the_other_kernel_is(kernel):
    other = np.roll(ARRAY, 1, axis=-1)
    apart = np.abs(ARRAY - other).sum(-1)
    np.testing.assert_allclose(kernel.row_distances(DenseKernel(other)), apart, atol=1e-15)
    np.testing.assert_allclose(DenseKernel(other).row_distances(kernel), apart, atol=1e-15)
    lists = SuccessorKernel(np.broadcast_to(np.arange(4), (4, 2, 4)), other)
    np.testing.assert_allclose(lists.row_distances(kernel), apart, atol=1e-15)


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 2.0])
def test_the_worst_case_is_that_of_the_array(radius, kernel):
    value = jnp.asarray([1.0, -2.0, 3.0, 0.5])
    every = jnp.full((4, 2), radius)
    found = kernel.worst_case(value, every)
    np.testing.assert_allclose(found.to_array(), DenseKernel(ARRAY).worst_case(value, every).to_array(), atol=1e-15)
    np.testing.assert_allclose(found.to_sparse().toarray(), found.to_array().reshape(8, 4), atol=1e-15)


def test_samples_follow_the_rows(refused, kernel):
    draws = 20_000
    states, actions = jnp.asarray(np.repeat([0, 2, 3, 1], draws)), jnp.asarray(np.repeat([0, 0, 1, 1], draws))
    found = np.asarray(kernel.sample(states, actions, key=jax.random.key(0))).reshape(4, draws)
    shares = np.stack([(found == state).mean(1) for state in range(4)], 1)
    expected = ARRAY[[0, 2, 3, 1], [0, 0, 1, 1]]
    assert (shares[expected == 0] == 0).all()
    assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / draws)
    leaky = RaggedKernel(scipy.sparse.csr_array(0.5 * ARRAY.reshape(8, 4)), num_actions=2, leaky=True)
    with refused("a leaky kernel cannot be sampled"):
        leaky.sample(states, actions, key=jax.random.key(0))


def test_further_states_stay_where_they_are(kernel):
    longer = np.asarray(kernel.extended(6).to_array())
    np.testing.assert_array_equal(longer[:4, :, :4], ARRAY)
    np.testing.assert_array_equal(longer[4:, 0], np.eye(6)[4:])
    assert not longer[4:, 1].any()
    assert not longer[:4, :, 4:].any()


def test_a_hub_is_stored_as_entries_and_planned_as_an_array_is(refused, kernel):
    world = MDP(hub(1001), num_actions=1, discount=0.9)
    assert isinstance(world.kernel, RaggedKernel)
    assert world.kernel.weights.shape == (2001,)
    with refused("a world stored as entries is not spread over devices"):
        shard_states(world, jax.devices()[:1])
    small = MDP(kernel, discount=0.9)
    reward, game = np.array([1.0, -1.0, 0.5, 2.0]), MarkovGame(small, 0.8)
    value = solve(game, reward, solver=NewtonKrylov()).value
    np.testing.assert_allclose(value, solve(MarkovGame(MDP(ARRAY, discount=0.9), 0.8), reward).value, rtol=1e-9)


def test_a_function_with_a_hub_is_stored_as_entries():
    def successors(state, action):
        return (range(1001), [1 / 1001] * 1001) if state == 0 else ([(state + 1) % 1001], [1.0])

    stored = from_function(successors, num_states=1001, num_actions=1)
    assert isinstance(stored, RaggedKernel)
    assert abs(stored.to_sparse() - hub(1001)).max() < 1e-15
