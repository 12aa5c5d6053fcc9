"""Section 3.3 with both of its policies, at its smallest."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.paper.studies import transfer_policies
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.transfer_policies import Row, TransferPolicies, compare, summarize
from robustirl.planning import expert_policy, state_occupancy


@pytest.mark.slow
def test_the_three_state_example():
    """The expert slips to state 2 with 0.1. Its own world's reward makes π* go to state 1; the soft policy wavers."""
    env = ThreeState()
    rows = {row.train: row for row in compare(env.mdp(0.0), env.mdp(0.1), np.asarray(env.reward))}
    there, here = rows["M^E"], rows["M^L"]
    assert there.optimal == pytest.approx(there.best)
    assert here.optimal == pytest.approx(here.best)  # A reward that only leans towards state 1 suffices for π*.
    assert here.soft < here.best - 0.1  # The soft policy repeats the expert's slips:
    noisy, reward = env.mdp(0.1), np.asarray(env.reward)
    earned = np.asarray(state_occupancy(noisy, expert_policy(noisy, reward, kind="optimal"))) @ reward
    assert here.soft == pytest.approx(earned / (1 - env.discount), abs=2e-3)  # it earns what the expert does.
    assert rows["game"].soft == pytest.approx(rows["game"].best, abs=0.01)  # Theorem 4: α = 1 - d/2 undoes the slips.
    for row in (there, here):
        assert row.best - row.soft <= row.bound_soft
        assert row.best - row.optimal <= row.bound_optimal
        assert row.bound_soft < row.bound_optimal


def test_rewards_are_learned_in_either_world_and_against_the_opponent_of_the_rule(monkeypatch):
    env, asked = ThreeState(), []

    def fit(world, rho, *, alpha, throw):
        asked.append((float(world.kernel.to_array()[0, 0, 2]), rho, alpha, throw))
        verdict = SimpleNamespace(occupancy_gap=0.125)
        return SimpleNamespace(player="player", reward=f"reward {len(asked)}", verdict=verdict)

    def bound(learner, expert, train, true, learned, **policies):
        return SimpleNamespace(value=f"{learned}, {len(policies)}")

    earned = {"expert": 8.0, "player": 2.0, "soft": 3.0, "optimal": 4.0}
    stand_ins = {
        "fit": fit,
        "state_occupancy": lambda world, policy: policy,
        "expert_policy": lambda world, reward, temperature: (
            None if temperature else "optimal" if isinstance(reward, str) else "expert"
        ),
        "solve": lambda world, reward: SimpleNamespace(player="soft"),
        "discounted_return": lambda world, policy, reward: earned[policy],
        "transfer_bound": bound,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(transfer_policies, name, stand_in)
    there, here, game = compare(env.mdp(0.0), env.mdp(0.25), np.asarray(env.reward))
    assert asked == [
        (0.25, "expert", 1.0, False),
        (0.0, "expert", 1.0, False),
        (0.0, "expert", 0.75, False),
    ]  # d = 0.5.
    assert there == Row("M^E", 0.125, 3.0, 4.0, 8.0, "reward 1, 0", "reward 1, 2")  # pyright: ignore
    assert here == Row("M^L", 0.125, 3.0, 4.0, 8.0, "reward 2, 0", "reward 2, 2")  # pyright: ignore
    assert (game.train, game.soft, game.optimal, game.best) == ("game", 2.0, 4.0, 8.0)
    assert np.isnan([game.bound_soft, game.bound_optimal]).all()


def test_the_table_has_every_pair_of_noises_that_differ(tmp_path, monkeypatch):
    def stand_in(learner, expert, reward):
        """Rows whose numbers are the slips of the two worlds."""
        own, other = (float(world.kernel.to_array()[0, 0, 2]) for world in (learner, expert))
        yield Row("M^E", 0.125, own, other, -2.0, 3.0, 4.0)
        yield Row("game", 0.5, -3.0, -2.5, -2.0, np.nan, np.nan)

    monkeypatch.setattr(transfer_policies, "compare", stand_in)
    steps = []
    frame = Frame(tmp_path, say=lambda _: None, progress=lambda _, *step: steps.append(step))
    TransferPolicies(environments=("three-state",), noises=(0.0, 0.25)).run(frame)
    assert steps == [(0, 2), (1, 2), (2, 2)]
    assert (tmp_path / "transfer-policies.md").read_text().splitlines()[2:] == [
        "| three-state | 0, 0.25 | M^E | 0.12 | 0 | 0.25 | -2 | 3 | 4 |",
        "| three-state | 0, 0.25 | game | 0.5 | -3 | -2.5 | -2 | nan | nan |",
        "| three-state | 0.25, 0 | M^E | 0.12 | 0.25 | 0 | -2 | 3 | 4 |",
        "| three-state | 0.25, 0 | game | 0.5 | -3 | -2.5 | -2 | nan | nan |",
    ]
    assert (tmp_path / "transfer-policies-loss.md").exists()
    with pytest.raises(InvalidInputError, match=r"^--noises is \(0\.1, 0\.1\), but at least two different noises"):
        TransferPolicies(noises=(0.1, 0.1)).run(frame)


def test_losses_are_shares_of_the_best_return_for_noisier_and_calmer_experts():
    row = Row("M^E", 0.0, soft=-3.0, optimal=-2.5, best=-2.0, bound_soft=0.0, bound_optimal=0.0)
    other = Row("M^E", 0.0, soft=1.0, optimal=4.0, best=4.0, bound_soft=0.0, bound_optimal=0.0)
    assert summarize([("a", 0.0, 0.1, row), ("a", 0.0, 0.2, other), ("a", 0.2, 0.1, other)]) == [
        ("noisier", "M^E", "0.625", "0.125", "2"),
        ("calmer", "M^E", "0.750", "0.000", "1"),
    ]
