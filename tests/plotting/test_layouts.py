"""Where states are drawn: grids, rows, rings and graphs, found from the moves of a world."""

import numpy as np
import pytest

from robustirl import MDP
from robustirl.plotting.layouts import Layout, layout_of
from tests.plotting.worlds import GRID, leaving, rows_of


def ring(size, *, absorbing=False):
    """A chain that is no grid: from every state to the next two."""
    kernel = np.zeros((size, 2, size))
    for state in range(size):
        for action in (0, 1):
            kernel[state, action, state if absorbing else (state + 1 + action) % size] = 1
    return MDP(kernel, discount=0.9)


@pytest.mark.parametrize(
    ("make", "kind", "shape"),
    [
        (lambda: rows_of(2, 2), "grid", (2, 2)),
        (lambda: rows_of(3, 4), "grid", (3, 4)),
        (lambda: rows_of(3, 4, extra=1), "grid", (3, 4)),
        (lambda: rows_of(2, 2, extra=1), "grid", (2, 2)),
        (lambda: rows_of(3, 4, extra=2), "graph", None),
        (lambda: ring(5), "graph", None),
        (lambda: ring(40), "graph", None),
        (lambda: ring(41), "table", None),
        (lambda: ring(6, absorbing=True), "graph", None),
        (lambda: rows_of(2, 2, extra=2), "graph", None),
        (lambda: leaving(rows_of(3, 4, extra=1), 12, 0), "graph", None),
        (lambda: leaving(rows_of(3, 4), 3, 4), "graph", None),
        (lambda: leaving(rows_of(3, 4), 4, 3), "graph", None),
        (lambda: leaving(rows_of(3, 4), 5, 4), "grid", (3, 4)),
    ],
)
def test_worlds_have_the_layout_of_their_moves(make, kind, shape):
    world = make()
    found = layout_of(world, world.num_states)
    assert (found.kind, found.shape, found.size) == (kind, shape, world.num_states)
    assert (found.positions is None) == (kind != "graph")
    assert found.cells == (0 if shape is None else shape[0] * shape[1])


def test_steps_off_the_grid_are_no_directions():
    found = layout_of(rows_of(2, 2, extra=1), 5)
    # Right, down, and nowhere, from the first cell; down, and off the grid, from the second; none from the last.
    assert found.directions().tolist()[0] == [[0, 1], [1, 0], [0, 0]]
    assert found.directions().tolist()[1] == [[0, 0], [1, 0], [0, 0]]
    assert found.directions().tolist()[3] == [[0, 0]] * 3


def test_actions_that_are_not_available_lead_nowhere():
    kernel = np.zeros((4, 2, 4))
    kernel[:, 0] = np.eye(4)[[1, 0, 3, 2]]
    kernel[:2, 1] = np.eye(4)[[2, 3]]
    found = layout_of(MDP(kernel, discount=0.9), 4)
    assert found.targets is not None
    assert found.targets[2:, 1].tolist() == [2, 3]


def test_nodes_are_as_far_apart_as_moves_need():
    # A path of four states: distances 1, 2, 3 after taking off the circle that nodes are spread on.
    kernel = np.zeros((4, 2, 4))
    for state in range(4):
        kernel[state, 0, max(state - 1, 0)] = kernel[state, 1, min(state + 1, 3)] = 1
    found = layout_of(MDP(kernel[[0, 1, 2, 3]], discount=0.9), 4)
    angles = 2 * np.pi * np.arange(4) / 4
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=1e-4)


def test_nodes_without_a_way_between_them_are_furthest_apart():
    kernel = np.zeros((4, 1, 4))
    kernel[:, 0] = np.eye(4)[[1, 0, 3, 2]]  # Two pairs.
    found = layout_of(MDP(kernel, discount=0.9), 4)
    angles = 2 * np.pi * np.arange(4) / 4
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    between = np.linalg.norm(places[:2].mean(0) - places[2:].mean(0))
    np.testing.assert_allclose(between**2, 2**2 - 1 / 2, atol=1e-6)  # Two hops, less half the pairs' own square.


def test_moves_count_one_by_one_whatever_their_chance():
    # There is a way from 0 to 1 and on to 2, none back; chances do not make a way longer.
    kernel = np.zeros((3, 2, 3))
    for action in (0, 1):  # Nor do two actions that lead the same way.
        kernel[0, action, :2], kernel[1, action, 1:], kernel[2, action, 2] = (0.75, 0.25), (0.5, 0.5), 1.0
    found = layout_of(MDP(kernel, discount=0.9), 3)
    angles = 2 * np.pi * np.arange(3) / 3
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(3), range(3))), atol=1e-4)


def test_a_step_over_several_cells_has_length_one():
    found = Layout("grid", 6, (2, 3), np.array([[2, 3], [1, 4], [0, 5], [3, 0], [4, 1], [3, 5]]))
    assert found.directions()[0].tolist() == [[0, 1], [1, 0]]
    assert found.directions()[2].tolist() == [[0, -1], [1, 0]]


def test_a_shape_may_have_as_many_cells_as_states(refused):
    assert layout_of(None, 1, (1, 1)).cells == 1
    for shape in ((0, 3), (7, 1), (3, 3)):
        with refused(f"the shape is {shape}", "at most 6 cells"):
            layout_of(None, 6, shape)
    assert layout_of(None, 6, (2, 3)).cells == 6
    assert layout_of(GRID, 36).shape == (6, 6)
    assert layout_of(GRID, 36, (4, 9)).shape == (4, 9)
