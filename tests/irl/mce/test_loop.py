"""The loop from the inside: what it writes down, how little the planner has to do, and an end at the very start."""

import functools

import jax.numpy as jnp
import numpy as np
import optax

from robustirl.irl import Status, fit
from robustirl.irl.mce.programs import advance_compiled, begin_compiled
from robustirl.mdp import MarkovGame
from robustirl.planning import Temperatures, state_occupancy
from tests.irl.mce.test_fit import random_world
from tests.planners import newton

STEPS = 6
SLOW = optax.sgd(1e-6)  # So small a step that a prediction of first order is nearly exact.
WORLD = random_world(3)
RHO = np.random.default_rng(5).dirichlet(np.ones(6))
THETA = np.random.default_rng(6).normal(size=6)


@functools.cache
def found():
    return fit(WORLD, RHO, alpha=0.85, steps=STEPS, optimizer=SLOW, initial_parameters=THETA)


def test_the_dual_is_that_of_the_game():
    result, first = found(), newton(MarkovGame(WORLD, 0.85), THETA)
    for reward, value, written in ((THETA, first.value, 0), (result.reward, result.value, -1)):
        dual = 0.1 * WORLD.initial @ value - RHO @ reward
        np.testing.assert_allclose(result.history.dual[written], dual, rtol=1e-9)
    gap = np.abs(state_occupancy(WORLD, first.mixture) - RHO).sum()
    np.testing.assert_allclose(result.history.occupancy_gap[0], gap, rtol=1e-8)


def test_the_steps_are_down_the_dual():
    gradient = state_occupancy(WORLD, newton(MarkovGame(WORLD, 0.85), THETA).mixture) - RHO
    np.testing.assert_allclose(found().reward - THETA, -STEPS * 1e-6 * gradient, rtol=1e-4, atol=1e-11)


def test_from_a_prediction_of_first_order_the_planner_has_little_left_to_do():
    assert int(found().history.planner_steps[0]) >= 3
    assert found().history.planner_steps[1:].tolist() == [2] * STEPS


def test_the_largest_error_of_any_plan_is_kept():
    assert 0 < float(found().verdict.error_bound) <= 1e-8


def test_a_start_that_cannot_be_planned_for_is_where_the_fit_ends():
    wild = fit(WORLD, RHO, alpha=0.85, steps=STEPS, optimizer=SLOW, initial_parameters=np.full(6, 1.7e308), throw=False)
    assert wild.verdict.status == Status.FAILED
    assert int(wild.verdict.steps) == 0
    assert wild.history.dual.shape == (1,)
    assert jnp.array_equal(wild.parameters, np.full(6, 1.7e308))


def test_one_program_serves_all_temperatures_that_are_not_zero():
    # Rewards and temperature in another unit are the same game: values grow by the unit, policies stay.
    first = found()
    before = [len(program) for program in (begin_compiled, advance_compiled)]
    options = {"alpha": 0.85, "steps": STEPS, "optimizer": SLOW, "initial_parameters": 2 * THETA}
    doubled = fit(WORLD, RHO, temperatures=Temperatures(2.0, 0.0), **options)
    assert [len(program) for program in (begin_compiled, advance_compiled)] == before
    np.testing.assert_allclose(doubled.value, 2 * first.value, rtol=1e-5)
    np.testing.assert_allclose(doubled.player, first.player, atol=1e-5)


def test_plans_must_be_far_more_exact_than_the_temperature():
    # An error of 1e-3 in the value is nothing beside a temperature of one, and all beside one of a hundredth.
    options = {"alpha": 0.85, "steps": STEPS, "optimizer": SLOW, "initial_parameters": THETA, "throw": False}
    cool = fit(WORLD, RHO, temperatures=Temperatures(0.01, 0.0), planner_tolerance=1e-3, **options)
    assert 1e-5 < float(cool.verdict.error_bound) < 0.1
    assert cool.verdict.status == Status.FAILED
