"""Errors about what was given end at the call that gave it."""

import traceback

import pytest

import robustirl
from robustirl._runtime import tracebacks
from robustirl.errors import InvalidInputError

WORLD = robustirl.envs.ThreeState().mdp()


def frames(act, monkeypatch):
    """Return the library's frames in the traceback of a refusal, as a user sees it."""
    monkeypatch.setattr(tracebacks, "keep_frames", False)
    with pytest.raises(InvalidInputError) as caught:
        act()
    assert caught.value.__suppress_context__
    found = traceback.extract_tb(caught.value.__traceback__)
    return [frame for frame in found if "robustirl" in frame.filename and "tests" not in frame.filename]


@pytest.mark.parametrize(
    "act",
    [
        lambda: robustirl.fit(WORLD, [0.1, 0.8, 0.1], alpha=7),
        lambda: robustirl.RobustIRL(alpha=7).fit(WORLD, [[0, 1]]),
        lambda: robustirl.MDP([[[1.0]]], discount=2),
        lambda: robustirl.load("nowhere.csv"),
        lambda: robustirl.planning.solve(WORLD, [1.0]),
    ],
)
def test_a_bad_value_gives_a_traceback_of_a_few_lines(act, monkeypatch):
    assert len(frames(act, monkeypatch)) <= 2


def test_the_environment_keeps_all_frames(monkeypatch):
    monkeypatch.setattr(tracebacks, "keep_frames", False)
    monkeypatch.setenv("ROBUSTIRL_TRACEBACK", "1")
    with pytest.raises(InvalidInputError) as caught:
        robustirl.fit(WORLD, [0.1, 0.8, 0.1], alpha=7)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 5
