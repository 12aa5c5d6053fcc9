"""`robustirl imitate`, step by step: what takes minutes to compute has a stand-in that notes what it was asked for."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.cli import imitate
from robustirl.demonstrations import recordings
from robustirl.envs import physics
from robustirl.irl import ImitationConfig
from tests.cli.running import run


class Seen:
    """Recordings, as far as the command handles them."""

    steps = 7

    def __init__(self, note="seen"):
        self.note = note

    def without_actions(self):
        return self

    def save(self, path):
        path.write_text(self.note)

    def __repr__(self):
        return self.note


def stand_ins(monkeypatch):
    """Replace training and measuring; return what they were asked for."""
    asked = {}

    def train(worlds, *, steps, callbacks, keys):
        asked["training"] = (worlds, steps, [jax.random.key_data(key).tolist() for key in keys])
        callbacks[0](SimpleNamespace(steps=1, total=2))
        returns = ([9.0] * 20 + [1.0] * 20, [0.0] * 20 + [2.0] * 20)
        return [
            SimpleNamespace(policy=f"expert {n}", progress=SimpleNamespace(episode_return=returns[n])) for n in (0, 1)
        ]

    def record(world, policy, *, episodes, key):
        asked["recording"] = (world, policy, episodes, jax.random.key_data(key).tolist())
        return Seen()

    def fit(worlds, seen, alphas, *, config, callbacks, keys):
        asked["fits"] = (worlds, seen, alphas, config.steps, [jax.random.key_data(key).tolist() for key in keys])
        callbacks[0](SimpleNamespace(steps=1, total=2))
        return [SimpleNamespace(player=f"player {n}", verdict=f"judged {n}", gap=-n) for n in range(len(worlds))]

    def measure(worlds, policies, *, episodes, keys):
        asked["measured"] = (worlds, policies, episodes, [jax.random.key_data(key).tolist() for key in keys])
        return [[float(n), n + 1.0] for n in range(len(policies))]

    monkeypatch.setattr("robustirl.control.train_policies", train)
    monkeypatch.setattr("robustirl.control.measure_returns", measure)
    monkeypatch.setattr("robustirl.demonstrations.record", record)
    monkeypatch.setattr("robustirl.irl.fit_imitation_many", fit)
    monkeypatch.setattr("robustirl.irl.closest", lambda fits: min(fits, key=lambda one: one.gap))
    monkeypatch.setattr("robustirl.irl.save_fit", lambda fit, path: path.write_text(fit.player))
    monkeypatch.setattr(imitate, "_films", lambda world, policies, folder: asked.update(films=policies) or ["film.gif"])
    return asked


def test_imitate_trains_an_expert_and_two_learners(monkeypatch, tmp_path):
    asked = stand_ins(monkeypatch)
    request = imitate.Imitate(
        physics=("mass=0.2",), expert_physics=("length=0.6",), attempts=2, episodes=3, out=tmp_path / "out", seed=5
    )
    status, said = run(imitate.run_imitate, request)
    assert status == 0
    keys = list(jax.random.split(jax.random.key(5), 4))
    numbers = [jax.random.key_data(key).tolist() for key in keys]
    homes, steps, trained = asked["training"]
    assert (len(homes), steps) == (2, 600_000)
    assert trained == [jax.random.key_data(key).tolist() for key in jax.random.split(keys[0], 2)]
    assert asked["recording"] == (homes[0], "expert 1", 3, numbers[1])  # The better one at the end of its training.
    worlds, seen, alphas, steps, learning = asked["fits"]
    assert (len(worlds), len(seen), alphas, steps) == (4, 4, [1.0, 1.0, 0.95, 0.95], 600_000)
    assert learning == [jax.random.key_data(key).tolist() for key in jax.random.split(keys[2], 2)] * 2
    assert homes[0].parameters["length"] == pytest.approx(0.6)
    assert worlds[0].parameters["mass"] == pytest.approx(0.2)
    assert asked["measured"][1:] == (["player 1", "player 3", "expert 1"], 16, [numbers[3]] * 3)
    assert asked["films"] == {"α = 1": "player 1", "α = 0.95": "player 3", "the expert": "expert 1"}
    lines = said.splitlines()
    assert lines[0].startswith("seen; the learner's world: ")
    for line in (
        "α = 1: return 0.5 in the learner's world (no learner saw a reward)",
        "α = 0.95: return 1.5 in the learner's world (no learner saw a reward)",
        "the expert carried over: return 2.5 in the learner's world (no learner saw a reward)",
        "α = 1: judged 1",
        "α = 0.95: judged 3",
    ):
        assert line in lines
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"demos.npz": "seen", "fit-alpha-1.npz": "player 1", "fit-alpha-0.95.npz": "player 3"}
    assert [line for line in lines if line.startswith("wrote")] == [
        f"wrote {tmp_path / 'out' / name}"
        for name in ("demos.npz", "fit-alpha-1.npz", "fit-alpha-0.95.npz", "film.gif")
    ]


def test_an_alpha_next_to_one_has_a_file_and_a_film_of_its_own(monkeypatch, tmp_path):
    asked = stand_ins(monkeypatch)
    status, _ = run(imitate.run_imitate, imitate.Imitate(alpha=0.99999999, out=tmp_path / "out"))
    assert status == 0
    assert list(asked["films"]) == ["α = 1", "α = 0.99999999", "the expert"]
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"demos.npz": "seen", "fit-alpha-1.npz": "player 0", "fit-alpha-0.99999999.npz": "player 1"}


@pytest.mark.parametrize(
    ("demos", "kind"),
    [
        ("minari:a/b-v0", "minari a/b-v0"),
        ("seen.npz", "file seen.npz"),
        ("minari:", "file minari:"),
        ("c:seen.npz", "file c:seen.npz"),
    ],
)
def test_imitate_reads_what_was_seen(monkeypatch, tmp_path, demos, kind):
    asked = stand_ins(monkeypatch)
    known = SimpleNamespace(from_minari=lambda name: Seen(f"minari {name}"), load=lambda path: Seen(f"file {path}"))
    monkeypatch.setattr(recordings.Recordings, "from_minari", known.from_minari)
    monkeypatch.setattr(recordings.Recordings, "load", known.load)
    status, said = run(imitate.run_imitate, imitate.Imitate(demos=demos, episodes=1, out=tmp_path / "out"))
    assert status == 0
    assert said.startswith(kind)
    assert "training" not in asked
    assert asked["measured"][1] == ["player 0", "player 1"]
    assert "carried over" not in said


def test_imitate_takes_one_update_and_one_below_one(monkeypatch, tmp_path, refused):
    stand_ins(monkeypatch)
    batch = 4096
    request = imitate.Imitate(steps=batch, expert_steps=batch, out=tmp_path / "out", alpha=0.5)
    assert run(imitate.run_imitate, request)[0] == 0
    for change, culprit in (
        ({"steps": batch - 1}, f"at least {batch} steps"),
        ({"expert_steps": batch - 1}, f"at least {batch} steps"),
        ({"alpha": 0.0}, "--alpha is 0.0"),
        ({"alpha": 1.0}, "--alpha is 1.0"),
        ({"episodes": 0}, "--episodes is 0"),
        ({"attempts": 0}, "--attempts is 0"),
    ):
        with refused(culprit):
            run(imitate.run_imitate, dataclasses.replace(request, **change))


def test_imitate_estimates_memory_by_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(imitate, "require_memory", lambda size, *words: asked.append((size, *words)))
    worlds, config = (physics.make("pendulum"), physics.make("cart-pole-swing-up")), ImitationConfig()
    command = imitate.Imitate(attempts=3, episodes=5, expert_steps=9000)
    for seen in (None, Seen()):
        imitate._require_memory(command, config, worlds, seen)
    learners = (2 * 3 * 4096 * 400, "--attempts 3", "take fewer")
    assert asked == [learners, (5 * 250 * 400, "--episodes 5", "record fewer"), learners]


def test_worlds_with_bodies_are_named_or_files(monkeypatch, tmp_path, refused):
    made = []
    monkeypatch.setattr("robustirl.envs.physics.mujoco_world", lambda name, **options: made.append((name, options)))
    assert imitate._world("pendulum", {"mass": 2.0}).parameters["mass"] == 2.0
    model = tmp_path / "model.xml"
    model.write_text("")
    for name in ("hopper", str(model)):
        imitate._world(name, {"mass": 2.0})
    assert made == [("hopper", {"fast": True, "mass": 2.0}), (str(model), {"fast": True, "mass": 2.0})]
    with refused("--env is 'hoper'"):
        imitate._world("hoper", {})


def test_an_episode_is_filmed_with_its_last_state_and_without_its_clock(monkeypatch):
    asked = {}

    def collect(world, policy, **options):
        asked.update(options)
        states = np.arange(5 * 1 * 3).reshape(5, 1, 3)
        return SimpleNamespace(states=states, lengths=np.array([2]))

    monkeypatch.setattr("robustirl.control.collect", collect)
    world = SimpleNamespace(horizon=4)
    monkeypatch.setattr("robustirl._runtime.in_working_precision", lambda one: one)
    assert imitate._episode(world, None).tolist() == [[0, 1], [3, 4], [6, 7]]
    assert (asked["episodes"], asked["horizon"], asked["mean_action"]) == (1, 4, True)
    assert jax.random.key_data(asked["key"]).tolist() == jax.random.key_data(jax.random.key(0)).tolist()


@pytest.mark.parametrize("bodies", [True, False])
def test_films_are_of_worlds_with_bodies_to_draw(monkeypatch, tmp_path, bodies):
    line = np.array([[0.0, 0.0], [1.0, 1.0]])
    equations = SimpleNamespace(skeleton=lambda state, parameters: [line + state] if bodies else [])
    monkeypatch.setattr(imitate, "_episode", lambda world, policy: np.arange(6.0 if bodies else 1.0)[:, None])
    world = SimpleNamespace(equations=equations, parameters={})
    found = imitate._films(world, {"one": None, "two": None}, tmp_path)
    assert found == (["film.png", "film.svg", "film.gif"] if bodies else [])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(found)
