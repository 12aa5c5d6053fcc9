"""Groups of buses in a world of one state, and of counted choices."""

from types import SimpleNamespace

import numpy as np

from robustirl.demonstrations import Choices
from robustirl.mdp import MDP
from robustirl.paper.studies.buses_groups import Group
from robustirl.rewards import LinearReward

WORLD = MDP([[[1.0], [1.0]]], discount=0.9)
COSTS = LinearReward([[[0.0], [-1.0]]], names=["RC"])


def one_state(chosen):
    """A group with one bin: keeping is free, replacing costs RC."""
    choices = Choices([0] * len(chosen), chosen)
    return Group(0, WORLD, WORLD, choices, None)  # pyright: ignore[reportArgumentType]


def counted():
    """Stand-ins for fits in one state: the best cost makes the policy what was chosen, so it is counted."""

    def frequencies(choices):
        share = float(np.mean(choices.actions))
        return np.array([[1 - share, share]])

    def one(world, choices, *, alpha, objective, **_):
        assert (alpha, objective) == (1.0, "likelihood")
        return SimpleNamespace(player=frequencies(choices), reward=frequencies(choices))

    def joint(worlds, choices, **_):
        players = [frequencies(SimpleNamespace(actions=np.concatenate([part.actions for part in choices])))] * len(
            worlds
        )
        return SimpleNamespace(players=players, reward=players[0])

    return one, joint
