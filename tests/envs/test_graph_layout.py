"""Positions from distances: a path lies on a line, a long cycle is nearly round, and parts are refused."""

import numpy as np
import scipy.sparse

from robustirl.envs import graph_positions


def test_a_path_lies_on_a_line_whatever_its_numbers():
    names = np.random.default_rng(0).permutation(12)
    found = graph_positions(np.stack([names[:-1], names[1:]], 1), pivots=4)
    np.testing.assert_allclose(np.abs(found[names, 0] - found[names[0], 0]), np.arange(12), atol=1e-9)
    np.testing.assert_allclose(found[:, 1], 0, atol=1e-6)


def test_a_ring_is_round():
    ring = np.arange(40)
    found = graph_positions(scipy.sparse.coo_array((np.ones(40), (ring, np.roll(ring, -1))), shape=(40, 40)), pivots=40)
    radius = np.hypot(*found.T)
    np.testing.assert_allclose(radius, radius.mean(), rtol=1e-6)


def test_a_single_edge_and_parts(refused):
    assert np.ptp(graph_positions([[0, 1]])[:, 0]) == 1
    assert graph_positions([], num_nodes=1).tolist() == [[0, 0]]
    with refused("node 2 is not connected", "one by one"):
        graph_positions([[0, 1], [2, 3]])
    with refused("the number of pivots", "1"):
        graph_positions([[0, 1]], pivots=1)
