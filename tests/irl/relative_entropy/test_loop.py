"""The loop of relative-entropy IRL, part by part, by hand."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import Players, PolicyGradientConfig, collect
from robustirl.irl.relative_entropy.config import RelativeEntropyConfig
from robustirl.irl.relative_entropy.loop import (
    Problem,
    _improve_reward,
    _one_round,
    begin,
    importance_log_weights,
    round_keys,
)
from tests.control.worlds import Line, fast_key
from tests.irl.relative_entropy.test_fit import leaning
from tests.irl.test_optimizers import adam

GAME = PolicyGradientConfig(steps=1, episodes=64, horizon=20)
LINE = Line([0.0] * 5, slip=0.0)
ALWAYS_RIGHT = jnp.array([0, 0, 1, 1, 1]) / 3


def problem(expert=ALWAYS_RIGHT, alpha=0.8, tolerance=-1.0, start=None, **options):
    config = RelativeEntropyConfig(**{"rounds": 4, "game": GAME, **options})
    start = Players(leaning(0.3), leaning(-0.3)) if start is None else start
    return Problem(LINE, expert, jnp.asarray(alpha), start, jnp.asarray(tolerance), config)


@pytest.mark.parametrize("theta", ["free", "unit"])
def test_the_reward_is_improved_by_adam_up_the_gradient(theta):
    rng = np.random.default_rng(0)
    features, logs, expert = rng.normal(size=(7, 5)), rng.normal(size=7), rng.normal(size=5)
    given = problem(jnp.asarray(expert), theta=theta, ridge=0.3, reward_steps=3, reward_rate=0.2, reward_final_rate=0.5)
    found, _, effective = _improve_reward(given, begin(given), jnp.asarray(features), jnp.asarray(logs))
    here, gradients, weights = np.zeros(5), [], []
    for step in range(3):
        chances = np.exp(logs + features @ here)
        chances /= chances.sum()
        weights.append(1 / (chances**2).sum())
        gradients.append(0.3 * here - (expert - chances @ features))
        rate = 0.2 * (1 - 0.5 * step / 12)  # From all of it to half, over four rounds of three steps.
        here = here + list(adam(gradients, rate, 0.9, 0.999, 1e-8))[-1]
        if theta == "unit":
            here = here / np.linalg.norm(here)
    np.testing.assert_allclose(found, here, rtol=1e-6)  # Optax has its rates in float32.
    np.testing.assert_allclose(effective, min(weights), rtol=1e-6)


def test_importance_is_the_first_mixtures_density_over_the_present_ones():
    now, base = Players(leaning(0.3), leaning(-0.2)), Players(leaning(-0.1), leaning(0.1))
    batch = collect(LINE, now.player, now.opponent, 0.7, episodes=5, horizon=6, key=fast_key(0))
    logs = np.zeros(5)
    for episode, length in enumerate(np.asarray(batch.lengths)):
        for t in range(length):
            phi, action = batch.features[t, episode], batch.executed[t, episode]

            def density(sides, phi=phi, action=action):
                ours, theirs = (float(jnp.exp(s.log_density(phi, action))) for s in (sides.player, sides.opponent))
                return 0.7 * ours + 0.3 * theirs

            logs[episode] += np.log(density(base) / density(now))
    found = importance_log_weights(batch, now, base, jnp.asarray(0.7), None)
    np.testing.assert_allclose(found, logs - logs.max(), atol=1e-12)
    cut = float(-np.sort(np.asarray(found))[1] / 2)
    np.testing.assert_allclose(importance_log_weights(batch, now, base, jnp.asarray(0.7), cut), np.maximum(found, -cut))


@functools.cache
def rising():
    """Against an opponent who goes left for sure, from a player who goes right; it may act in full at half time."""
    start = Players(leaning(50.0), leaning(-50.0))
    given = problem(alpha=1e-9, tolerance=10.0, start=start, opponent_delay=0.5, reward_steps=1)
    state = begin(given)
    run = eqx.filter_jit(_one_round)
    moved = eqx.tree_at(lambda s: s.ascent.players, state, Players(leaning(0.0), leaning(0.2)))
    rounds = [run(given, at, jnp.asarray(index), fast_key(index)) for index, at in enumerate([state] * 4 + [moved])]
    return state, rounds[:4], rounds[4]


def test_the_opponents_chance_rises_over_its_share_of_the_rounds():
    gaps = [float(history.feature_gap) for _, (history) in rising()[1]]
    # Alone the player matches the expert, and the opponent alone is on the other side of the line.
    assert 0.2 < gaps[0] < 1.1
    np.testing.assert_allclose(gaps[1:], 4 / 3, rtol=1e-6)


def test_a_match_counts_once_the_opponent_has_risen_and_then_nothing_moves():
    before, rounds, _ = rising()
    assert [bool(after.matched) for after, _ in rounds] == [False, True, True, True]
    assert all(bool(after.valid) for after, _ in rounds)
    assert np.abs(rounds[0][0].theta).max() > 0
    assert not rounds[1][0].theta.any()
    moved = [np.asarray(after.ascent.players.player.log_deviation) for after, _ in rounds]
    np.testing.assert_array_equal(moved[1], before.ascent.players.player.log_deviation)


def test_a_round_is_counted_and_the_first_gap_kept():
    _, rounds, _ = rising()
    after, history = rounds[0]
    assert int(after.rounds) == 1
    assert float(after.first_gap) == float(history.feature_gap)
    assert float(after.effective) == float(history.effective)
    assert float(history.finished) == 1.0


def test_without_importance_all_trajectories_weigh_the_same():
    # From θ = 0, whoever sampled them.
    *_, (_, history) = rising()
    np.testing.assert_allclose(history.effective, GAME.episodes)


def test_every_round_has_a_key_of_its_own():
    keys, check = round_keys(dataclasses.replace(RelativeEntropyConfig(), rounds=5), jax.random.key(0))
    data = {tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in (*keys, check)}
    assert len(data) == 6
