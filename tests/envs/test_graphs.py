"""Worlds of graphs: a path with closed forms, copies for destinations, closures, and what is refused."""

from typing import Any

import equinox as eqx
import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.envs import graphs
from robustirl.envs.graphs import successor_table
from robustirl.mdp import DenseKernel, WrongActionKernel
from robustirl.planning import solve, state_occupancy

PATH = [[0, 1], [1, 2], [2, 3]]


def test_a_path_is_walked_to_its_end():
    env = envs.from_graph(PATH, destinations=[3], discount=0.5)
    world = env.mdp()
    assert (world.num_states, world.num_actions) == (4, 2)
    value = solve(world, 100 * env.reward).value  # Beside 100 a step, the entropy of going to and fro is small.
    np.testing.assert_allclose(value, [-175, -150, -100, 0], atol=2)


def test_a_wrong_turn_is_one_of_the_edges_of_the_node():
    kernel: Any = envs.from_graph(PATH, destinations=[3]).mdp(0.2).kernel
    array = np.asarray(kernel.to_array())
    np.testing.assert_allclose(array[1], [[0.9, 0, 0.1, 0], [0.1, 0, 0.9, 0]], atol=1e-15)
    np.testing.assert_allclose(array[0], [[0, 1, 0, 0], [0, 0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(array[3], [[0, 0, 0, 1], [0, 0, 0, 0]], atol=1e-15)
    value, measure = np.array([1.0, 2.0, 4.0, 8.0]), np.arange(8.0).reshape(4, 2) * np.asarray(kernel.exists).T

    @eqx.filter_jit  # One program instead of a small one for every operation.
    def answers(kernel, value, measure):
        return (
            kernel.expect(value),
            kernel.push(measure),
            kernel.self_transitions(),
            kernel.policy_matrix(measure),
            kernel.chain(list(measure.T)).expect(value),
            kernel.row_distances(DenseKernel(array)),
        )

    expected = (
        array @ value,
        np.einsum("sa,sat->t", measure, array),
        np.einsum("sas->sa", array),
        np.einsum("sa,sat->st", measure, array),
        np.einsum("sa,sat,t->s", measure, array, value),
        np.zeros((4, 2)),
    )
    with double_precision():
        found = answers(kernel, value, measure)
    for mine, theirs in zip(expected, found, strict=True):
        np.testing.assert_allclose(theirs, mine, atol=1e-13)


def test_every_destination_has_a_copy_of_the_graph():
    env = envs.from_graph(PATH, destinations=[3, 0], features=np.eye(4), discount=0.5, start=[0.0, 0.5, 0.5, 0.0])
    assert env.reward.tolist() == [-1, -1, -1, 0, 0, -1, -1, -1]
    assert env.features is not None
    assert env.features.shape == (8, 4)
    assert env.features[3].tolist() == env.features[4].tolist() == [0] * 4
    world = env.mdp()
    assert np.asarray(world.initial).tolist() == [0, 0.25, 0.25, 0, 0, 0.25, 0.25, 0]
    policy = np.zeros((8, 2))
    policy[:4, 1] = policy[4:, 0] = 1  # To the right, and to the left.
    policy[[0, 3, 4, 7]] = [1, 0]
    np.testing.assert_allclose(state_occupancy(world, policy)[:4], state_occupancy(world, policy)[:3:-1], atol=1e-12)


def test_links_may_be_states_and_do_not_turn_round():
    links, following = envs.link_graph([[0, 1], [1, 2], [1, 3]])
    pairs = {(tuple(links[a].tolist()), tuple(links[b].tolist())) for a, b in following}
    assert ((0, 1), (1, 2)) in pairs
    assert ((0, 1), (1, 0)) not in pairs
    assert ((1, 2), (2, 1)) in pairs  # A dead end.
    assert len(pairs) == 9


def test_a_closure_leaves_the_other_ways(refused):
    ring = envs.from_graph([[0, 1], [1, 2], [2, 3], [3, 0]], destinations=[0])
    assert [1, 0] not in ring.without([[1, 0]]).edges.tolist()
    with refused("closed edge from node 0 to node 2", "not in the graph"):
        ring.without([[0, 2]])
    with refused("destination 0 cannot be reached from node 1", "3 such nodes"):
        ring.without([[1, 0], [3, 0]])


BAD = {
    "sink": ({"graph": [[0, 1]], "directed": True}, ["no edge leaves node 1", "destination"]),
    "parts": ({"graph": [[0, 1], [2, 3]], "destinations": [0]}, ["destination 0", "from node 2", "2 such nodes"]),
    "no-node": ({"graph": PATH, "destinations": [4]}, ["destination 4", "0 to 3"]),
    "negative": ({"graph": [[0, -1]]}, ["node -1", "from 0"]),
    "shape": ({"graph": [[0, 1, 2]]}, ["(1, 3)", "(E, 2)"]),
    "floats": ({"graph": [[0.5, 1.0]]}, ["float64", "whole numbers"]),
    "oblong": ({"graph": scipy.sparse.coo_array((2, 3))}, ["(2, 3)", "square"]),
    "reward": ({"graph": PATH, "rewards": [1.0]}, ["(1,)", "but (N,) is needed with N = 4 nodes"]),
    "features": ({"graph": PATH, "features": [1.0] * 4}, ["(4,)", "but (N, d) is needed with N = 4 nodes"]),
    "nodes": ({"graph": PATH, "num_nodes": 2}, ["number of nodes", "4"]),
}


@pytest.mark.parametrize(("given", "words"), BAD.values(), ids=BAD.keys())
def test_bad_graphs_are_refused_by_node(given, words, refused):
    with refused(*words):
        envs.from_graph(**given)


def test_a_noise_that_is_no_probability_is_refused(refused):
    base: Any = envs.from_graph(PATH, destinations=[3]).mdp().kernel
    with refused("state 2", "1.5", "probability"):
        WrongActionKernel(base, [0.0, 0.0, 1.5, 0.0])


def test_the_table_of_a_graph_with_one_way_edges():
    edges = np.array([[0, 1], [0, 2], [0, 3], [2, 0], [3, 0], [3, 2]])
    moves, there = successor_table(edges, 5)
    assert moves.tolist() == [[1, 2, 3], [1, 1, 1], [0, 2, 2], [0, 2, 3], [4, 4, 4]]
    assert there.sum(1).tolist() == [3, 0, 1, 2, 0]
    assert there[3].tolist() == [True, True, False]
    moves, there = successor_table(np.zeros((0, 2), int), 2)
    assert moves.tolist() == [[0], [1]]
    assert not there.any()


def test_memory_is_asked_for_by_the_node(monkeypatch):
    asked = []
    monkeypatch.setattr(graphs, "require_memory", lambda needed, what, remedy: asked.append((needed, what)))
    envs.from_graph(PATH)
    assert asked == [(8.0 * graphs.NUMBERS_PER_NODE * 4, "a graph of 4 nodes")]
