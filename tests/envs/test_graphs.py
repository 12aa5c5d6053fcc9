"""Worlds of graphs: a path with closed forms, copies for destinations, closures, files, positions, refusals."""

import gzip
import lzma
import types

import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl.envs.graphs import as_edges, graph_positions, read_edges, successor_table
from robustirl.planning import solve, state_occupancy

PATH = [[0, 1], [1, 2], [2, 3]]


def test_a_path_is_walked_to_its_end():
    env = envs.from_graph(PATH, destinations=[3], discount=0.5)
    world = env.mdp()
    assert (world.num_states, world.num_actions) == (4, 2)
    value = solve(world, 100 * env.reward).value  # Beside 100 a step, the entropy of going to and fro is small.
    np.testing.assert_allclose(value, [-175, -150, -100, 0], atol=2)


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
    links, following = envs.graphs.link_graph([[0, 1], [1, 2], [1, 3]])
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


def test_the_table_of_a_graph_with_one_way_edges():
    edges = np.array([[0, 1], [0, 2], [0, 3], [2, 0], [3, 0], [3, 2]])
    moves, there = successor_table(edges, 5)
    assert moves.tolist() == [[1, 2, 3], [1, 1, 1], [0, 2, 2], [0, 2, 3], [4, 4, 4]]
    assert there.sum(1).tolist() == [3, 0, 1, 2, 0]
    assert there[3].tolist() == [True, True, False]
    moves, there = successor_table(np.zeros((0, 2), int), 2)
    assert moves.tolist() == [[0], [1]]
    assert not there.any()


NAMED = types.SimpleNamespace(nodes=list("abcd"), edges=[("a", "b"), ("b", "c"), ("c", "d")], is_directed=bool)


def test_edges_matrices_and_networkx_graphs_are_one_graph():
    matrix = scipy.sparse.coo_array((np.ones(3), np.transpose(PATH)), shape=(4, 4))
    for given, end in ((np.array(PATH), 3), (matrix, 3), (NAMED, "d")):
        found = envs.from_graph(given, destinations=[end])
        assert found.edges.tolist() == sorted(PATH + [[b, a] for a, b in PATH])
        assert found.destinations == (3,)


def test_a_graph_without_edges_has_one_node(refused):
    assert read_edges([], None, directed=False)[1] == 1
    assert read_edges([], 1, directed=False)[1] == 1
    assert read_edges([[0, 2]], None, directed=False)[1] == read_edges([[0, 2]], 3, directed=False)[1] == 3
    for edges, nodes in (([], 0), ([[0, 2]], 2)):
        with refused(f"the number of nodes is {nodes}"):
            read_edges(edges, nodes, directed=False)


def test_edges_may_be_counted_through_once():
    edges = as_edges(iter([(0, 2), (1, 0)]), "the graph")
    assert (edges.tolist(), edges.dtype) == ([[0, 2], [1, 0]], np.int64)
    assert as_edges([], "the graph").shape == (0, 2)


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


def test_a_wrong_turn_is_one_of_the_edges_of_the_node():
    kernel = envs.from_graph(PATH, destinations=[3]).mdp(0.2).kernel
    array = kernel.to_sparse().toarray().reshape(4, 2, 4)
    np.testing.assert_allclose(array[1], [[0.9, 0, 0.1, 0], [0.1, 0, 0.9, 0]], atol=1e-15)
    np.testing.assert_allclose(array[0], [[0, 1, 0, 0], [0, 0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(array[3], [[0, 0, 0, 1], [0, 0, 0, 0]], atol=1e-15)
    value, measure = np.array([1.0, 2.0, 4.0, 8.0]), np.arange(8.0).reshape(4, 2) * (array.sum(-1) > 0)
    np.testing.assert_allclose(kernel.expect(value), array @ value, atol=1e-6)
    np.testing.assert_allclose(kernel.push(measure), np.einsum("sa,sat->t", measure, array), atol=1e-6)


def test_nodes_of_networkx_keep_their_names():
    costs = dict(zip("abcd", [-1.0, -2.0, -3.0, -4.0], strict=True))
    town = envs.from_graph(NAMED, destinations=["d"], rewards=costs)
    assert town.node_rewards.tolist() == list(costs.values())
    assert [2, 1] not in town.without([("c", "b")]).edges.tolist()


def test_dimacs_files_are_read(tmp_path):
    path = tmp_path / "a.gr"
    for end in ("\n", "\r\n", "\r"):
        path.write_bytes(end.join(["c x", "p tw 3 2", "", "e 1 2", "c y", "e 2 3"]).encode())
        assert envs.graphs.read_graph(path)[0].tolist() == [[0, 1], [1, 2]]
    for name, pack in (("b.gr.gz", gzip.compress), ("b.gr.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(b"p sp 3 2\na 1 2 803\na 2 3 158\n"))
        edges, nodes = envs.graphs.read_graph(tmp_path / name)
        assert (edges.tolist(), nodes) == ([[0, 1], [1, 2]], 3)
    path.write_text("p tw 3 0\n")
    assert envs.graphs.read_graph(path)[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("p tw 3 2\n1 2\n", ["1 edges", "says 2"]),
        ("p tw 3 1\n1 4\n", ["node 4", "1 to 3"]),
        ("p tw 3 2\n1 2\n0 3\n", ["names node 0", "1 to 3"]),
        ("p tw x 1\n1 2\n", ["does not begin with a line 'p NAME nodes edges'"]),
        ("1 2\n", ["does not begin"]),
        ("p tw 3 2\ne 1 2\na 2 3 9\n", ["in several ways"]),
        ("p tw 3 1\n1 x\n", ["has a line that is no edge"]),
        ("p tw 3 1\n1 é\n", ["cannot be read"]),
    ],
)
def test_what_is_no_graph_is_refused(tmp_path, content, words, refused):
    (tmp_path / "a.gr").write_text(content)
    with refused(*words):
        envs.graphs.read_graph(tmp_path / "a.gr")


BAD = {
    "sink": ({"graph": [[0, 1]], "directed": True}, ["no edge leaves node 1", "destination"]),
    "parts": ({"graph": [[0, 1], [2, 3]], "destinations": [0]}, ["destination 0", "from node 2", "2 such nodes"]),
    "no-node": ({"graph": PATH, "destinations": [4]}, ["destination 4", "0 to 3"]),
    "negative": ({"graph": [[0, -1]]}, ["node -1", "from 0"]),
    "shape": ({"graph": [[0, 1, 2]]}, ["(1, 3)", "(E, 2)"]),
    "floats": ({"graph": [[0.5, 1.0]]}, ["float64", "whole numbers"]),
    "oblong": ({"graph": scipy.sparse.coo_array((2, 3))}, ["(2, 3)", "square"]),
    "features": ({"graph": PATH, "features": [1.0] * 4}, ["(4,)", "but (N, d) is needed with N = 4 nodes"]),
    "name": ({"graph": NAMED, "destinations": [3]}, ["destination 3 is no node", "'a'"]),
    "entry": ({"graph": NAMED, "rewards": {"a": 1.0}}, ["no entry for node 'b'"]),
}


@pytest.mark.parametrize(("given", "words"), BAD.values(), ids=BAD.keys())
def test_bad_graphs_are_refused_by_node(given, words, refused):
    with refused(*words):
        envs.from_graph(**given)
