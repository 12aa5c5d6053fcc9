"""The critic and both sides of the policy gradient on a few steps, beside NumPy written from the formulas."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from robustirl.control.advantages import RIDGE, critic_values, per_step_baseline
from robustirl.control.config import PolicyGradientConfig
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import (
    Players,
    advantages,
    begin,
    optimizer,
    player_weights,
    regularizer,
    surrogate,
)
from robustirl.control.rollouts import Episodes


def _episodes() -> Episodes:
    """Return three steps of two episodes: the second ends after its first step."""
    rng = np.random.default_rng(5)
    return Episodes(
        states=jnp.zeros((4, 2, 1)),
        features=jnp.asarray(rng.normal(size=(4, 2, 2))),
        player_actions=jnp.asarray(rng.normal(size=(3, 2, 1))),
        opponent_actions=jnp.asarray(rng.normal(size=(3, 2, 1))),
        by_player=jnp.array([[True, False], [False, True], [True, True]]),
        active=jnp.array([[True, True], [True, False], [True, False]]),
        terminated=jnp.array([False, True]),
    )


def test_the_critic_is_a_ridge_regression_and_zero_where_an_episode_has_ended():
    batch, returns = _episodes(), np.random.default_rng(0).normal(size=(3, 2))
    values, means = jax.jit(lambda r: (critic_values(batch, r), per_step_baseline(batch, r)))(returns)
    time = np.arange(4) / 3
    features = np.asarray(batch.features)
    rows = np.concatenate([features, features**2, np.stack([np.ones(4), time, time**2], -1)[:, None].repeat(2, 1)], -1)
    taken = [(0, 0), (1, 0), (2, 0), (0, 1)]
    inputs, targets = np.stack([rows[place] for place in taken]), np.array([returns[place] for place in taken])
    gram = inputs.T @ inputs
    weights = np.linalg.solve(gram + RIDGE * np.trace(gram) / 7 * np.eye(7), inputs.T @ targets)
    expected = rows @ weights
    expected[1:, 1] = 0
    np.testing.assert_allclose(values, expected, rtol=1e-7)
    np.testing.assert_allclose(means[:, 0], [returns[0].mean(), returns[1, 0], returns[2, 0]])


@pytest.mark.parametrize("credit", ["all", "executed"])
def test_the_weights_of_both_sides(credit):
    batch, values = _episodes(), jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ours, theirs = player_weights(batch, values, PolicyGradientConfig(credit=credit))
    mask = np.asarray(batch.by_player) if credit == "executed" else np.ones((3, 2), bool)
    np.testing.assert_array_equal(ours, np.where(mask, values, 0))
    other = ~mask if credit == "executed" else mask
    np.testing.assert_array_equal(theirs, np.where(other, -np.asarray(values), 0))


def test_objectives_of_the_policy_gradient():
    batch, weights = _episodes(), jnp.array([[3.0, -2.0], [0.5, 0.0], [-1.5, 0.0]])
    linear = lambda slope, log: GaussianPolicy((jnp.array(slope),), (), jnp.array([log]))  # noqa: E731
    new, old = linear([[0.7], [-0.4]], -0.3), linear([[0.2], [0.1]], 0.1)
    config = PolicyGradientConfig(entropy=0.3, excess=2.0, reach=0.5, baseline="none", normalize=False)
    bounds = (jnp.array([-1.0]), jnp.array([0.5]))
    rewards = jnp.array([[1.0, 2.0], [3.0, 0.0], [4.0, 0.0]])

    @jax.jit
    def found():
        return (
            surrogate(new, batch, batch.player_actions, weights),
            surrogate(new, batch, batch.player_actions, weights, old, 0.1),
            regularizer(Players(new, old), batch, bounds, config),
            advantages(batch, rewards, jnp.array(0.5), config),
        )

    plain, clipped, added, gains = found()
    features, actions = np.asarray(batch.features)[:-1], np.asarray(batch.player_actions)[..., 0]
    means = [(features @ np.asarray(side.weights[0]))[..., 0] for side in (new, old)]
    logs = [scipy.stats.norm(mean, math.exp(log)).logpdf(actions) for mean, log in zip(means, (-0.3, 0.1), strict=True)]
    active = np.asarray(batch.active)
    np.testing.assert_allclose(plain, (weights * logs[0])[active].sum() / 2)
    ratio = np.exp(logs[0] - logs[1])
    terms = np.minimum(ratio * weights, np.clip(ratio, 0.9, 1.1) * weights)
    assert (np.abs(ratio[active] - 1) > 0.1).any()
    np.testing.assert_allclose(clipped, terms[active].sum() / 2)
    # Within half of the way from the middle, -0.25, to the bounds: -0.625 to 0.125.
    beyond = [mean - np.clip(mean, -0.625, 0.125) for mean in means]
    entropies = 2 * scipy.stats.norm().entropy() - 0.3 + 0.1
    np.testing.assert_allclose(added, 0.3 * entropies - 2 * sum((b[active] ** 2).sum() / 2 for b in beyond))
    falling = np.array([1.0, 0.5, 0.25])[:, None] if config.discounted else 1.0
    np.testing.assert_allclose(gains, falling * np.array([[1 + 1.5 + 1, 2], [3 + 2, 0], [4, 0]]))


def test_each_side_of_the_policy_gradient_has_a_rate_of_its_own():
    side = GaussianPolicy((jnp.zeros((1, 1)),), (), jnp.zeros(1))
    config = PolicyGradientConfig(
        learning_rate=0.4, opponent_rate=0.1, final_rate=0.5, gradient_norm=None, method="ppo", epochs=2
    )
    rule, players = optimizer(config, 2), Players(side, side)

    @jax.jit
    def changes():
        memory, found = begin(players, config).memory, []
        for _ in range(5):
            change, memory = rule.update(jax.tree.map(jnp.ones_like, players), memory, players)
            found.append(jnp.stack([change.player.log_deviation[0], change.opponent.log_deviation[0]]))
        return jnp.stack(found)

    shares = np.array([1, 0.875, 0.75, 0.625, 0.5])  # Two steps of two epochs.
    np.testing.assert_allclose(changes(), -shares[:, None] * [0.4, 0.1], rtol=1e-5)
