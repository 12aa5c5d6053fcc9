"""Worlds to draw, and a film in one of them."""

import numpy as np

from robustirl import MDP, envs

GRID = envs.make("gridworld-4")


def film(length, turn):
    """A pole on a cart."""
    return [
        [np.array([[-0.2 + t / 9, 0.0], [0.2 + t / 9, 0.0]]), np.array([[t / 9, 0.0], [t / 9 + turn, 1.0]])]
        for t in range(length)
    ]


def rows_of(rows, columns, extra=0):
    """A grid whose last action leads to the states that follow the cells, if there are any."""
    cells = rows * columns
    kernel = np.zeros((cells + extra, 3, cells + extra))
    for state in range(cells):
        kernel[state, 0, state + 1 if state % columns < columns - 1 else state] = 1
        kernel[state, 1, state + columns if state < cells - columns else state] = 1
        kernel[state, 2, cells if extra and state == columns - 1 else state] = 1
    for state in range(cells, cells + extra):
        kernel[state, :, state if extra == 1 else cells] = 1
    return MDP(kernel, discount=0.9)


def leaving(world, state, target):
    """The world with one action changed: in one state it leads elsewhere."""
    kernel = world.kernel.to_sparse().toarray().reshape(world.num_states, -1, world.num_states)
    kernel[state, 2] = np.eye(world.num_states)[target]
    return MDP(kernel, discount=0.9)
