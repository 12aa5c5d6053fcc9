"""`robustirl demo`, step by step: what takes minutes to compute has a stand-in that notes what it was asked for."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.cli import demo
from tests.cli.running import run


@pytest.mark.parametrize("opened", [True, False])
def test_the_demo_sets_a_calm_learner_against_a_noisy_expert(monkeypatch, tmp_path, opened):
    asked = {"shown": []}
    grid = envs.make("gridworld-1")

    class Grid:
        reward, expert, shape = grid.reward, grid.expert, grid.shape
        mdp = staticmethod(lambda noise: SimpleNamespace(noise=noise, num_states=100))
        evaluation_mdp = staticmethod(lambda noise: SimpleNamespace(judged=noise))

    class Model:
        policy_, judgment_ = "policy", "test it"

        def __init__(self, alpha):
            self.fit_ = SimpleNamespace(alpha=0.9 if alpha == "auto" else alpha)

        def fit(self, world, demos):
            asked.setdefault("fits", []).append((world.noise, demos, float(self.fit_.alpha)))
            return self

        def predict(self, states):
            return np.asarray(states) % 4

    def sample(world, policy, *, episodes, horizon, key):
        asked["sampled"] = (world.judged, policy, episodes, horizon, jax.random.key_data(key).tolist())
        return "walks"

    monkeypatch.setattr("robustirl.envs.make", lambda name: Grid)
    monkeypatch.setattr("robustirl.RobustIRL", Model)
    monkeypatch.setattr("robustirl.demonstrations.sample_demonstrations", sample)
    monkeypatch.setattr("robustirl.planning.expert_policy", lambda world, reward, kind: (vars(world), kind))
    monkeypatch.setattr("robustirl.planning.state_occupancy", lambda world, policy: np.ones(3))
    monkeypatch.setattr("robustirl.planning.total_return", lambda world, policy, reward: -12.25 - world.judged)
    monkeypatch.setattr("robustirl.plotting.figure_fit", lambda *given: given)
    monkeypatch.setattr(
        "robustirl.plotting.save_figure", lambda figure, path: [path.with_suffix(end) for end in (".png", ".svg")]
    )
    monkeypatch.setattr(demo, "_has_screen", lambda: opened)
    monkeypatch.setattr(demo.webbrowser, "open", asked["shown"].append)
    status, said = run(demo.run_demo, demo.Demo(out=tmp_path / "out"))
    assert status == 0
    zero = jax.random.key_data(jax.random.key(0)).tolist()
    expert = ({"noise": 0.2, "num_states": 100}, grid.expert)
    assert asked["sampled"] == (0.2, expert, 200, 1000, zero)
    assert asked["fits"] == [(0.0, "walks", 1.0), (0.0, "walks", 0.9)]
    assert "standard (alpha = 1): return -12.2; the best there is: -12.2" in said
    assert "robust (alpha = 0.9)" in said
    assert said.count("\n  ↑ → ↓ ← ↑ → ↓ ← ↑ →\n") == 10  # Every other row of ten cells, for two learners.
    assert asked["shown"] == ([(tmp_path / "out" / "demo.png").resolve().as_uri()] if opened else [])
    assert run(demo.run_demo, demo.Demo(out=tmp_path / "quiet", open=False))[0] == 0
    assert len(asked["shown"]) == opened


@pytest.mark.parametrize(
    ("platform", "variables", "terminal", "screen"),
    [
        ("darwin", {}, True, True),
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "w"}, True, True),
        ("linux", {}, True, False),
        ("darwin", {}, False, False),
    ],
)
def test_a_screen_is_where_somebody_sits(monkeypatch, platform, variables, terminal, screen):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stdout = SimpleNamespace(isatty=lambda: terminal)
    monkeypatch.setattr(demo, "sys", SimpleNamespace(platform=platform, stdout=stdout))
    assert demo._has_screen() is screen
    monkeypatch.setattr(demo, "sys", SimpleNamespace(platform="darwin", stdout=None))
    assert demo._has_screen() is False
