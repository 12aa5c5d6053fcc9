"""How a batch of the continuous experiment is put together, with stand-ins for what is trained and measured."""

from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.paper.continuous import context
from robustirl.paper.continuous.context import ContinuousContext, ExpertContext
from robustirl.paper.continuous.specs import ContinuousSpec, ExpertSpec


class Measured(NamedTuple):
    """Of every policy of a batch: its place, and that plus a half, and a share."""

    mean_return: np.ndarray
    median_return: np.ndarray
    goal_share: np.ndarray


class Policy(NamedTuple):
    weights: tuple[np.ndarray, ...]
    log_deviation: np.ndarray


def policies(count, begin=0):
    places = np.arange(float(begin), begin + count)
    return Policy((places[:, None] + np.zeros((1, 2)),), -places)


def data(keys):
    return np.asarray(jax.random.key_data(keys)).tolist()


@pytest.fixture
def asked(monkeypatch):
    """What the stand-ins were asked for; worlds are given by their noise."""
    calls = {"train": [], "measure": [], "collect": []}

    def train(worlds, keys, judging, config):
        calls["train"].append(([float(world.noise) for world in worlds], data(keys), data(judging), config.steps))
        return policies(len(worlds)), [place == 0 for place in range(len(worlds))]

    def measure(worlds, policies, keys, episodes):
        count = len(worlds)
        calls["measure"].append((data(keys), episodes))
        places = np.arange(float(count))
        return Measured(places, places + 0.5, places / 8), places[:, None, None] + np.zeros((1, 2, 2))

    def collect(world, policy, **options):
        calls["collect"].append(
            (float(world.noise), float(policy.weights[0][0]), options | {"key": data(options["key"])})
        )
        return "demos"

    for name, stand_in in (("_train", train), ("_measure", measure), ("collect", collect), ("_stacked", list)):
        monkeypatch.setattr(context, name, stand_in)
    return calls


def test_experts_are_trained_in_one_batch_with_the_same_draws(asked):
    specs = [ExpertSpec(noise, steps=5, attempts=3, seed=4) for noise in (0.0, 0.1)]
    found = ExpertContext().results(specs, 7)
    training, judging, measuring = jax.random.split(jax.random.key(4), 3)
    attempts = data(jax.random.split(training, 3))
    assert asked["train"] == [([0.0, 0.1], [attempts] * 2, [data(judging)] * 2, 5)]
    assert asked["measure"] == [([data(measuring)] * 2, 2000)]
    records = [one.record for one in found]
    assert [(one.spec, one.mean_return, one.median_return, one.goal_share) for one in records] == [
        (specs[0], 0.0, 0.5, 0.0),
        (specs[1], 1.0, 1.5, 0.125),
    ]
    assert [(one.verdict, one.seconds) for one in records] == [("budget", 0.0), ("failed", 0.0)]
    assert found[1].arrays["expert_weights"].tolist() == [1.0, 1.0]
    assert found[1].arrays["expert_log_deviation"] == -1.0
    assert found[1].arrays["paths"].tolist() == [[1.0, 1.0]] * 2
    assert len(ExpertContext().results(specs[:1])) == 1


def test_learners_of_a_batch_share_experts_and_demonstrations(asked, monkeypatch):
    fitted = {}

    def fit(worlds, features, alphas, *, config, keys, throw):
        fitted.update(
            alphas=alphas, features=features, keys=[data(key) for key in keys], rounds=config.rounds, throw=throw
        )
        return [
            SimpleNamespace(
                player=Policy((np.full(2, place + 10.0),), np.zeros(())),
                opponent=Policy((np.full(2, place + 20.0),), np.ones(())),
                verdict=SimpleNamespace(
                    feature_gap=0.25, finished=0.5, effective=0.75, rounds=30 + place, status="converged"
                ),
                history=SimpleNamespace(feature_gap=[8.0, 4.0]),
                parameters=[1.0],
                features=[2.0],
                expert_features=[3.0],
            )
            for place in range(len(worlds))
        ]

    monkeypatch.setattr(context, "fit_relative_entropy_many", fit)
    monkeypatch.setattr(context, "expert_features", lambda demos, discount, config: len(asked["collect"]))
    specs = [
        ContinuousSpec(0.0, 0.1, alpha, seed, rounds=30, demonstrations=12) for seed in (5, 6) for alpha in (1, 0.9)
    ]
    known = SimpleNamespace(
        record=SimpleNamespace(mean_return=-7.0),
        arrays={"expert_weights": np.array([50.0, 0.0]), "expert_log_deviation": np.zeros(2)},
    )
    learning = ContinuousContext({specs[0].expert: known})
    found = learning.results(specs[:3], 4)
    keys = [data(jax.random.split(jax.random.key(seed), 3)) for seed in (5, 6)]
    told = {"episodes": 12, "horizon": 1000}
    assert asked["collect"] == [(0.1, 50.0, told | {"key": keys[0][0]}), (0.1, 50.0, told | {"key": keys[1][0]})]
    # A batch of three is filled to four, with the last one; runs of a seed have the same demonstrations.
    assert fitted == {
        "alphas": [1.0, 0.9, 1.0, 1.0],
        "features": [1, 1, 2, 2],
        "keys": [keys[0][1], keys[0][1], keys[1][1], keys[1][1]],
        "rounds": 30,
        "throw": False,
    }
    assert asked["measure"] == [([keys[0][2], keys[0][2], keys[1][2], keys[1][2]], 200)]
    assert not asked["train"]
    assert len(found) == 3
    record = found[2].record
    assert record.spec == specs[2]
    assert (record.mean_return, record.median_return, record.goal_share) == (2.0, 2.5, 0.25)
    assert (record.expert_return, record.feature_gap, record.first_gap) == (-7.0, 0.25, 8.0)
    assert (record.finished, record.effective, record.rounds, record.seconds) == (0.5, 0.75, 32, 0.0)
    assert record.verdict == "converged"
    arrays = {name: np.asarray(value).ravel().tolist()[:1] for name, value in found[2].arrays.items()}
    assert arrays == {
        "parameters": [1.0],
        "features": [2.0],
        "expert_features": [3.0],
        "player_weights": [12.0],
        "player_log_deviation": [0.0],
        "opponent_weights": [22.0],
        "opponent_log_deviation": [1.0],
        "paths": [2.0],
    }
    other = ExpertSpec(0.2, steps=5, attempts=1)
    assert learning.expert(other) is learning.expert(other)  # One that is missing is trained once.
    assert len(asked["train"]) == 1
    assert len(learning.results(specs[:1])) == 1


def test_the_first_paths_are_kept_and_returns_are_sums(monkeypatch):
    states = np.arange(400.0 * 8 * 2).reshape(400, 8, 2)
    rewards = np.array([[1.0, 2.0], [3.0, 5.0]])
    asked = {}

    def collect(world, policy, **options):
        asked.update(options)
        return SimpleNamespace(states=states, rewards=lambda reward: rewards, terminated="ends", lengths="lengths")

    monkeypatch.setattr(context, "collect", collect)
    monkeypatch.setattr(context, "Evaluation", lambda *parts: parts)
    measured, paths = cast("Any", context._evaluation(SimpleNamespace(reward=None), None, 9, "key"))
    assert asked == {"episodes": 9, "horizon": 1000, "mean_action": True, "key": "key"}
    assert measured[0].tolist() == [4.0, 7.0]
    assert measured[1:] == ("ends", "lengths")
    assert (paths.shape, paths.dtype) == ((6, 151, 2), np.float32)
    assert paths[1, 2].tolist() == [34.0, 35.0]  # The third state of the second path: 2 · 16 + 2.


def test_the_best_sound_attempt_is_the_expert(monkeypatch):
    """An attempt earns the number of its key: nine is not valid, and eight earns what is no number."""

    def solve(world, *, config, key, throw):
        assert (config, throw) == ("config", False)
        number = world + jax.random.key_data(key)[-1]
        return SimpleNamespace(player=number, valid=number != 9)

    def evaluation(world, policy, episodes, key):
        assert episodes == context.JUDGED
        return SimpleNamespace(mean_return=jnp.where(policy == 8, jnp.nan, policy)), None

    monkeypatch.setattr(context, "solve_game", solve)
    monkeypatch.setattr(context, "_evaluation", evaluation)
    keys = jax.random.wrap_key_data(jnp.array([[[0, n] for n in row] for row in ((1, 9, 5), (8, 2, 3))], jnp.uint32))
    given: Any = (jnp.zeros(2), keys, keys[:, 0], "config")
    players, valid = context._train(*given)
    assert (players.tolist(), valid.tolist()) == ([5.0, 3.0], [True, True])


@pytest.mark.parametrize(("device", "batched"), [("cpu", False), ("gpu", True)])
def test_members_of_a_batch_go_one_by_one_on_a_cpu_alone(monkeypatch, device, batched):
    seen = []

    def double(value, other):
        seen.append("Batch" in type(value).__name__)
        return value + other

    monkeypatch.setattr(jax, "default_backend", lambda: device)
    assert context._over(double, jnp.arange(2), jnp.arange(2)).tolist() == [0, 2]
    assert seen == [batched]
