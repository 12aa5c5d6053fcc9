"""Absorbing states, of worlds and of lists of successors."""

import numpy as np

from robustirl.mdp import MDP, absorbing_states, never_left


def test_absorbing_states_go_by_available_actions():
    kernel = np.zeros((2, 2, 2))
    kernel[0, 0, 0] = kernel[0, 1, 1] = kernel[1, 0, 1] = 1
    assert absorbing_states(MDP(kernel, discount=0.5)).tolist() == [False, True]
    masked = MDP(kernel, discount=0.5, mask=[[True, False], [True, False]])
    assert absorbing_states(masked).tolist() == [True, True]


def test_rounding_does_not_make_a_state_leavable_but_a_leak_does():
    rounded = MDP([[[1 - 1e-12, 1e-12]], [[1e-6, 1 - 1e-6]]], discount=0.5)
    assert absorbing_states(rounded).tolist() == [True, False]


def test_a_listed_successor_of_probability_zero_leaves_nothing():
    places = np.array([[[1, 0]], [[0, 1]], [[2, 2]]])
    chances = np.array([[[0.0, 1.0]], [[0.1, 0.9]], [[0.5, 0.5]]])
    assert never_left(places, chances).tolist() == [True, False, True]
