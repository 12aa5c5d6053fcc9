"""A solver with a bar finds the same answer."""

import math

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.planning import Newton, ValueIteration, solve
from robustirl.planning.progress import _share

WORLD = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9)


@pytest.mark.parametrize("solver", [ValueIteration(), Newton()])
def test_the_answer_is_that_without_a_bar(solver, capsys):
    plain = solve(WORLD, [0.0, 1.0], solver=solver)
    shown = solve(WORLD, [0.0, 1.0], solver=solver, progress=True)
    np.testing.assert_allclose(shown.value, plain.value, rtol=1e-9)
    assert shown.verdict.converged
    assert abs(int(shown.verdict.iterations) - int(plain.verdict.iterations)) <= 1
    assert solver.description in capsys.readouterr().err


def test_a_limit_on_sweeps_holds_over_all_stretches():
    found = solve(WORLD, [0.0, 1.0], solver=ValueIteration(), max_steps=7, progress=True, throw=False)
    assert found.verdict.iterations == 7
    np.testing.assert_allclose(found.value[1], (1 - 0.9**7) / 0.1, rtol=1e-12)


def test_the_bar_shows_the_share_of_digits():
    assert math.isclose(_share(1.0, 1e-3, 1e-9), 1 / 3)
    assert _share(1.0, 1e-12, 1e-9) == 1.0
    assert _share(1.0, math.nan, 1e-9) == _share(1.0, 1.0, 1e-9) == _share(1.0, 2.0, 1e-9) == 0.0
