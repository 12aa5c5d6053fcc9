"""Counts at their limit: the smallest is accepted, and one less is refused by its name.

Of functions that would compile something, what they hand their numbers to is replaced.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.envs import graph_positions
from robustirl.envs.objectworld import object_world
from robustirl.mdp import MDP
from robustirl.rewards import ConvolutionalReward

KEY = jax.random.key(0)
MOVES = Demonstrations.from_arrays([[0, 1, 2]], [[0, 1]])


def convolutional(**given):
    return ConvolutionalReward(np.eye(4), **{"shape": (2, 2), "key": KEY} | given)


LIMITS: dict[str, tuple[Callable[[int], Any], int, str]] = {
    "size of an object world": (lambda n: object_world(seed=0, size=n, num_objects=2), 2, "the size"),
    "pivots": (lambda n: graph_positions([[0, 1], [1, 2]], pivots=n), 2, "the number of pivots"),
    "states": (lambda n: MDP.from_transitions(MOVES, discount=0.9, num_states=n), 3, "the number of states"),
    "moves": (lambda n: MDP.from_transitions(MOVES, discount=0.9, num_actions=n), 2, "the number of actions"),
    "width": (lambda n: convolutional(width=n), 1, "the width"),
    "depth": (lambda n: convolutional(depth=n), 0, "the depth"),
    "kernel": (lambda n: convolutional(kernel_size=n), 1, "the kernel size"),
}


@pytest.mark.parametrize(("make", "least", "name"), LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.usefixtures("mistyped")
def test_the_smallest_count_is_accepted_and_one_less_refused(make, least, name, refused):
    make(least)
    with refused(f"{name} is {least - 1}"):
        make(least - 1)
