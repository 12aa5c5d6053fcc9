"""Experts: optimal, soft-optimal, robust."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures, expert_policy, policy_value
from tests.planners import newton, value_iteration
from tests.strategies import games, tasks

SQUARE = MDP(  # Corners 0 to 3 of a square, two moves each; corner 3, across from 0, absorbs.
    np.eye(4)[[[1, 2], [0, 3], [0, 3], [3, 3]]], discount=0.9
)


@given(tasks(shapes=((4, 2),), discounts=(0.0, 0.5, 0.9, 0.99)))
def test_the_optimal_expert_is_best_among_all_certain_policies(task):
    mdp, _, reward = task
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    best = np.full(mdp.num_states, -np.inf)
    for choice in itertools.product(*(np.flatnonzero(row) for row in mask)):
        chain = kernel[np.arange(mdp.num_states), list(choice)]
        best = np.maximum(best, np.linalg.solve(np.eye(mdp.num_states) - float(mdp.discount) * chain, reward))
    expert = expert_policy(mdp, reward, kind="optimal")
    scale = max(1, np.abs(best).max())
    np.testing.assert_allclose(policy_value(mdp, expert, reward), best, atol=1e-9 * scale)


def test_the_optimal_expert_splits_ties_evenly():
    assert expert_policy(SQUARE, [-1.0, -1.0, -1.0, 0.0], kind="optimal").tolist() == [
        [0.5, 0.5],
        [0.0, 1.0],
        [0.0, 1.0],
        [0.5, 0.5],
    ]


def test_the_optimal_expert_does_not_split_what_is_merely_close():
    expert = expert_policy(SQUARE, [-1.0, -1.0, -1.0 - 1e-6, 0.0], kind="optimal")
    assert expert[0].tolist() == [1.0, 0.0]


@given(tasks(shapes=((5, 4),)))
def test_the_soft_expert_acts_in_proportion_to_the_exponential_of_its_values(task):
    mdp, _, reward = task
    value = value_iteration(MarkovGame(mdp), reward).value
    q = np.where(mdp.mask, float(mdp.discount) * np.asarray(mdp.kernel.expect(value)), -np.inf)
    weights = np.exp(q - q.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(expert_policy(mdp, reward, temperature=1.0), expected, atol=1e-6)


@given(games(shapes=((5, 4),)), st.sampled_from(["soft", "optimal"]))
def test_a_robust_expert_is_the_player_of_its_own_game(drawn, kind):
    game, reward = drawn
    temperatures = Temperatures(player=1.0 if kind == "soft" else 0.0)
    player = newton(game, reward, temperatures=temperatures).player
    expert = expert_policy(game.mdp, reward, kind=kind, alpha=float(game.alpha))
    np.testing.assert_array_equal(expert, player)


def test_a_robust_expert_keeps_away_from_what_an_opponent_could_do():
    # State 0 chooses between a short way along a cliff (1) and a longer one (2, 3); the cliff's foot is 5, the goal 4.
    kernel = np.eye(6)[[[1, 2], [4, 5], [3, 3], [4, 4], [4, 4], [4, 4]]]
    mdp, reward = MDP(kernel, discount=0.9), [-1.0, -1.0, -1.0, -1.0, 0.0, -100.0]
    assert expert_policy(mdp, reward, kind="optimal")[0].tolist() == [1.0, 0.0]
    assert expert_policy(mdp, reward, kind="optimal", alpha=0.8)[0].tolist() == [0.0, 1.0]


def test_an_unknown_kind_is_refused(refused):
    unchecked = inspect.unwrap(expert_policy)  # The type checks that only tests run under would come first.
    with refused("'greedy'", "soft, optimal"):
        unchecked(SQUARE, np.zeros(4), kind="greedy")


@pytest.mark.parametrize("alpha", [0.0, 1.5, float("nan")])
def test_a_bad_alpha_is_refused(alpha, refused):
    with refused("alpha", repr(alpha)):
        expert_policy(SQUARE, np.zeros(4), alpha=alpha)


def test_a_tolerance_out_of_reach_is_refused(refused):
    with refused("tolerance", "1e-20"):
        expert_policy(SQUARE, np.zeros(4), tolerance=1e-20)


def test_the_temperature_says_how_soft_the_expert_is(refused):
    # One step to choose between 0 and 1: the odds are exp(1 / temperature), and the future is the same.
    world = MDP([[[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.5)
    pay = [[0.0, 1.0], [0.0, 0.0]]
    for temperature in (0.2, 1.0, 5.0):
        found = np.asarray(expert_policy(world, pay, temperature=temperature))[0]
        np.testing.assert_allclose(found[1] / found[0], np.exp(1 / temperature), rtol=1e-9)
    assert np.asarray(expert_policy(world, pay, temperature=0))[0].tolist() == [0.0, 1.0]
    soft = expert_policy(world, pay, kind="soft")
    np.testing.assert_array_equal(soft, expert_policy(world, pay, temperature=1.0))
    for temperature in (-1.0, float("nan")):
        with refused("the temperature is", repr(temperature)):
            inspect.unwrap(expert_policy)(world, pay, temperature=temperature)
    with refused("'optimal' at temperature 2.0"):
        expert_policy(world, pay, temperature=2.0, kind="optimal")


def test_a_soft_expert_by_default_is_told_where_rewards_are_small():
    with pytest.warns(
        UserWarning, match="soft at temperature 1, but its rewards differ by 1 at most; give temperature=0"
    ):
        expert_policy(SQUARE, [0.0, 0.0, 0.0, 1.0])
    expert_policy(SQUARE, [-2.0, 0.0, 0.0, 0.0])  # Differences above the temperature: nothing is said.
