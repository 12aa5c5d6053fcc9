"""The solvers of the first version by their old names: the same answers, and a warning that says the new way."""

import numpy as np
import pytest

from robustirl import planning
from robustirl.mdp import MDP, MarkovGame, SuccessorKernel
from robustirl.planning import Newton, NewtonKrylov, NewtonSparse, ValueIteration, solve

WORLD = MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9)
GAME, REWARD = MarkovGame(WORLD, 0.8), [1.0, -1.0]


@pytest.mark.parametrize(
    ("old", "solver"),
    [("value_iteration", ValueIteration()), ("newton", Newton()), ("newton_sparse", NewtonSparse())],
)
def test_old_functions_are_the_solvers(old, solver):
    new = rf"planning\.solve\(game, reward, solver=planning\.{type(solver).__name__}\(\)"
    with pytest.warns(DeprecationWarning, match=rf"planning\.{old}\(game, reward, \.\.\.\) is now {new}"):
        found = getattr(planning, old)(GAME, REWARD, tolerance=1e-9)
    np.testing.assert_array_equal(found.value, solve(GAME, REWARD, solver=solver, tolerance=1e-9).value)


@pytest.mark.parametrize(
    ("old", "solver"),
    [("value-iteration", ValueIteration()), ("newton-krylov", NewtonKrylov()), ("auto", None)],
)
def test_old_methods_are_the_solvers(old, solver):
    with pytest.warns(DeprecationWarning, match=f"method='{old}'"):
        found = solve(GAME, REWARD, method=old)
    np.testing.assert_array_equal(found.value, solve(GAME, REWARD, solver=solver).value)


def test_the_old_function_still_avoids_matrices_in_large_worlds():
    large = MDP(SuccessorKernel(np.zeros((201, 1, 1), int), np.ones((201, 1, 1))), discount=0.5)
    with pytest.warns(DeprecationWarning, match=r"solver=planning\.NewtonKrylov\(\)"):
        assert planning.newton(large, np.zeros(201)).verdict.converged


def test_an_unknown_method_is_refused_and_a_known_choice_has_its_old_name(refused):
    with refused("no method 'magic'", "planning.Newton()"):
        solve(WORLD, REWARD, method="magic")
    with pytest.warns(DeprecationWarning, match=r"choose_solver\(game\)"):
        assert planning.choose_method(GAME) == "newton"
    with pytest.warns(DeprecationWarning, match=r"METHODS"):
        assert "auto" in getattr(planning, "METHODS")  # noqa: B009
