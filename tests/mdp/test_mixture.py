"""Kernels with a rank-one part are the arrays they stand for, at a fraction of the memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, DenseKernel, MixtureKernel, SuccessorKernel, dynamics_distance, uniform_policy
from robustirl.mdp.mixture import LARGEST_DENSE
from robustirl.planning import state_occupancy
from tests.compiled import call
from tests.planners import newton
from tests.strategies import undisturbed_randomness


@st.composite
def mixtures(draw, shapes=((2, 1, 1), (5, 3, 2))):
    """A mixture of one of these shapes (S, A, K), and the array it stands for; some actions may not exist."""
    size, actions, successors = draw(st.sampled_from(shapes))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = generator.integers(size, size=(size, actions, successors))
    probabilities = generator.dirichlet(np.ones(successors), size=(size, actions))
    if actions > 1:
        probabilities[0, 1] = 0.0
    weights = generator.uniform(size=size) * (generator.uniform(size=size) < 0.7)
    distribution = generator.dirichlet(np.ones(size))
    with undisturbed_randomness():
        kernel = MixtureKernel(SuccessorKernel(places, probabilities), weights, distribution)
    array = np.zeros((size, actions, size))
    for s, a, k in np.ndindex(places.shape):
        array[s, a, places[s, a, k]] += (1 - weights[s]) * probabilities[s, a, k]
    array += (weights[:, None] * (probabilities.sum(-1) > 0))[..., None] * distribution
    return kernel, array


@given(mixtures())
def test_it_does_what_its_array_does(pair):
    kernel, array = pair
    dense = DenseKernel(array)
    generator = np.random.default_rng(0)
    value = jnp.asarray(generator.normal(size=kernel.num_states))
    measure = jnp.asarray(generator.uniform(size=array.shape[:2]))
    exists = array.sum(-1) > 0
    policy = exists / exists.sum(1, keepdims=True)
    assert np.allclose(call(kernel, "expect", value), array @ value, atol=1e-14)
    assert np.allclose(call(kernel, "push", measure), np.einsum("sa,sat->t", measure, array), atol=1e-14)
    matrix = np.einsum("sa,sat->st", policy, array)
    assert np.allclose(call(kernel, "policy_matrix", jnp.asarray(policy)), matrix, atol=1e-14)
    assert np.allclose(call(kernel, "row_sums"), array.sum(-1), atol=1e-14)
    for each in (kernel, dense):
        assert np.allclose(call(each, "self_transitions"), np.einsum("sas->sa", array), atol=1e-14)
    base = np.asarray(call(kernel.base, "to_array"))
    assert np.allclose(call(kernel.base, "self_transitions"), np.einsum("sas->sa", base), atol=1e-14)
    assert np.allclose(kernel.to_sparse().toarray(), array.reshape(-1, kernel.num_states), atol=1e-14)
    radius = jnp.asarray(generator.uniform(size=array.shape[:2]))
    ours, theirs = (call(each, "worst_case", value, radius).probabilities for each in (kernel, dense))
    assert np.allclose(ours, theirs, atol=1e-14)


@given(mixtures(shapes=((4, 2, 3),)), mixtures(shapes=((4, 2, 1), (4, 2, 3))), st.booleans())
def test_distances_are_those_of_the_arrays(one, two, same_noise):
    (first, a), (second, b) = one, two
    if same_noise:
        second = MixtureKernel(second.base, second.weights, first.distribution)
        exists = (b.sum(-1) > 0)[..., None]
        b = np.asarray((1 - np.asarray(second.weights))[:, None, None] * np.asarray(call(second.base, "to_array")))
        b = b + np.asarray(second.weights)[:, None, None] * exists * np.asarray(first.distribution)
    expected = np.abs(a - b).sum(-1)
    for other in (second, DenseKernel(b)):
        assert np.allclose(call(first, "row_distances", other), expected, atol=1e-13)
    base = np.asarray(call(first.base, "to_array"))
    assert np.allclose(call(first, "row_distances", first.base), np.abs(a - base).sum(-1), atol=1e-13)
    assert np.allclose(call(first.base, "row_distances", first), np.abs(a - base).sum(-1), atol=1e-13)


def test_samples_follow_the_array():
    kernel = MixtureKernel(SuccessorKernel([[[1]], [[1]], [[1]]], np.ones((3, 1, 1))), [0.5, 0.0, 1.0], [0.2, 0.2, 0.6])
    states = jnp.repeat(jnp.arange(3), 20_000)
    drawn = np.asarray(kernel.sample(states, jnp.zeros_like(states), key=jax.random.key(0))).reshape(3, -1)
    frequencies = np.stack([(drawn == s).mean(1) for s in range(3)], 1)
    assert np.allclose(frequencies, [[0.1, 0.6, 0.3], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]], atol=0.02)


def test_a_world_on_it_is_planned_and_compared_like_any_other():
    base = SuccessorKernel([[[1], [0]], [[1], [0]]], np.ones((2, 2, 1)))
    noisy = MDP(MixtureKernel(base, [0.2, 0.2], [0.5, 0.5]), discount=0.9)
    array = MDP(np.asarray(noisy.kernel.to_sparse().toarray()).reshape(2, 2, 2), discount=0.9)
    value = newton(noisy, [0.0, 1.0]).value
    assert np.allclose(value, newton(array, [0.0, 1.0]).value, atol=1e-9)
    policy = uniform_policy(noisy.mask)
    assert np.allclose(state_occupancy(noisy, policy), state_occupancy(array, policy), atol=1e-12)
    assert float(dynamics_distance(noisy, MDP(base, discount=0.9))) == pytest.approx(0.2)


def test_bad_mixtures_are_named(refused):
    base = SuccessorKernel([[[0]], [[1]]], np.ones((2, 1, 1)))
    with refused("in state 1 is 1.5, but a probability of at most 1"):
        MixtureKernel(base, [0.0, 1.5], [0.5, 0.5])
    with refused("the distribution of a disturbance"):
        MixtureKernel(base, [0.0, 0.5], [0.5, 0.1])
    with refused("(3,)"):
        MixtureKernel(base, [0.0, 0.5, 0.5], [0.5, 0.5])
    with refused("a leaky kernel cannot be disturbed"):
        MixtureKernel(SuccessorKernel([[[0]], [[1]]], [[[0.9]], [[1.0]]], leaky=True), [0.0, 0.5], [0.5, 0.5])


def test_what_needs_an_array_refuses_a_world_too_large_for_one(refused):
    size = int(np.sqrt(LARGEST_DENSE)) + 10
    base = SuccessorKernel(np.arange(size)[:, None, None], np.ones((size, 1, 1)))
    kernel = MixtureKernel(base, np.full(size, 0.1), np.full(size, 1 / size))
    with refused("numbers, 4 GiB; use a smaller world"):
        kernel.to_sparse()


def test_the_distance_of_two_mixtures_of_other_weights_is_that_of_their_arrays():
    lists = SuccessorKernel(np.array([[[1], [0]], [[0], [1]]]), np.ones((2, 2, 1)))
    distribution = jnp.array([0.25, 0.75])
    one, other = (MixtureKernel(lists, jnp.asarray(weights), distribution) for weights in ([0.5, 0.2], [0.1, 0.2]))
    # Of the first state, 0.4 of the mass moves from the place of the list to the distribution.
    np.testing.assert_allclose(one.row_distances(other), [[2 * 0.4 * 0.25, 2 * 0.4 * 0.75], [0, 0]], atol=1e-12)
