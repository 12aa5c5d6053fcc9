"""The bound from below on the occupancy gap of every policy, from a learned reward."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.irl.least_gap import _by_reward
from robustirl.mdp import MDP

# The first of two states is left for good with probability 1/2 or 1/4 a step, as one likes.
LEAVING = MDP([[[0.5, 0.5], [0.75, 0.25]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.8, initial=[1.0, 0.0])


@pytest.mark.parametrize(
    ("reward", "expert", "bound"),
    [
        # Staying as long as one can: 0.2 / (1 - 0.8 * 0.75) = 1/2 of the time in the first state, and so a return of 0.
        ([1.0, -1.0], [0.7, 0.3], 0.4),
        ([3.0, 1.0], [0.7, 0.3], 0.4),  # Neither a constant nor a factor matters.
        ([1.0, -1.0], [0.5, 0.5], 0.0),
        ([1.0, -1.0], [0.4, 0.6], 0.0),  # Worse than the best policy proves nothing.
        # Leaving as soon as one can: 0.2 / (1 - 0.8 * 0.5) = 1/3 of the time.
        ([-2.0, 0.0], [0.1, 0.9], 0.8 - 1 / 3),
        ([0.0, 0.0], [0.7, 0.3], 0.0),
        ([5.0, 5.0], [0.7, 0.3], 0.0),  # Whoever likes all states alike proves nothing.
    ],
)
def test_the_bound_by_a_reward_is_what_the_expert_has_beyond_every_policy(reward, expert, bound):
    learned = SimpleNamespace(reward=np.array(reward), expert_occupancy=np.array(expert))
    found = _by_reward(learned, LEAVING)  # pyright: ignore[reportArgumentType]
    assert bound - 1e-6 <= found <= bound + 1e-12
