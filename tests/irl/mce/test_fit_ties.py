"""Fits begin at a reward of zero, where all actions are alike: large worlds must say so, too."""

import numpy as np

from robustirl.irl import fit
from robustirl.mdp import MDP, SuccessorKernel, uniform_policy
from robustirl.planning import state_occupancy


def walled(height, width):
    """A grid in which moves against a wall stay, so that diagonals differ; every move goes astray sometimes."""
    states = np.arange(height * width)
    row, column = np.divmod(states, width)
    up, down = np.maximum(row - 1, 0), np.minimum(row + 1, height - 1)
    left, right = np.maximum(column - 1, 0), np.minimum(column + 1, width - 1)
    ahead = np.stack([up * width + column, row * width + left, row * width + right, down * width + column], 1)
    ahead[states.size // 2] = states.size // 2  # A goal that is never left.
    places = np.broadcast_to(ahead[:, None], (states.size, 4, 4))
    chances = np.broadcast_to(np.full((4, 4), 0.025) + 0.9 * np.eye(4), places.shape)
    return MDP(SuccessorKernel(places, chances), discount=0.99)


def test_an_expert_who_acts_at_random_is_matched_at_once():
    world = walled(36, 40)
    assert world.kernel.halves() is not None
    expert = np.asarray(state_occupancy(world, uniform_policy(world.mask)))
    found = fit(world, expert, alpha=0.9, steps=5, throw=False)
    assert (bool(found.verdict.converged), int(found.verdict.steps)) == (True, 0)
    np.testing.assert_array_equal(found.opponent, 0.25)
