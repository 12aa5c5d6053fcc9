"""Sampled returns against exact ones."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, DenseKernel
from robustirl.planning import sampled_total_return, total_return
from robustirl.planning.sampling import _successors

COIN = MDP([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0, 0.0])
ONE_ACTION = np.ones((3, 1))


def random_task(seed):
    """A world with an absorbing goal and a missing action, a policy and a reward."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(5, 0.4), size=(5, 2))
    kernel[4] = np.eye(5)[4]
    kernel[2, 1] = 0
    policy = rng.dirichlet(np.ones(2), size=5)
    policy[2] = [1, 0]
    return MDP(kernel, discount=0.9, initial=rng.dirichlet(np.ones(5))), policy, np.append(rng.normal(size=4), 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("horizon", [1, 30])
def test_sampled_returns_agree_with_exact_ones(seed, horizon):
    mdp, policy, reward = random_task(seed)
    sampled = sampled_total_return(mdp, policy, reward, key=jax.random.key(seed), repetitions=2000, horizon=horizon)
    exact = total_return(mdp, jnp.asarray(policy), jnp.asarray(reward), horizon=horizon)
    assert abs(sampled.mean - exact) <= 4 * sampled.deviation / np.sqrt(2000)


def test_the_deviation_is_that_of_a_fair_coin():
    reward, key = [5.0, 1.0, 0.0], jax.random.key(0)
    sampled = sampled_total_return(COIN, ONE_ACTION, reward, key=key, repetitions=4000, horizon=1)
    np.testing.assert_allclose(sampled.mean, 5.5, atol=4 * 0.5 / np.sqrt(4000))
    heads = (sampled.mean - 5) * 4000
    np.testing.assert_allclose(sampled.deviation, np.sqrt(heads * (4000 - heads) / 4000 / 3999), rtol=1e-12)


def test_the_same_key_gives_the_same_bits_and_another_does_not():
    mdp, policy, reward = random_task(0)
    one, again, other = (
        sampled_total_return(mdp, policy, reward, key=jax.random.key(k), repetitions=50, horizon=20) for k in (3, 3, 4)
    )
    assert one.mean.tobytes() == again.mean.tobytes()
    assert one.deviation.tobytes() == again.deviation.tobytes()
    assert one.mean != other.mean


def test_horizon_zero_is_the_reward_of_the_start():
    sampled = sampled_total_return(COIN, ONE_ACTION, [3.0, 1.0, 0.0], key=jax.random.key(0), repetitions=2, horizon=0)
    assert (sampled.mean.item(), sampled.deviation.item()) == (3.0, 0.0)


def test_an_absorbing_state_that_pays_keeps_paying():
    sampled = sampled_total_return(COIN, ONE_ACTION, [0.0, 1.0, 1.0], key=jax.random.key(0), repetitions=2, horizon=10)
    assert (sampled.mean.item(), sampled.deviation.item()) == (10.0, 0.0)


def test_a_single_state_collects_its_reward_every_step():
    world = MDP([[[1.0]]], discount=0.5)
    sampled = sampled_total_return(world, [[1.0]], [2.0], key=jax.random.key(0), repetitions=2, horizon=7)
    assert (sampled.mean.item(), sampled.deviation.item()) == (16.0, 0.0)


@pytest.mark.parametrize("size", [1, 2, 5, 8, 9])
def test_successors_invert_the_cumulative_distribution(size):
    rng = np.random.default_rng(size)
    chain = rng.dirichlet(np.full(size, 0.5), size=size)
    chain[0] = np.eye(size)[size // 2]
    states, uniforms = np.tile(np.arange(size), (400, 1)), rng.random((400, size))
    uniforms[0] = 0.0
    uniforms[1] = np.nextafter(1, 0)
    cumulative = np.cumsum(chain, -1)
    found = np.asarray(eqx.filter_jit(_successors)(*map(jnp.asarray, (cumulative, states, uniforms))))
    expected = (cumulative[states] <= (uniforms * cumulative[states, -1])[..., None]).sum(-1)
    np.testing.assert_array_equal(found, expected)
    assert (chain[states, found] > 0).all()


@pytest.mark.parametrize("repetitions", [1, 0, 2.5])
def test_fewer_than_two_repetitions_are_refused(repetitions, refused):
    unchecked = inspect.unwrap(sampled_total_return)  # The type checks that only tests run under would come first.
    with refused("repetitions", repr(repetitions), "at least 2"):
        unchecked(COIN, ONE_ACTION, [0.0, 1.0, 1.0], key=jax.random.key(0), repetitions=repetitions)


def test_a_negative_horizon_is_refused(refused):
    with refused("horizon", "-1"):
        sampled_total_return(COIN, ONE_ACTION, [0.0, 1.0, 1.0], key=jax.random.key(0), horizon=-1)


def test_a_leaky_world_is_refused(refused):
    leaky = MDP(DenseKernel([[[0.9]]], leaky=True), discount=0.5)
    with refused("leaky world", "evaluation_mdp"):
        sampled_total_return(leaky, [[1.0]], [1.0], key=jax.random.key(0))


def test_a_bad_policy_and_a_bad_reward_are_refused(refused):
    with refused("the policy", "state 1", "0.5"):
        sampled_total_return(COIN, [[1.0], [0.5], [1.0]], [0.0, 1.0, 1.0], key=jax.random.key(0))
    with refused("the reward", "state 2"):
        sampled_total_return(COIN, ONE_ACTION, [0.0, 1.0, float("inf")], key=jax.random.key(0))
