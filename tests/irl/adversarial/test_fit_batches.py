"""Batches of imitation with stand-ins for the training: who is trained with whom, what is told, what is returned."""

import contextlib
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Recordings
from robustirl.irl import ImitationConfig
from robustirl.irl.adversarial import fit as module
from robustirl.irl.adversarial.fit import _Problem, _sample, closest, fit_imitation_many

WORLDS = ["a", "b", "c"]
SEEN = [Recordings.from_arrays([[[0.0], [float(place)]]]) for place in range(3)]
KEYS = [jax.random.key(3 + place) for place in range(3)]


@pytest.fixture
def training(monkeypatch):
    """The calls of the training, each a problem; it ends after the one that is named in `stop`."""
    told = SimpleNamespace(calls=[], checked=[], stop="")

    def run(problem, start, callbacks, *, more_to_come, before):
        assert (start, callbacks) == (("begun", ()), [print])
        told.calls.append((*problem.given, more_to_come, None if before is None else list(before)))
        return [f"fit {world}" for world in problem.given[0]], told.stop in problem.given[0]

    def problem(worlds, seen, alphas, config, horizon, keys):
        assert (config, horizon) == (ImitationConfig(), 7)
        return SimpleNamespace(given=(worlds, seen, alphas, keys), begin=lambda: "begun")

    monkeypatch.setattr(module, "_Problem", problem)
    monkeypatch.setattr(module, "run_with_callbacks", run)
    monkeypatch.setattr(module, "require_success", lambda fit, tolerance, which: told.checked.append((fit, which)))
    return told


def many(worlds=WORLDS, **options):
    count = len(worlds)
    return fit_imitation_many(
        worlds,
        SEEN[:count],
        [1, 0.5, 0.25][:count],
        horizon=7,
        callbacks=[print],
        keys=KEYS[:count],
        **options,
    )


def test_fits_are_trained_together_and_named_if_there_are_several(training):
    assert many() == ["fit a", "fit b", "fit c"]
    assert training.calls == [(WORLDS, SEEN, [1.0, 0.5, 0.25], KEYS, False, None)]
    assert training.checked == [(f"fit {world}", f" of fit {place}") for place, world in enumerate(WORLDS)]
    training.checked.clear()
    many(["a"])
    assert training.checked == [("fit a", "")]
    many(throw=False)
    assert len(training.checked) == 1


def test_environments_that_step_themselves_serve_one_fit_at_a_time(training, monkeypatch):
    monkeypatch.setattr(module, "HostWorld", str)
    assert many() == ["fit a", "fit b", "fit c"]
    assert training.calls == [
        (["a"], SEEN[:1], [1.0], KEYS[:1], True, None),
        (["b"], SEEN[1:2], [0.5], KEYS[1:2], True, ["fit a"]),
        (["c"], SEEN[2:], [0.25], KEYS[2:], False, ["fit a", "fit b"]),
    ]
    training.stop = "b"
    assert many() == ["fit a", "fit b"]


def test_the_closest_valid_fit_is_returned():
    fits = [
        SimpleNamespace(verdict=SimpleNamespace(gap=gap, valid=valid))
        for gap, valid in ((0.5, True), (0.1, False), (0.3, True), (0.3, True))
    ]
    assert closest(fits) is fits[2]
    assert closest(fits[1:2]) is fits[1]


@pytest.mark.parametrize(("kind", "shares"), [(int, [0.25, 1.0]), (str, [0.125, 0.5, 0.625, 1.0])])
def test_the_bar_shows_the_share_of_all_fits(kind, shares, monkeypatch):
    # Environments that step themselves (here the words) are trained one after the other.
    shown = []

    @contextlib.contextmanager
    def bar(label, total, *, show):
        assert (label, total, show) == ("learning", 1.0, True)
        yield lambda done, text: shown.append((done, text))

    def run(problem, start, callbacks, **_):
        for steps in (1, 4):
            callbacks[-1](SimpleNamespace(steps=steps, total=4, accuracy=0.75))
        return ["fit"] * len(problem.worlds), False

    problems = lambda worlds, *_: SimpleNamespace(worlds=worlds, begin=lambda: "begun")  # noqa: E731
    for name, replacement in (("progress_bar", bar), ("run_with_callbacks", run), ("_Problem", problems)):
        monkeypatch.setattr(module, name, replacement)
    monkeypatch.setattr(module, "HostWorld", kind)
    given: Any = WORLDS[:2]
    assert fit_imitation_many(given, SEEN[:2], keys=KEYS[:2], progress=True, throw=False) == ["fit", "fit"]
    assert shown == [(share, "75% of the steps told apart") for share in shares]


def test_how_far_a_training_has_come():
    training = SimpleNamespace(stretch=3, updates=7, config=SimpleNamespace(ppo=SimpleNamespace(batch=128)))
    logs = [
        SimpleNamespace(report={"accuracy": np.array([[0.0, 0.9], [0.0, 0.6]])}, episode_length=np.array(lengths))
        for lengths in ([[1.0, np.nan], [2.0, 30.0]], [[1.0, np.nan], [2.0, np.nan]])
    ]
    assert [_Problem.is_over(training, (None, logs[:1] * count)) for count in (1, 2, 3)] == [False, False, True]
    found = _Problem.report(training, (None, [logs[1], logs[0]]))
    assert (found.steps, found.total) == (2 * 3 * 128, 7 * 128)
    assert (found.accuracy, found.episode_length) == (pytest.approx(0.75), 30.0)
    assert np.isnan(_Problem.report(training, (None, logs)).episode_length)


def test_a_gap_is_computed_from_two_thousand_states():
    rows = np.arange(3000)[:, None]
    found = _sample(rows)
    assert found.shape == (2000, 1)
    assert len(np.unique(found)) == 2000
    assert sorted(_sample(rows[:7]).ravel()) == list(range(7))
