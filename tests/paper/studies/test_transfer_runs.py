"""Runs of the study: regret, rewards that are none, and what a method is shown."""

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.studies.transfer_runs import as_learned, regret
from tests.paper.studies.tiny_family import tiny

__all__ = ["tiny"]  # A fixture.


def test_regret_is_zero_for_the_truth_and_one_for_what_acts_like_chance():
    world = MDP([[[1.0], [1.0]]], discount=0.5)
    truth = np.array([[0.0, 1.0]])
    assert regret(world, truth, truth) == 0
    assert regret(world, truth, np.zeros((1, 2))) == pytest.approx(1)
    # Against a plain policy that always takes the worse action, chance has a regret of a half.
    assert regret(world, truth, np.zeros((1, 2)), lambda _: np.array([[1.0, 0.0]])) == pytest.approx(0.5)


def test_rewards_that_are_none_are_refused_by_the_name_of_their_method():
    world = MDP([[[1.0], [1.0]]], discount=0.5)
    assert as_learned("mine", [[1, 2]], world).tolist() == [[1.0, 2.0]]
    for reward, reason in (([1.0, 2.0], r"of shape \(2,\)"), ([np.nan], "entries"), (["much"], "entries")):
        with pytest.raises(InvalidInputError, match=f"the method 'mine' returned a reward .*{reason}"):
            as_learned("mine", reward, world)


def test_a_task_shows_the_expert_and_keeps_both(tiny):
    task = tiny.task(5, 3)
    assert [len(walks) for _, walks in task.others] == [5, 5]
    assert task.demonstrations is task.others[1][1]
    assert task.others[0][0] is tiny.learner
    assert [len(walk.actions) for walk in task.demonstrations] == [3] * 5
    drawn = [np.concatenate([walk.actions for walk in walks]).tolist() for _, walks in task.others]
    assert drawn[0] != drawn[1]  # Each has a key of its own.
