"""Transfer through the estimated world of the expert: when it is recommended."""

from types import SimpleNamespace

import jax
import numpy as np

from robustirl import envs
from robustirl.demonstrations import sample_demonstrations
from robustirl.irl import fit_transfer, select_alpha
from robustirl.irl.transfer import compare_transfer
from robustirl.mdp import MDP
from robustirl.planning import expert_policy


def test_a_plan_for_a_reward_of_the_experts_world():
    """The expert's actions lead elsewhere than the learner's: only its own world explains what it did."""
    env = envs.make("gridworld-4")
    world = env.mdp(0.0)
    kernel = np.asarray(world.kernel.dense())
    rows = np.where(np.asarray(world.mask)[..., None], kernel, np.eye(36)[:, None])  # Where there is no move one stays.
    theirs, world = (
        MDP(rows[:, order], discount=0.9, initial=np.asarray(world.initial)) for order in ([1, 2, 3, 0], [0, 1, 2, 3])
    )
    walks = sample_demonstrations(
        theirs, expert_policy(theirs, env.reward), episodes=200, horizon=100, key=jax.random.key(0)
    )
    selection = select_alpha(world, walks, candidates=[1, 0.9])
    found = fit_transfer(world, walks, selection=selection)
    assert found.selection is selection
    np.testing.assert_allclose(found.policy.sum(1), 1)
    assert found.note.startswith("Transfer is")
    assert found.recommended == found.note.startswith("Transfer is recommended")


def case(theirs, policy):
    """Return a choice between going right and left by hand: the reward is at the right, and so is the expert."""
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[1, :, 1] = kernel[2, :, 2] = 1
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0, 0.0])
    mixed = np.full((3, 2), 0.5)
    one = SimpleNamespace(reward=np.array([0.0, 1.0, 0.0]))
    selection = SimpleNamespace(
        gaps=np.array([0.3, 0.4]), error=0.05, fits=(one, one), policy=mixed, alpha=0.9, open=np.array([True, False])
    )
    expert = np.array([0.5, 0.5, 0.0])
    found = SimpleNamespace(
        verdict=SimpleNamespace(gap=theirs), reward=np.array([0.0, 0.0, 1.0]), expert_occupancy=expert
    )
    return compare_transfer(world, selection, policy, found)


def test_the_rule_by_hand():
    right, left = np.array([[1.0, 0.0]] * 3), np.array([[0.0, 1.0]] * 3)
    # The estimated world explains nothing: only the learner's hypothesis counts, under which right loses nothing.
    assert case(0.9, right)[0]
    assert not case(0.9, left)[0]
    # It alone explains the visits: its reward is at the left, but the expert's end is at the right.
    recommended, note = case(0.1, left)
    assert not recommended
    assert "arrives at the expert's ends less often" in note
    assert "0 % in the mean of 1 open" in note
