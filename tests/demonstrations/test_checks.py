"""Demonstrations against worlds."""

import jax
import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations, sample_demonstrations
from robustirl.mdp import MDP, SuccessorKernel
from tests.strategies import tasks

# From 0 by action 0 to 1 and by action 1 to 2; from 1 by action 0 to 2 alone, action 1 is missing; 2 stays.
KERNEL = np.zeros((3, 2, 3))
KERNEL[0, 0, 1] = KERNEL[0, 1, 2] = KERNEL[1, 0, 2] = KERNEL[2, :, 2] = 1
WORLD = MDP(KERNEL, discount=0.9)
NEXT = np.array([[[1], [2]], [[2], [0]], [[2], [2]]])
LISTED = MDP(SuccessorKernel(NEXT, np.ones((3, 2, 1))), discount=0.9, mask=np.asarray(WORLD.mask))
SLIPPERY = MDP(np.where(WORLD.mask[..., None], 0.5 * KERNEL + 0.5 / 3, 0), discount=0.9)


@pytest.mark.parametrize("world", [WORLD, LISTED])
def test_what_the_world_allows_passes(world):
    demos = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[0, 0], [1]], terminated=True)
    demos.check_against(world)
    demos.check_possible(world)
    demos.without_actions().check_possible(world)


@given(tasks())
def test_what_was_sampled_in_a_world_is_possible_there(task):
    mdp, policy, _ = task
    demos = sample_demonstrations(mdp, policy, episodes=5, horizon=6, key=jax.random.key(0))
    demos.check_possible(mdp)
    demos.without_actions().check_possible(mdp)


def test_states_and_actions_beyond_the_world_are_refused(refused):
    with refused("episode 1", "state 3", "step 1", "3 states"):
        Demonstrations.from_arrays([[0, 1], [0, 3]]).check_against(WORLD)
    with refused("states from 2 to 3 and never 0", "first_state=1"):
        Demonstrations.from_arrays([[2, 3]]).check_against(WORLD)
    for states in ([0, 3], [1, 4]):
        with refused("renumber the states or give the world"):
            Demonstrations.from_arrays([states]).check_against(WORLD)
    with refused("episode 0", "action 2", "step 0", "2 actions"):
        Demonstrations.from_arrays([[0, 1]], [[2]]).check_against(WORLD)
    with refused("episode 1", "action 1", "state 1", "step 1", "does not offer"):
        Demonstrations.from_arrays([[0], [0, 1, 2]], [[], [0, 1]]).check_against(WORLD)


@pytest.mark.parametrize("world", [WORLD, LISTED])
def test_impossible_moves_are_refused(world, refused):
    with refused("episode 1", "from state 1 to state 0", "step 1", "any available action", "the world given"):
        Demonstrations.from_arrays([[0, 1], [0, 1, 0]]).check_possible(world)
    with refused("episode 0", "from state 0 to state 2", "step 0", "action 0"):
        Demonstrations.from_arrays([[0, 2]], [[0]]).check_possible(world)
    Demonstrations.from_arrays([[0, 2]]).check_possible(world)


def test_a_move_need_be_possible_in_one_world_only(refused):
    demos = Demonstrations.from_arrays([[0, 1, 0]])
    demos.check_possible(WORLD, SLIPPERY)
    with refused("each of the 2 worlds"):
        demos.check_possible(WORLD, LISTED)


def test_an_end_must_be_one_in_some_world(refused):
    demos = Demonstrations.from_arrays([[0], [0, 1]], terminated=[False, True])
    with refused("episode 1", "state 1", "truncated"):
        demos.check_possible(WORLD)
    there = Demonstrations.from_arrays([[0, 2]], terminated=True)
    there.check_possible(SLIPPERY, WORLD)
    with refused("terminated in state 2"):
        there.check_possible(SLIPPERY)


def test_at_least_one_world_is_needed(refused):
    with refused("no world"):
        Demonstrations.from_arrays([[0]]).check_possible()
