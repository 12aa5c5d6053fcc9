"""Newton's method without matrices: its parts, how few steps it takes, and where it ends."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import NewtonKrylov, NewtonSparse, Temperatures, solve
from robustirl.planning.columns import column_game
from robustirl.planning.iterates import Progress
from robustirl.planning.solvers.newton_krylov import look
from robustirl.planning.sweeping import plain_sweeper
from tests.planners import newton
from tests.planning.solvers.test_newton import GREEDY, restless_game


def alone(discount=0.99):
    """One state, one action, a reward of one: n sweeps from zero are worth (1 - γⁿ) / (1 - γ)."""
    return column_game(MarkovGame(MDP([[[1.0]]], discount=discount)), jnp.ones(1), Temperatures())


@pytest.mark.parametrize(
    ("waiting", "always", "count"),
    [(0, False, 0), (0, True, 10), (1, False, 10), (3, True, 10), (4, False, 20), (9, True, 40)],
)
def test_sweeps_double_while_nothing_is_gained(waiting, always, count):
    sweep = plain_sweeper(alone())
    found = NewtonKrylov(sweeps=10, doubling=4)._sweep(sweep, jnp.zeros(1), jnp.asarray(waiting), always)
    np.testing.assert_allclose(found, [(1 - 0.99**count) / 0.01], rtol=1e-12)


def test_progress_knows_when_the_residual_was_last_halved():
    # The residual of V is |1 + V/2 - V|.
    columns = alone(0.5)
    first = look(columns, jnp.zeros(1), jnp.asarray(0))
    progress = Progress.begin(first)
    assert (float(first.residual), float(progress.milestone), int(progress.waiting)) == (1.0, 1.0, 0)
    second = look(columns, jnp.array([0.5]), jnp.asarray(1))
    progress = progress.after(second)
    assert (float(second.residual), float(progress.milestone), int(progress.waiting)) == (0.75, 1, 1)
    assert (float(progress.best[0]), float(progress.better_of(second)[0])) == (0.0, 0.5)
    third = look(columns, jnp.array([1.0]), jnp.asarray(2))
    progress = progress.after(third)
    assert (float(third.residual), float(progress.milestone), int(progress.waiting)) == (0.5, 0.5, 0)
    assert float(progress.best[0]) == 1.0
    assert float(progress.better_of(first)[0]) == 1.0
    assert int(third.steps) == 2
    np.testing.assert_allclose(third.attained.expect(jnp.ones(1)), [1.0])
    assert [float(one.fault[0]) for one in (first, second, third)] == [1.0, 0.75, 0.5]
    assert int(third.counted_as(jnp.asarray(7)).steps) == 7


@pytest.mark.parametrize("solver", [NewtonKrylov(), NewtonSparse()])
def test_games_in_which_plain_steps_go_round_are_solved(solver):
    game, reward = restless_game("even")
    found = solve(game, reward, solver=solver, temperatures=GREEDY, initial_value=np.zeros(5))
    exact = newton(game, reward, temperatures=GREEDY, tolerance=1e-12)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-9)
    assert int(found.verdict.iterations) <= 40  # Of value iteration's two hundred.
    again = solve(game, reward, solver=solver, temperatures=GREEDY, initial_value=found.value)
    assert int(again.verdict.iterations) == 0
    np.testing.assert_array_equal(again.value, found.value)


def test_the_approach_ends_where_float32_has_no_more_to_give():
    # V* is 100, so that a residual of 1e-5 · 100 will do, and one step from nothing is within that.
    value, steps = NewtonKrylov(sweeps=1).approach(alone().lowered(), jnp.zeros(1, jnp.float32), 500)
    assert value.dtype == jnp.float32
    np.testing.assert_allclose(value, [100.0], rtol=1e-4)
    assert int(steps) == 1
