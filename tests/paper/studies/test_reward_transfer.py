"""Rewards planned with in changed worlds: what the changes do, and the table of the study."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.mdp import MDP
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.reward_transfer import METHODS, RewardTransfer, changed_worlds, regret


def test_changes_are_what_they_are_called():
    env = envs.make("gridworld-4")
    calm = np.asarray(env.mdp(0.0).kernel.to_array())
    found = {(kind, strength): world for kind, strength, world in changed_worlds(env)}
    assert {kind for kind, _ in found} == {"noise", "blocked cells", "moved start", "permuted actions"}
    blocked = np.asarray(found["blocked cells", 0.3].kernel.to_array())
    entered = blocked.copy()
    entered[np.arange(36), :, np.arange(36)] = 0
    assert (entered.sum((0, 1)) == 0).sum() >= 10
    assert found["moved start", 1.0].initial[-1] == 1
    permuted = np.asarray(found["permuted actions", 0.3].kernel.to_array())
    assert np.sort(permuted, axis=1) == pytest.approx(np.sort(calm, axis=1))
    assert (permuted != calm).any()


def test_regret_is_zero_for_the_truth_and_one_for_what_acts_like_chance():
    world = MDP([[[1.0], [1.0]]], discount=0.5)
    truth = np.array([[0.0, 1.0]])
    assert regret(world, truth, truth) == 0
    assert regret(world, truth, np.zeros((1, 2))) == pytest.approx(1)


@pytest.mark.slow
def test_the_study_writes_a_column_for_every_method(tmp_path):
    printed = []
    RewardTransfer(episodes=60, draws=1).run(Frame(tmp_path, say=printed.append))
    table = (tmp_path / "reward-transfer.md").read_text()
    assert all(name in table.splitlines()[0] for name in METHODS)
    assert len(table.splitlines()) == 2 + 13
