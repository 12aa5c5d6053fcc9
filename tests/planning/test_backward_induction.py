"""Backward induction: the recursion, its limit, and what it refuses."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures
from robustirl.planning.value_iteration import backward_induction
from tests.planners import value_iteration
from tests.strategies import games

GAME = MarkovGame(MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9), alpha=0.8)
REWARD = jnp.array([1.0, -1.0])

induct = eqx.filter_jit(backward_induction)


@given(games(shapes=((5, 4),)), st.booleans())
def test_backward_induction_is_the_explicit_recursion(drawn, terminal):
    game, reward = drawn
    mdp, alpha = game.mdp, float(game.alpha)
    last = np.linspace(-1, 1, mdp.num_states) if terminal else np.zeros(mdp.num_states)
    solution = induct(game, reward, 4, terminal_value=last if terminal else None)
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    assert solution.value.shape[0] == 5
    np.testing.assert_array_equal(solution.value[4], last)
    value = last
    for stage in reversed(range(4)):
        e = float(mdp.discount) * kernel @ value
        weights = np.where(mask, np.exp(alpha * e), 0)
        value = reward + np.log(weights.sum(-1)) + (1 - alpha) * np.where(mask, e, np.inf).min(-1)
        np.testing.assert_allclose(solution.value[stage], value, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(solution.player[stage], weights / weights.sum(-1, keepdims=True), atol=1e-11)
        worst = np.sum(np.asarray(solution.opponent[stage]) * np.where(mask, e, 0), -1)
        np.testing.assert_allclose(worst, np.where(mask, e, np.inf).min(-1), atol=1e-9)


def test_backward_induction_tends_to_value_iteration():
    stationary = value_iteration(GAME, REWARD).value
    errors = [np.abs(backward_induction(GAME, REWARD, h).value[0] - stationary).max() for h in (10, 50, 300)]
    assert errors[0] > 1 > errors[1] > 1e-3
    assert errors[1] <= 0.9**40 * errors[0] * (1 + 1e-9)
    assert errors[2] < 1e-9


def test_backward_induction_takes_temperatures():
    hard = backward_induction(GAME, REWARD, 3, temperatures=Temperatures(0.0, 0.0))
    soft = backward_induction(GAME, REWARD, 3)
    assert (hard.value[0] < soft.value[0] - 0.1).any()
    assert set(np.unique(hard.player)) <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize("horizon", [0, -3])
def test_a_horizon_without_decisions_is_refused(horizon, refused):
    with refused("horizon", str(horizon)):
        backward_induction(GAME, REWARD, horizon)


def test_a_bad_terminal_value_is_refused_by_its_own_name(refused):
    with refused("terminal value"):
        backward_induction(GAME, REWARD, 2, terminal_value=[0.0])
