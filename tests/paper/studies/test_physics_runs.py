"""How a batch of the study of physics is put together, with stand-ins for what is trained, recorded and measured."""

import dataclasses
import logging
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.paper.studies import physics_experts, physics_runs
from robustirl.paper.studies.physics_experts import PhysicsExpertContext, PhysicsExpertSpec, attempts_of
from robustirl.paper.studies.physics_runs import SPREAD, PhysicsContext, specs_of
from robustirl.sweeps.executor import batches

SPECS = specs_of("hopper", "mass", [1.0, 2.0], [0.9], 4, 2)


def seed_of(key):
    return int(np.asarray(jax.random.key_data(key))[-1])


def make_world(name, **factors):
    return (name, *factors.items())


class Recorded:
    """Demonstrations that say which episodes they are."""

    def __init__(self, observations, actions, terminated):
        assert observations.tolist() == actions.tolist() == terminated.tolist()
        self.episodes = observations.tolist()

    def without_actions(self):
        return self.episodes


@pytest.fixture
def asked(monkeypatch):
    """What the stand-ins were asked for."""
    calls = {"differ": [], "record": [], "clone": []}

    def record(home, expert, *, episodes, key):
        calls["record"].append((home, expert.tolist(), episodes, seed_of(key)))
        own = np.arange(episodes)
        return SimpleNamespace(observations=own, actions=own, terminated=own)

    def fit_imitation_many(worlds, seen, alphas, *, config, callbacks, keys, throw):
        calls["fit"] = list(zip(worlds, seen, alphas, map(seed_of, keys), strict=True))
        calls["config"] = (config.steps, config.discriminator_steps, throw)
        callbacks[0](SimpleNamespace(steps=512, total=1024, accuracy=0.625, episode_length=99.6))
        return [
            SimpleNamespace(player=f"player {place}", verdict=SimpleNamespace(gap=place / 8))
            for place in range(len(seen))
        ]

    def clone(seen, *, config, keys):
        calls["clone"] += map(seed_of, keys)
        return [f"clone of {one.episodes[0]}" for one in seen]

    def measure_returns(worlds, policies, *, mean_action, keys, episodes):
        calls["measured"] = (list(worlds), list(policies), list(map(seed_of, keys)), episodes)
        place = np.arange(len(policies))[:, None] + np.linspace(-1, 1, 5)  # The mean is the place.
        return place if mean_action else place + 1000

    stand_ins = {
        "make_world": make_world,
        "record": record,
        "fit_imitation_many": fit_imitation_many,
        "clone_behavior_many": clone,
        "measure_returns": measure_returns,
        "Recordings": SimpleNamespace(from_arrays=Recorded),
        "best_of": lambda experts, attempts: (np.array([experts, attempts[0].factor]), 0.0),
        "physics": SimpleNamespace(require_difference=lambda *worlds: calls["differ"].append(worlds)),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(physics_runs, name, stand_in)
    return calls


def test_a_batch_is_trained_at_once_and_judged_in_both_worlds(asked, caplog):
    with caplog.at_level(logging.INFO, "robustirl"):
        found = PhysicsContext(7.0).results(SPECS, 1)  # pyright: ignore[reportArgumentType]
    home, heavy = ("hopper",), ("hopper", ("mass", 2.0))
    usual = ("hopper", ("mass", 1.0))
    assert asked["differ"] == [(home, heavy)]  # At a factor of 1 nothing has to differ.
    assert asked["record"] == [(home, [7.0, 1.0], 160, 1000)]  # Ten seeds, whichever are asked for.
    assert asked["clone"] == [0, 1]
    spread = [("hopper", ("mass", factor)) for factor in SPREAD]
    first, second = [0, 1, 2, 3], [16, 17, 18, 19]
    assert asked["fit"] == [
        ([usual], first, 0.9, 0),
        ([usual], second, 0.9, 1),
        ([heavy], first, 0.9, 0),
        ([heavy], second, 0.9, 1),
        (spread, first, 1.0, 0),
        (spread, second, 1.0, 1),
    ]
    assert asked["config"] == (SPECS[0].steps, 4, False)
    assert caplog.messages == ["hopper, mass: 6 imitations, 512 of 1024 steps, 62 % told apart, episodes of 100 steps"]
    worlds, policies, keys, episodes = asked["measured"]
    assert worlds == [usual] * 12 + [heavy] * 12 + [home] * 24
    assert keys == [2000, 2001] * 24
    assert episodes == 16
    told = [one if isinstance(one, str) else one.tolist() for one in policies]
    assert told[24:] == told[:24]
    assert told[:24:2] == [
        *("player 0", [7.0, 1.0], [7.0, 1.0], "clone of 0", "player 4", [0.0, 0.0]),
        *("player 2", [7.0, 2.0], [7.0, 1.0], "clone of 0", "player 4", [0.0, 0.0]),
    ]
    assert told[1:24:2][3:5] == ["clone of 16", "player 5"]
    records = [one.record for one in found]
    assert [one.spec for one in records] == list(SPECS)
    assert [one.learner_return for one in records] == pytest.approx(range(24))
    assert [one.expert_return for one in records] == pytest.approx(range(24, 48))
    assert [one.learner_sampled for one in records] == pytest.approx(range(1000, 1024))
    assert [one.expert_sampled for one in records] == pytest.approx(range(1024, 1048))
    assert [one.seconds for one in records] == [0.0] * 24
    gaps = [one.gap for one in records]
    assert gaps[:2] + gaps[8:10] + gaps[12:14] == [0.0, 0.125, 0.5, 0.625, 0.25, 0.375]
    assert np.isnan(gaps[2:8]).all()
    assert np.isnan(gaps[10:12]).all()
    asked.pop("fit")
    controls = [spec for spec in SPECS if spec.method == "cloned"]
    found = PhysicsContext(7.0).results(controls, 1)  # pyright: ignore[reportArgumentType]
    assert [one.record.learner_return for one in found] == pytest.approx(range(4))
    assert "fit" not in asked  # There is nothing to imitate.
    (single,) = PhysicsContext(7.0).results(SPECS[:1], 1)  # pyright: ignore[reportArgumentType]
    assert (single.record.learner_return, single.record.expert_return) == pytest.approx((0.0, 1.0))


def test_more_episodes_than_usual_are_recorded_for_every_seed():
    def record(*_, episodes, key):
        return SimpleNamespace(
            observations=np.arange(episodes), actions=np.arange(episodes), terminated=np.arange(episodes)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(physics_runs, "record", record)
        patch.setattr(physics_runs, "Recordings", SimpleNamespace(from_arrays=Recorded))
        seen = physics_runs._recorded(None, None, [(0, 20), (2, 3)], {})  # pyright: ignore[reportArgumentType]
    assert {shown: one.episodes for shown, one in seen.items()} == {(0, 20): list(range(20)), (2, 3): [40, 41, 42]}  # pyright: ignore


def test_what_is_recorded_for_a_seed_does_not_depend_on_the_other_seeds_of_its_batch():
    asked = []

    def record(*_, episodes, key):
        asked.append((episodes, seed_of(key)))
        own = 1000 * seed_of(key) + np.arange(episodes)
        return SimpleNamespace(observations=own, actions=own, terminated=own)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(physics_runs, "record", record)
        patch.setattr(physics_runs, "Recordings", SimpleNamespace(from_arrays=Recorded))
        whole, part = (
            physics_runs._recorded(None, None, shown, {})  # pyright: ignore[reportArgumentType]
            for shown in ([(0, 2), (9, 2), (10, 2), (12, 1)], [(9, 2), (12, 1)])
        )
    assert asked == [(160, 1000), (160, 1001)] * 2
    assert {shown: one.episodes for shown, one in whole.items()} == {  # pyright: ignore
        (0, 2): [1_000_000, 1_000_001],
        (9, 2): [1_000_144, 1_000_145],
        (10, 2): [1_001_000, 1_001_001],
        (12, 1): [1_001_032],
    }
    assert part[9, 2].episodes == [1_000_144, 1_000_145]  # pyright: ignore
    assert part[12, 1].episodes == [1_001_032]  # pyright: ignore


def test_batches_that_see_fewer_episodes_of_the_same_expert_do_not_record_them_again(asked):
    context = PhysicsContext(7.0)  # pyright: ignore[reportArgumentType]
    context.results(specs_of("hopper", "mass", [2.0], [0.9], 4, 1), 1)
    assert asked["fit"][0][1] == [0, 1, 2, 3]
    context.results(specs_of("hopper", "mass", [2.0], [0.9], 1, 1), 1)
    assert asked["fit"][0][1] == [0]
    assert len(asked["record"]) == 1
    context.results(specs_of("hopper", "mass", [2.0], [0.9], 17, 1), 1)  # More than are recorded for a seed.
    context.results(specs_of("hopper", "mass", [2.0], [0.9], 4, 1, 70), 1)  # Another expert.
    assert [episodes for _, _, episodes, _ in asked["record"]] == [160, 170, 160]


def test_lengths_are_those_of_the_world_unless_given():
    scale = physics_runs.scale_of("hopper")
    assert (SPECS[0].expert_steps, SPECS[0].steps) == (scale.expert_steps, scale.steps)
    (given,) = specs_of("hopper", "mass", [1.0], [1.0], 4, 1, 70, 50)[:1]
    assert (given.expert_steps, given.steps) == (70, 50)
    assert {one.factor for one in given.shown_experts} == {1.0}
    assert {one.factor for one in dataclasses.replace(given, factor=2.0).shown_experts} == {1.0}
    assert dataclasses.replace(given, factor=2.0).training != given.training


def test_experts_of_a_world_are_trained_in_lockstep(monkeypatch, caplog):
    asked = {}

    def train(worlds, *, steps, config, callback, keys):
        asked.update(worlds=list(worlds), steps=steps, config=config, keys=list(map(seed_of, keys)))
        callback(3, 9)
        return [SimpleNamespace(policy=place) for place in range(len(worlds))]

    def measure(worlds, policies, *, keys, episodes):
        asked.update(judged=(policies, list(map(seed_of, keys)), episodes))
        return 10.0 * np.arange(len(worlds))[:, None] + np.array([-2.0, 0.0, 2.0])

    for name, stand_in in (("train_policies", train), ("measure_returns", measure), ("make_world", make_world)):
        monkeypatch.setattr(physics_experts, name, stand_in)
    monkeypatch.setattr(physics_experts, "arrays_of", lambda policy: {"policy": np.array(policy)})
    specs = (*attempts_of("walker-2d", "mass", 1.0, 100), PhysicsExpertSpec("walker-2d", "mass", 2.0, 200, 4))
    assert [(one.parameter, one.attempt) for one in specs] == [("", 0), ("", 1), ("mass", 4)]
    with caplog.at_level(logging.INFO, "robustirl"):
        found = PhysicsExpertContext().results(specs, 1)
    assert asked == {
        "worlds": [("walker-2d",), ("walker-2d",), ("walker-2d", ("mass", 2.0))],
        "steps": 100,
        "config": physics_experts.scale_of("walker-2d").expert_ppo,
        "keys": [7, 8, 11],
        "judged": ([0, 1, 2], [11, 11, 11], 16),
    }
    assert [(one.record.mean_return, one.record.seconds) for one in found] == [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)]
    assert [int(one.arrays["policy"]) for one in found] == [0, 1, 2]
    assert caplog.messages[0] == "walker-2d: 3 experts, 3 of 9 steps"
    assert caplog.messages[-1].endswith("earns 20")
    assert len(PhysicsExpertContext().results(specs[:1], 1)) == 1


def test_a_method_at_a_level_is_a_batch_on_a_cpu_and_some_seeds_of_all_are_one_on_an_accelerator(monkeypatch):
    cut = [{(spec.factor, spec.method) for spec in batch} for batch in batches(SPECS)]
    controls = ("expert", "carried over", "untrained")
    assert cut == [
        {(1.0, "alpha=0.9")},
        {(1.0, method) for method in controls},
        {(1.0, "cloned"), (2.0, "cloned")},
        {(1.0, "randomized"), (2.0, "randomized")},
        {(2.0, "alpha=0.9")},
        {(2.0, method) for method in controls},
    ]
    assert [len(batch) for batch in batches(SPECS)] == [2, 6, 4, 4, 2, 6]
    # Where nothing differs the parameter does not matter; elsewhere it does, and so does the number of episodes.
    more = [
        *SPECS,
        *specs_of("hopper", "friction", [1.0, 2.0], [0.9], 4, 2),
        *specs_of("hopper", "mass", [1.0], [0.9], 1, 2),
    ]
    imitations = [batch for batch in batches(more) if batch[0].method == "alpha=0.9"]
    assert [(batch[0].parameter, batch[0].factor, batch[0].episodes, len(batch)) for batch in imitations] == [
        ("mass", 1.0, 4, 4),
        ("mass", 2.0, 4, 2),
        ("friction", 2.0, 4, 2),
        ("mass", 1.0, 1, 2),
    ]
    experts = [expert for spec in SPECS for expert in spec.local_experts]
    assert [len(batch) for batch in batches(list(dict.fromkeys(experts)))] == [1] * 8
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert [len(batch) for batch in batches(SPECS)] == [24]
    assert [len(batch) for batch in batches(list(dict.fromkeys(experts)))] == [8]
    assert len(batches(specs_of("hopper", "mass", [1.0], [0.9], 4, 10))) == 1  # Ten seeds of Hopper are one batch.
    many = batches(specs_of("half-cheetah", "mass", [1.0, 2.0], [0.9], 4, 10))
    assert [{spec.seed for spec in batch} for batch in many] == [{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}]
    assert [len(batch) for batch in many] == [60, 60]  # One shape, so that compiled programs are shared.
    fewer = batches([*SPECS, *specs_of("hopper", "mass", [1.0, 2.0], [0.9], 1, 2)])
    assert [{spec.episodes for spec in batch} for batch in fewer] == [{4}, {1}]
