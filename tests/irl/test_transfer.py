"""Transfer through the estimated world of the expert: where it is right, and where it is not."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl import envs, planning
from robustirl.demonstrations import sample_demonstrations
from robustirl.irl import RobustIRL, fit_transfer
from robustirl.mdp import MDP

pytestmark = pytest.mark.slow


def corridor():
    """A corridor of six cells to a goal; in the expert's world slips in the middle ones fall into a hole."""
    goal, hole, over = 5, 6, 7
    calm, slippery = (np.zeros((8, 3, 8)) for _ in range(2))
    for cell in range(5):
        for action, step in enumerate((-1, 0, 1)):
            place = min(max(cell + step, 0), goal)
            calm[cell, action, place] = 1.0
            slippery[cell, action, place] += 0.8
            slippery[cell, action, hole if cell in (2, 3) and step else cell] += 0.2
    for rows in (calm, slippery):
        rows[[goal, hole, over], :, over] = 1.0
    learner, expert = (MDP(rows, discount=0.95, initial=np.eye(8)[0]) for rows in (calm, slippery))
    return SimpleNamespace(learner=learner, expert=expert, reward=np.array([-0.1] * 5 + [1.0, -1.0, 0.0]))


def walks_of(world, expert, episodes=100):
    return sample_demonstrations(world, expert, episodes=episodes, horizon=200, key=jax.random.key(0))


def test_a_corridor_with_a_hole_is_crossed_by_transfer():
    # Of the hole that the expert slips into the learner's world knows nothing, so that no policy of it matches.
    cell = corridor()
    walks = walks_of(cell.expert, planning.expert_policy(cell.expert, cell.reward, kind="optimal"))
    found = fit_transfer(cell.learner, walks)
    assert found.recommended
    assert found.note.startswith("transfer is recommended: the expert's visits are missed by 0.00")
    standard, moved = (
        float(planning.total_return(cell.learner, policy, cell.reward))
        for policy in (found.selection.fits[0].player, found.policy)
    )
    best = planning.expert_policy(cell.learner, cell.reward, kind="optimal")
    assert standard < 0.49
    assert moved == pytest.approx(float(planning.total_return(cell.learner, best, cell.reward)), abs=1e-3)


def test_a_robust_fit_or_a_match_makes_transfer_needless():
    env = envs.make("gridworld-4")
    theirs = env.mdp(0.2)
    walks = walks_of(theirs, planning.expert_policy(theirs, env.reward), 300)
    found = fit_transfer(env.mdp(0.0), walks)
    assert not found.recommended
    assert found.selection.alpha < 1
    assert "transfer is not recommended" in found.note
    same = fit_transfer(theirs, walks)
    assert not same.recommended
    assert "transfer is not recommended" in same.note


def test_relabeled_actions_are_told_by_the_estimator():
    rows = np.array([[[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]] * 3)
    ours, theirs = MDP(rows, discount=0.9), MDP(rows[:, [1, 0, 2]], discount=0.9)
    walks = walks_of(theirs, np.full((3, 3), 1 / 3), 50)
    model = RobustIRL().fit(ours, walks)
    assert any("use an action that has the outcomes of another one" in note for note in model.evidence_.notes)
    assert "the actions are named or arranged otherwise" in model.summary()
