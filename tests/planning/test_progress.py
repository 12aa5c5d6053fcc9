"""A solver with a bar finds the same answer."""

import contextlib
import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.planning import Newton, ValueIteration, progress, solve
from robustirl.planning.progress import _share, run_with_progress

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


class _Verdict(NamedTuple):
    converged: bool
    iterations: int
    residual: float


class _Solution(NamedTuple):
    value: int
    verdict: _Verdict


class _Problem(NamedTuple):
    start: int
    rule: Any


class _Scripted:
    """Takes the sweeps that it is asked for, each of which leaves half of the residual, up to a most."""

    description = "scripted sweeps"

    def __init__(self, most=1000, converged_at=1000):
        self.most, self.converged_at, self.asked = most, converged_at, []

    def run(self, problem, steps):
        self.asked.append(steps)
        taken = min(steps, self.most - problem.start)
        value = problem.start + taken
        return _Solution(value, _Verdict(value >= self.converged_at, taken, 0.5**value))


@pytest.fixture
def run(monkeypatch):
    """Run a scripted solver with a clock that is given, and return what it found and what the bar was told."""

    def start(solver, clock, max_steps=None):
        told = []

        @contextlib.contextmanager
        def bar(title, whole):
            told.append((title, whole))
            yield lambda share, text: told.append((share, text))

        times = iter(clock)
        monkeypatch.setattr(progress, "ValueIteration", _Scripted)
        monkeypatch.setattr(progress, "most_sweeps", lambda *_: 20)
        monkeypatch.setattr(progress, "progress_bar", bar)
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))
        rule = SimpleNamespace(tolerance=2**-20, scale=lambda _: 2.0, discount=0.5)  # A last residual of 2^-20.
        return run_with_progress(solver, 7, _Problem(0, rule), max_steps), told

    return start


def test_stretches_grow_and_shrink_with_the_time_they_take(run):
    solver = _Scripted()
    # A sweep in 0.1 s, so that four are next; these in no time, so that all that are left of 21 are next.
    found, told = run(solver, [0.0, 0.1, 1.0, 1.0, 2.0, 3.0])
    assert solver.asked == [1, 1, 4, 15]
    assert (found.value, int(found.verdict.iterations)) == (21, 21)
    assert told[0] == ("scripted sweeps, 7 states", 1.0)
    # Digits of the way from 1/2 to 2^-20, which are nineteen halvings.
    assert [share for share, _ in told[1:]] == pytest.approx([1 / 19, 5 / 19, 1.0])
    assert [text for _, text in told[1:]] == [
        "2 sweeps, residual 0.25",
        "6 sweeps, residual 0.016",
        "21 sweeps, residual 4.8e-07",
    ]
    solver = _Scripted()
    run(solver, [0.0, 1e-9, 0.0, 20.0, 0.0, 4.0, 0.0, 1.0], max_steps=105)
    # At most a hundred times as many at once; these take 20 s, so that two are next; a tenth would be, but one is.
    assert solver.asked == [1, 1, 100, 2, 1]


def test_stretches_end_at_the_answer_or_where_no_sweep_gets_further(run):
    solver = _Scripted(converged_at=3)
    found, _ = run(solver, [0.0, 0.2, 0.0, 0.2])
    assert solver.asked == [1, 1, 2]
    assert found.verdict.converged
    stuck = _Scripted(most=2)
    found, told = run(stuck, [0.0, 0.2, 0.0, 0.2])
    assert stuck.asked == [1, 1, 2]
    assert (int(found.verdict.iterations), len(told)) == (2, 2)
