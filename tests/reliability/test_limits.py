"""Counts at their limit: the smallest is accepted, and one less is refused by its name.

Of functions that would compile something, what they hand their numbers to is replaced.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from robustirl.control import collect, linear_policy, measure_returns, network_policy, ppo_training, rollouts
from robustirl.demonstrations import Demonstrations, Recordings
from robustirl.envs import GaussianGrid, graph_positions
from robustirl.envs.objectworld import object_world
from robustirl.irl import clone_behavior
from robustirl.irl.adversarial import cloning
from robustirl.mdp import MDP
from robustirl.rewards import ConvolutionalReward

KEY = jax.random.key(0)
SEEN = Recordings.from_arrays([np.zeros((3, 2))], [np.zeros((2, 1))])
MOVES = Demonstrations.from_arrays([[0, 1, 2]], [[0, 1]])
POLICY = linear_policy(7, 2)


def convolutional(**given):
    return ConvolutionalReward(np.eye(4), **{"shape": (2, 2), "key": KEY} | given)


LIMITS: dict[str, tuple[Callable[[int], Any], int, str]] = {
    "episodes": (lambda n: collect(GaussianGrid(), POLICY, episodes=n, horizon=1, key=KEY), 1, "episodes"),
    "horizon": (lambda n: collect(GaussianGrid(), POLICY, episodes=1, horizon=n, key=KEY), 1, "the horizon"),
    "measured horizon": (
        lambda n: measure_returns([GaussianGrid()], [POLICY], keys=[KEY], episodes=1, horizon=n),
        *(1, "the horizon"),
    ),
    "measured episodes": (lambda n: measure_returns([GaussianGrid()], [POLICY], keys=[KEY], episodes=n), 1, "episodes"),
    "features": (lambda n: linear_policy(n, 1), 1, "the number of features"),
    "actions": (lambda n: linear_policy(1, n), 1, "the action size"),
    "hidden layer": (lambda n: network_policy(1, 1, hidden=(n,), key=KEY), 1, "the width of a hidden layer"),
    "cloning steps": (lambda n: clone_behavior(SEEN, steps=n, key=KEY), 1, "steps"),
    "cloning batch": (lambda n: clone_behavior(SEEN, batch=n, key=KEY), 1, "batch"),
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
def test_the_smallest_count_is_accepted_and_one_less_refused(make, least, name, refused, monkeypatch):
    monkeypatch.setattr(rollouts, "_collect", lambda *given: given)
    monkeypatch.setattr(ppo_training, "_measure_batch", lambda *given: (given, None))
    monkeypatch.setattr(cloning, "_clone", lambda seen, *_: seen)
    make(least)
    with refused(f"{name} is {least - 1}"):
        make(least - 1)
