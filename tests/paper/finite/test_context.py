"""What a run of the finite experiments is made of, with stand-ins for what is fitted and measured."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.paper.finite import context
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import RunSpec

SPEC = RunSpec("three-state", "slip", 0.0, 0.1, 0.9, steps=6)


@pytest.fixture
def lab():
    """The context of the three-state example, in which nothing has been computed."""
    return ExperimentContext.of(SPEC)


def test_a_batch_is_filled_up_on_a_cpu_alone(lab, monkeypatch):
    asked = []

    def fit(specs, *, steps, throw):
        asked.append((len(specs), steps, throw))
        return list(range(len(specs)))

    monkeypatch.setattr(lab, "fit", fit)
    monkeypatch.setattr(lab, "result", lambda spec, found, seconds: (spec.alpha, found, seconds))
    specs = [RunSpec("three-state", "slip", 0.0, 0.1, alpha, steps=6) for alpha in (1.0, 0.9)]
    assert lab.results(specs, 5) == [(1.0, 0, 0.0), (0.9, 1, 0.0)]
    monkeypatch.setattr(context.jax, "default_backend", lambda: "gpu")
    lab.results(specs, 5)
    lab.results(specs[:1], 5)
    assert asked == [(5, 6, False), (2, 6, False), (1, 6, False)]


def test_the_last_four_demonstrations_are_kept(lab, monkeypatch):
    drawn = []
    monkeypatch.setattr(lab, "_sample", lambda *key: drawn.append(key[-1]) or key)
    for draw in (0, 1, 2, 3, 0, 4, 0, 1):  # The fourth draw takes the place of the oldest, 0; that of 1 comes next.
        assert lab.demonstrations(0.1, 20, draw) == (0.1, 20, draw)
    assert drawn == [0, 1, 2, 3, 4, 0, 1]


def test_demonstrations_are_walks_of_the_expert_in_its_own_world(lab, monkeypatch):
    monkeypatch.setattr(lab, "expert_policy", lambda noise: f"expert at {noise}")
    monkeypatch.setattr(lab, "world", lambda noise: f"world at {noise}")
    seed_of = lambda key: np.asarray(jax.random.key_data(key)).tolist()[-1]  # noqa: E731
    monkeypatch.setattr(
        context,
        "sample_demonstrations",
        lambda *given, episodes, horizon, key: (*given, episodes, horizon, seed_of(key)),
    )
    assert lab._sample(0.1, 20, 7) == ("world at 0.1", "expert at 0.1", 20, 500, 7)


def test_what_is_recorded_of_a_fit(lab, monkeypatch):
    stand_ins = {
        "measure": lambda noise, player: 10.0 + player,
        "measure_discounted": lambda noise, player: 20.0 + player,
        "optimal_return": lambda noise: 30.0 + noise,
        "optimal_discounted_return": lambda noise: 40.0 + noise,
        "expert_return": lambda noise: 50.0 + noise,
        "_bound": lambda spec, found: 60.0,
        "_acting_on": lambda reward, noise: 5.0,
        "world": lambda noise: noise,
        "evaluation_world": lambda noise: noise,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(lab, name, stand_in)
    monkeypatch.setattr(context, "state_occupancy", lambda world, player: [world, player])
    keys = []

    def sampled(*_, key, repetitions):
        keys.append((np.asarray(jax.random.key_data(key)).tolist()[-1], repetitions))
        return SimpleNamespace(mean=-1.0, deviation=0.5)

    monkeypatch.setattr(context, "sampled_total_return", sampled)
    found = SimpleNamespace(
        player=2.0,
        opponent=3.0,
        reward=[1.0, -4.0],
        occupancy=[0.5],
        expert_occupancy=[0.25],
        history=SimpleNamespace(occupancy_gap=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]),
        verdict=SimpleNamespace(occupancy_gap=0.3, steps=6, status="budget"),
    )
    result = lab.result(SPEC, found, 1.5)
    record = result.record
    assert (record.alpha_used, record.total_return, record.discounted_return) == (0.9, 12.0, 22.0)
    assert (record.optimal_return, record.optimal_discounted_return, record.expert_return) == (30.0, 40.0, 50.1)
    assert (record.occupancy_gap, record.halfway_gap, record.largest_reward) == (0.3, 0.6, 4.0)
    assert (record.bound, record.sampled_mean, record.sampled_deviation) == (60.0, None, None)
    assert (record.steps, record.verdict, record.seconds) == (6, "budget", 1.5)
    assert {name: np.ravel(array).tolist() for name, array in result.arrays.items()} == {
        "reward": [1.0, -4.0],
        "player": [2.0],
        "opponent": [3.0],
        "occupancy": [0.5],
        "expert_occupancy": [0.25],
        "player_occupancy": [0.0, 2.0],
    }
    spec = RunSpec("three-state", "slip", 0.0, 0.1, 1.0, steps=6, train_noise=0.1, sampled=3)
    record = lab.result(spec, found, 0.0).record
    assert (record.total_return, record.sampled_mean, record.sampled_deviation) == (15.0, -1.0, 0.5)
    assert keys == [(int(spec.identity[:8], 16), 3)]  # Every run has draws of its own.


def test_which_bound_covers_a_run(lab, monkeypatch):
    bound = lambda name: lambda *given: SimpleNamespace(value=(name, *given[-1:]))  # noqa: E731
    for name in ("standard_bound", "robust_bound", "transfer_bound"):
        monkeypatch.setattr(context, name, bound(name))
    found = SimpleNamespace(reward="learned")

    def of(expert="optimal", **options):
        given = {"learner_noise": 0.0, "expert_noise": 0.1, "alpha": 0.9} | options
        return lab._bound(RunSpec("three-state", "slip", steps=6, expert=expert, **given), found)

    assert of() == ("robust_bound", 0.9)
    assert of(alpha=1.0)[0] == "standard_bound"
    assert of(alpha=1.0, train_noise=0.1) == ("transfer_bound", "learned")
    assert of("soft") is None
    lab.reward = np.zeros((3, 2))
    assert of() is None
