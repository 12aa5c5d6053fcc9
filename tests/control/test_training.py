"""Training: experts as good as they must be, one code for one and two players, and clear verdicts."""

import dataclasses
import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import EXPERT, Players, PolicyGradientConfig, evaluate, linear_policy, network_policy
from robustirl.control.training import initial_players, solve_game, train_expert
from robustirl.envs.gaussian_grid import GaussianGrid
from robustirl.errors import ConvergenceError
from tests.control.worlds import Line, fast_key

QUICK = PolicyGradientConfig(steps=60, episodes=64, horizon=100)
LINE = Line([0.0, -1.0, -1.0, -1.0, 5.0], slip=0.0)
LINE_QUICK = PolicyGradientConfig(steps=40, episodes=32, horizon=20)


@pytest.mark.slow
def test_a_short_training_finds_the_goal_of_the_grid():
    result = train_expert(GaussianGrid(0.0), config=QUICK, attempts=1, key=fast_key(0))
    found = evaluate(GaussianGrid(0.0), result.player, episodes=4, key=fast_key(1))
    assert result.valid
    assert found.goal_share == 1
    assert found.mean_return > -200
    np.testing.assert_array_less(found.lengths, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "least"), [(0.0, -173), (0.05, -184), (0.1, -200), (0.15, -222), (0.2, -270)])
def test_experts_are_as_good_as_they_must_be(noise, least):
    world = GaussianGrid(noise)
    expert = train_expert(world, key=fast_key(1))
    found = evaluate(world, expert.player, key=fast_key(2))
    assert found.goal_share == 1
    assert found.mean_return >= least


@pytest.mark.parametrize(
    "config",
    [
        LINE_QUICK,
        pytest.param(dataclasses.replace(LINE_QUICK, method="ppo", baseline="critic"), marks=pytest.mark.slow),
    ],
    ids=["likelihood-ratio", "ppo"],
)
def test_the_player_wins_a_line_alone_and_loses_it_to_a_stronger_opponent(config):
    alone = solve_game(LINE, 1.0, config=config, key=fast_key(0))
    game = solve_game(LINE, 0.3, config=config, key=fast_key(0))
    assert alone.history.mean_return[-1] > 3.5
    assert game.history.mean_return[-1] < 1.5
    assert game.valid
    # The opponent leads away from the right end where the player might reach it.
    assert game.opponent.mean(jnp.eye(5))[3, 0] < 0 < game.player.mean(jnp.eye(5))[3, 0]


def test_at_alpha_one_training_ignores_the_opponent_to_the_bit():
    results = []
    for mean in (-3.0, 3.0):
        opponent = eqx.tree_at(lambda p: p.weights, linear_policy(5, 1), (jnp.full((5, 1), mean, dtype=float),))
        start = Players(linear_policy(5, 1), opponent)
        results.append(solve_game(LINE, 1.0, start=start, config=LINE_QUICK, key=fast_key(0)))
    for one, two in zip(*(jax.tree.leaves((r.player, r.history)) for r in results), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
    assert results[0].opponent.weights[0][0, 0] == -3


@pytest.mark.slow
def test_a_network_is_trained_by_the_same_code():
    policy = network_policy(5, 1, hidden=(8,), key=fast_key(0))
    result = train_expert(LINE, start=policy, config=LINE_QUICK, attempts=1, key=fast_key(0))
    assert result.history.mean_return[-1] > 3.5
    assert result.player.weights[0].shape == (5, 8)


def test_rewards_that_are_not_numbers_end_training_with_the_last_sound_policy():
    world = Line([-1.0] * 5, slip=0.0, broken=True)
    with pytest.raises(ConvergenceError, match=r"not finite at policy step \d+.*throw=False"):
        solve_game(world, 1.0, config=LINE_QUICK, key=fast_key(0))
    kept = solve_game(world, 1.0, config=LINE_QUICK, key=fast_key(0), throw=False)
    assert not kept.valid
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((kept.player, kept.opponent)))


def test_a_world_that_never_ends_is_trained_in_to_its_horizon():
    result = solve_game(Line([-1.0] * 5, endless=True), 1.0, config=LINE_QUICK, key=fast_key(0))
    assert result.valid
    np.testing.assert_array_equal(result.history.finished, 0)
    np.testing.assert_array_equal(result.history.mean_return, -20)


@pytest.mark.slow
def test_deviations_stay_within_their_bounds():
    config = dataclasses.replace(LINE_QUICK, deviations=(0.4, 0.6))
    deviation = solve_game(LINE, 0.8, config=config, key=fast_key(0)).player.deviation
    assert 0.4 - 1e-9 <= deviation[0] <= 0.6 + 1e-9


def test_what_has_no_reward_is_refused(refused):
    for call in (evaluate, train_expert):
        with refused("Players", "RewardedWorld"):
            unwrapped: Any = inspect.unwrap(call)  # A run-time type checker would speak first.
            unwrapped(initial_players(LINE), *((linear_policy(5, 1),) if call is evaluate else ()), key=fast_key(0))


def test_attempts_and_the_experts_settings_are_checked(refused):
    with refused("attempts", "0"):
        train_expert(LINE, attempts=0, key=fast_key(0))
    assert EXPERT.baseline == "critic"
