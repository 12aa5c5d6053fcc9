"""Policies, mixtures, and the paper's two distances."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, dynamics_distance, mixture, uniform_policy
from robustirl.mdp.policy import as_policy, opposed, policy_distance
from tests.strategies import SHAPES, kernels, policies, worlds

WORLD = MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9)


@given(st.data())
def test_policies_on_available_actions_are_accepted_as_they_are(data):
    mdp = data.draw(worlds())
    policy = data.draw(policies(mdp))
    np.testing.assert_array_equal(as_policy(policy, mdp), policy)


def test_a_policy_off_by_rounding_is_straightened():
    policy = as_policy([[0.5, 0.5 + 5e-11], [1.0 - 5e-11, 0.0]], WORLD)
    np.testing.assert_allclose(policy.sum(-1), 1, rtol=0, atol=4e-16)


@given(worlds())
def test_the_uniform_policy_shares_evenly_among_available_actions(mdp):
    mask = np.asarray(mdp.mask)
    policy = np.asarray(as_policy(uniform_policy(mdp.mask), mdp))
    np.testing.assert_allclose(policy, mask / mask.sum(-1, keepdims=True))


@given(st.data(), st.floats(0, 1))
def test_a_mixture_weighs_the_player_with_alpha(data, alpha):
    mdp = data.draw(worlds())
    player, opponent = (data.draw(policies(mdp)) for _ in range(2))
    mixed = mixture(jnp.asarray(player), jnp.asarray(opponent), alpha)
    np.testing.assert_allclose(mixed, alpha * player + (1 - alpha) * opponent, rtol=0, atol=1e-15)
    as_policy(mixed, mdp)


def test_a_batch_of_mixtures_has_an_alpha_each():
    rng = np.random.default_rng(0)
    player, opponent = (jnp.asarray(rng.dirichlet(np.ones(2), size=(4, 3))) for _ in range(2))
    alphas = jnp.array([1.0, 0.7, 0.2, 0.0])
    single = [mixture(*parts) for parts in zip(player, opponent, alphas, strict=True)]
    np.testing.assert_array_equal(mixture(player, opponent, alphas), single)


def test_an_alpha_of_every_pair_decides_which_actions_take_effect():
    rng = np.random.default_rng(0)
    player, opponent = (rng.dirichlet(np.ones(3), size=4) for _ in range(2))
    alpha, values = rng.random((4, 3)), rng.normal(size=(4, 3))
    mixed = np.asarray(mixture(player, opponent, alpha))
    np.testing.assert_allclose(mixed.sum(-1), 1, rtol=0, atol=1e-14)
    against = (opponent * values).sum(-1)
    worth = np.asarray(opposed(jnp.asarray(values), jnp.asarray(against), jnp.asarray(alpha)))
    np.testing.assert_allclose((mixed * values).sum(-1), (player * worth).sum(-1), rtol=0, atol=1e-14)


@given(st.data())
def test_dynamics_distance_is_the_largest_row_distance_of_available_pairs(data):
    shape = data.draw(st.sampled_from(SHAPES))
    (one, mask), (two, other_mask) = data.draw(kernels(shape)), data.draw(kernels(shape))
    first, second = MDP(one, discount=0.5, mask=mask), MDP(two, discount=0.5, mask=other_mask)
    rows = np.abs(one - two).sum(-1)
    np.testing.assert_allclose(dynamics_distance(first, second), rows[mask | other_mask].max(), rtol=0, atol=1e-14)
    assert dynamics_distance(first, second) == dynamics_distance(second, first)
    assert dynamics_distance(first, second) <= 2 + 1e-12
    assert dynamics_distance(first, first) == 0


def test_pairs_that_nobody_may_take_do_not_count_as_a_difference():
    mask = [[True, False]]
    still, moved = ([[[1.0, 0.0], row], [[0.0, 1.0]] * 2] for row in ([1.0, 0.0], [0.0, 1.0]))
    worlds_apart = [MDP(kernel, discount=0.5, mask=[*mask, [True, True]]) for kernel in (still, moved)]
    assert dynamics_distance(*worlds_apart) == 0
    assert jax.jit(dynamics_distance)(*worlds_apart) == 0  # Traced, it takes another way.
    assert dynamics_distance(*(MDP(kernel, discount=0.5) for kernel in (still, moved))) == 2


@given(st.data())
def test_policy_distance_is_the_largest_row_distance(data):
    mdp = data.draw(worlds())
    first, second = (jnp.asarray(data.draw(policies(mdp))) for _ in range(2))
    np.testing.assert_allclose(policy_distance(first, second), np.abs(first - second).sum(-1).max(), rtol=0, atol=1e-15)
    assert policy_distance(first, first) == 0
