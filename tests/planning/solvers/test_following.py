"""Plans that are exact in the mean over states, beside exact ones."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame, SuccessorKernel
from robustirl.planning import MeanAccuracy, Temperatures, solve, two_player_backup
from robustirl.planning.problem import planning_problem
from robustirl.planning.solvers.base import NEWTON_MAX_STEPS
from robustirl.planning.solvers.following import follow

STATES = 40
RNG = np.random.default_rng(0)
PLACES = RNG.integers(STATES, size=(STATES, 2, 2))
GAME = MarkovGame(MDP(SuccessorKernel(PLACES, np.full((STATES, 2, 2), 0.5)), discount=0.9), 0.8)
REWARD = RNG.normal(size=STATES)


@eqx.filter_jit
def followed(problem, measure, residual, most):
    return follow(problem, MeanAccuracy(measure, residual, residual), most)


def plan(measure, residual, most=NEWTON_MAX_STEPS):
    problem = planning_problem(GAME, REWARD, Temperatures(), np.zeros(STATES), 1e-3)
    return followed(problem, jnp.asarray(measure), jnp.asarray(residual), jnp.asarray(most))


@pytest.mark.parametrize("residual", [0.1, 1e-4])
def test_the_mean_residual_is_as_small_as_asked_for(residual):
    measure = RNG.dirichlet(np.ones(STATES))
    found = plan(measure, residual)
    backup = two_player_backup(GAME, jnp.asarray(REWARD), jnp.asarray(found.value))
    left = np.abs(np.asarray(backup.value) - np.asarray(found.value))
    assert measure @ left <= residual * 1.01 + 1e-6
    assert bool(found.verdict.converged)
    assert int(found.verdict.iterations) <= 3  # Steps; as many sweeps as value iteration takes would be forty.
    assert float(found.verdict.residual) == pytest.approx(left.max(), abs=1e-5)
    np.testing.assert_allclose(found.player, backup.player, atol=1e-5)
    np.testing.assert_allclose(found.opponent, backup.opponent, atol=1e-5)


def test_what_steps_do_not_reach_sweeps_do():
    found = plan(np.full(STATES, 1 / STATES), 1e-4, most=0)
    exact = solve(GAME, REWARD)
    assert bool(found.verdict.converged)
    assert np.abs(np.asarray(found.value) - np.asarray(exact.value)).max() <= 1.1e-3 * np.abs(exact.value).max()
