"""Plans of learning steps that are as exact as the gap needs, and exact in the end."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl import envs
from robustirl.irl import ADAM, LBFGS, fit
from robustirl.irl.mce import accuracy
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.mdp import MarkovGame
from robustirl.planning import Temperatures, solve, state_occupancy

SIDE = 15


ENV = envs.GridWorld("grid", rewards=np.linspace(-1, 0, SIDE**2).reshape(SIDE, SIDE))


def problem_of(optimizer, planner_tolerance=None):
    settings = Settings(optimizer, 10, None, False, Temperatures(), planner_tolerance)
    rho = np.full(SIDE**2, SIDE**-2)
    return prepare([ENV.mdp(0.0, "uniform-action")], [rho], [0.9], None, None, settings).problems[0]


def test_only_plain_gradient_methods_in_large_worlds_plan_roughly(monkeypatch):
    assert not accuracy.plans_roughly(problem_of(ADAM))
    monkeypatch.setattr(accuracy, "LEAST_STATES", 200)
    assert accuracy.plans_roughly(problem_of(ADAM))
    assert accuracy.plans_roughly(problem_of(optax.sgd(0.1, momentum=0.5)))
    assert not accuracy.plans_roughly(problem_of(LBFGS))
    assert not accuracy.plans_roughly(problem_of(ADAM, planner_tolerance=1e-8))


@pytest.mark.slow
def test_what_is_returned_is_planned_exactly(monkeypatch):
    monkeypatch.setattr(accuracy, "LEAST_STATES", 200)
    world, expert = ENV.mdp(0.0, "uniform-action"), ENV.mdp(0.1, "uniform-action")
    rho = np.asarray(state_occupancy(expert, solve(expert, ENV.reward).player))
    found = fit(world, rho, alpha=0.9, steps=30)
    again = solve(MarkovGame(world, 0.9), found.reward)
    np.testing.assert_allclose(found.value, again.value, atol=1e-7)
    np.testing.assert_allclose(found.occupancy, state_occupancy(world, again.mixture), atol=1e-8)
    gap = float(np.abs(np.asarray(found.occupancy) - rho).sum())
    assert float(found.verdict.occupancy_gap) == pytest.approx(gap, abs=1e-12)
    assert found.history.occupancy_gap[int(found.verdict.best_step)] == pytest.approx(gap, abs=1e-12)
    assert float(found.verdict.error_bound) < 1e-6
    assert gap < 0.5 * found.history.occupancy_gap[0]


def test_the_accuracy_follows_the_gap_and_is_full_close_to_the_goal():
    rule = accuracy.StoppingRule(*(jnp.asarray(x) for x in (1e-10, 0.9, 1.0)))
    value, visits = jnp.full(3, 20.0), jnp.array([0.75, 0.25, 0.0])
    near = Neighbor(value, visits, None, jnp.asarray(0.0))
    for gap, far in ((np.inf, 1.0), (0.5, 0.5), (2e-3, 0.0)):
        here, mean = accuracy.loosened(rule, near, jnp.asarray(gap), jnp.asarray(1e-3))
        assert float(here.tolerance) == pytest.approx(max(0.1 * far / (0.1 * 20), 1e-10), rel=1e-5)
        assert float(mean.residual) == pytest.approx(max(0.003 * far, 0.1 * 20 * 1e-10), rel=1e-5)
        assert float(mean.occupancy) == pytest.approx(max(0.2 * far, 1e-10), rel=1e-5)
    # Nine tenths where the player goes, a tenth everywhere.
    np.testing.assert_allclose(mean.measure, 0.9 * visits + 0.1 / 3, rtol=1e-6)
