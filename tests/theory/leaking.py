"""A two-state world in which every bound can be worked out by hand.

In s0, worth `rewards[0]`, action a1 stays but leaks to s1 with probability `leak`, and a2 goes to s1; s1, worth
`rewards[1]`, keeps itself. Two such worlds are at distance 2 |leak - leak'|.
"""

import numpy as np

from robustirl.mdp import MDP


def leaking_world(leak, discount):
    kernel = [[[1 - leak, leak], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
    return MDP(kernel, discount=discount, initial=[1.0, 0.0])


def leaving(chance):
    """The policy that takes a2 in s0 with this chance."""
    return np.array([[1 - chance, chance], [0.5, 0.5]])


def gap_of_leaving(rate, discount, magnitude=1.0):
    """What leaving s0 at this rate costs, for rewards ±magnitude: 2γx|R| / ((1-γ)(1-γ+γx))."""
    return 2 * discount * rate * magnitude / ((1 - discount) * (1 - discount + discount * rate))
