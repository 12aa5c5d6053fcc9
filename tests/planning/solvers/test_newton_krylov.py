"""Newton's method without matrices: its parts, how few steps it takes, and where it ends."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures, newton, solve
from robustirl.planning.columns import column_game
from robustirl.planning.solvers.newton_krylov import DOUBLING, SWEEPS, _look, _sweeps
from tests.planning.solvers.test_newton import GREEDY, restless_game


def alone(discount=0.99):
    """One state, one action, a reward of one: n sweeps from zero are worth (1 - γⁿ) / (1 - γ)."""
    return column_game(MarkovGame(MDP([[[1.0]]], discount=discount)), jnp.ones(1), Temperatures())


@pytest.mark.parametrize(
    ("waiting", "always", "count"),
    [
        (0, False, 0),
        (0, True, SWEEPS),
        (1, False, SWEEPS),
        (DOUBLING - 1, True, SWEEPS),
        (DOUBLING, False, 2 * SWEEPS),
        (2 * DOUBLING + 1, True, 4 * SWEEPS),
    ],
)
def test_sweeps_double_while_nothing_is_gained(waiting, always, count):
    found = _sweeps(alone(), jnp.zeros(1), jnp.asarray(waiting), always)
    np.testing.assert_allclose(found, [(1 - 0.99**count) / 0.01], rtol=1e-12)


def test_an_iterate_knows_when_the_residual_was_last_halved():
    # The residual of V is |1 + V/2 - V|.
    columns = alone(0.5)
    first = _look(columns, jnp.zeros(1), None)
    assert (float(first.residual), float(first.milestone), int(first.waiting), int(first.steps)) == (1.0, 1.0, 0, 0)
    second = _look(columns, jnp.array([0.5]), first)
    assert (float(second.residual), float(second.milestone), int(second.waiting), int(second.steps)) == (0.75, 1, 1, 1)
    assert (float(second.value[0]), float(second.best[0])) == (0.5, 0.0)
    third = _look(columns, jnp.array([1.0]), second)
    assert (float(third.residual), float(third.milestone), int(third.waiting), int(third.steps)) == (0.5, 0.5, 0, 2)
    assert float(third.best[0]) == 1.0
    np.testing.assert_allclose(third.chain.expect(jnp.ones(1)), [1.0])


@pytest.mark.parametrize("method", ["newton-krylov", "newton-sparse"])
def test_games_in_which_plain_steps_go_round_are_solved(method):
    game, reward = restless_game("even")
    found = solve(game, reward, method=method, temperatures=GREEDY, initial_value=np.zeros(5))
    exact = newton(game, reward, temperatures=GREEDY, tolerance=1e-12)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-9)
    assert int(found.verdict.iterations) <= 40  # Of value iteration's two hundred.
    again = solve(game, reward, method=method, temperatures=GREEDY, initial_value=found.value)
    assert int(again.verdict.iterations) == 0
    np.testing.assert_array_equal(again.value, found.value)
