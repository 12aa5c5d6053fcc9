"""The grid of `scale_world.py` as a user's world: lists of successors, its states numbered at random.

The two worlds are one, so that whatever is computed in them must agree, and what differs in time is the price of lists
and of their order in memory.
"""

import numpy as np

import scale_world
from robustirl.mdp import MDP, SuccessorKernel


def irregular(states: int, noise: float, discount: float = 0.99, seed: int = 0) -> tuple[MDP, np.ndarray, np.ndarray]:
    """Return the world of lists, its reward, and the number that each cell of the grid has in it."""
    grid, reward = scale_world.grid(states, noise, "uniform-action", discount)
    matrix = grid.kernel.to_sparse()
    actions, size = grid.num_actions, grid.num_states
    lengths = np.diff(matrix.indptr)
    longest = int(lengths.max())
    filled = np.arange(longest) < lengths[:, None]
    places, chances = np.zeros((size * actions, longest), np.int64), np.zeros((size * actions, longest))
    places[filled], chances[filled] = matrix.indices, matrix.data
    number = np.random.default_rng(seed).permutation(size)
    back = np.argsort(number)
    shape = (size, actions, longest)
    kernel = SuccessorKernel(number[places].reshape(shape)[back], chances.reshape(shape)[back])
    world = MDP(kernel, discount=discount, initial=np.asarray(grid.initial)[back], mask=np.asarray(grid.mask)[back])
    return world, reward[back], number
