"""The study of sets of kernels, at its smallest."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.paper.studies import robust_sets
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.robust_sets import RobustSetsStudy, compare


@pytest.mark.slow
def test_in_the_three_state_example_the_ball_is_algorithm_1():
    """All rows are certain, so that the opponent's push and the worst kernel of the ball are the same."""
    env = ThreeState()
    rows = {row.method: row for row in compare(env.mdp(0.0), env.mdp(0.1), np.asarray(env.reward), 300)}
    game, ball = rows["Algorithm 1, α = 1 - d/2"], rows["ℓ1 ball, d"]
    assert game.nominal == pytest.approx(ball.nominal, abs=0.05)
    assert game.worst == pytest.approx(ball.worst, abs=0.05)
    # Certain rows have no KL neighbors: that is standard IRL.
    assert rows["KL ball, d²/2"].nominal == pytest.approx(rows["standard, α = 1"].nominal, abs=0.05)


def test_what_is_learned_against_which_set(monkeypatch):
    """Fits are stand-ins: in the three-state example d = 0.2 leaves the first state alone, the others are ends."""
    env, asked, clock = ThreeState(), [], iter(range(100))

    def fit(_, rho, *, steps, throw, alpha=None, uncertainty=None):
        asked.append((steps, throw, alpha, uncertainty))
        return SimpleNamespace(
            player=np.full((3, 2), 0.5),
            verdict=SimpleNamespace(occupancy_gap=rho[1]),
            diagnosis=SimpleNamespace(player_gap=float(steps)),
        )

    def certify(world, player, reward, *, radius):
        return SimpleNamespace(nominal_return=radius.sum(), worst_return=radius[0, 0])

    monkeypatch.setattr(robust_sets, "fit", fit)
    monkeypatch.setattr(robust_sets, "certify", certify)
    monkeypatch.setattr(robust_sets, "expert_policy", lambda world, reward, temperature: temperature)
    monkeypatch.setattr(robust_sets, "state_occupancy", lambda world, policy: [0.0, policy, 0.0])
    monkeypatch.setattr(
        robust_sets, "as_uncertainty", lambda _, *, radius, kind="ball": (kind, radius[0, 0], radius[1, 0])
    )
    monkeypatch.setattr(robust_sets, "time", SimpleNamespace(perf_counter=lambda: 10.0 * next(clock)))
    rows = list(compare(env.mdp(0.0), env.mdp(0.1), np.asarray(env.reward), 30))
    assert [one[0] for one in asked] == [1, 30] * 5  # The first one compiles.
    assert not any(one[1] for one in asked)
    assert [one[2] for one in asked[1::2]] == [1.0, pytest.approx(0.9), None, None, None]
    assert [one[3] for one in asked[5::2]] == [
        ("ball", pytest.approx(0.2), 0.0),
        ("kl", pytest.approx(0.02), 0.0),
        ("shared", pytest.approx(0.2), 0.0),
    ]
    assert {(row.player_gap, row.seconds) for row in rows} == {(30.0, 10.0)}
    assert [row.nominal for row in rows] == pytest.approx([0.4] * 5)
    assert [row.worst for row in rows] == pytest.approx([0.2] * 5)
    assert {row.gap for row in rows} == {1.0}  # The expert's temperature.


def test_the_study_of_sets_writes_a_table_for_every_noise(tmp_path, monkeypatch):
    row = robust_sets.Row("standard", 0.123456, 2.0, 3.0, 4.0, 5.0)
    monkeypatch.setattr(robust_sets, "compare", lambda *given: [row] if given[-1] == 9 else [])
    monkeypatch.setattr(robust_sets, "expert_policy", lambda world, reward, temperature: temperature)
    monkeypatch.setattr(robust_sets, "discounted_return", lambda world, policy, reward: 9.0 + policy)
    said, steps = [], []
    frame = Frame(tmp_path, say=said.append, progress=lambda _, *step: steps.append(step))
    RobustSetsStudy("three-state", 0.0, (0.1, 0.25), 9).run(frame)
    assert steps == [(0, 2), (1, 2)]
    assert (tmp_path / "robust-sets-0.25.md").read_text().splitlines()[2] == "| standard | 0.1235 | 2 | 3 | 4 | 5 |"
    assert said[0].startswith("three-state, noises 0 and 0.1, d = 0.2, best return 9\n\n| learned against |")
