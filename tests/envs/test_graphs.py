"""Worlds of graphs: a path with closed forms, copies for destinations, closures, files, and what is refused."""

import gzip
import types
from typing import Any

import equinox as eqx
import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.envs import graphs
from robustirl.envs.graph_edges import as_edges, read_edges
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


NAMED = types.SimpleNamespace(nodes=list("abcd"), edges=[("a", "b"), ("b", "c"), ("c", "d")], is_directed=bool)


def test_edges_matrices_and_networkx_graphs_are_one_graph():
    matrix = scipy.sparse.coo_array((np.ones(3), np.transpose(PATH)), shape=(4, 4))
    for given, end in ((np.array(PATH), 3), (matrix, 3), (NAMED, "d")):
        found = envs.from_graph(given, destinations=[end])
        assert found.edges.tolist() == sorted(PATH + [[b, a] for a, b in PATH])
        assert found.destinations == (3,)


def test_nodes_of_networkx_keep_their_names(refused):
    costs = dict(zip("abcd", [-1.0, -2.0, -3.0, -4.0], strict=True))
    town = envs.from_graph(NAMED, destinations=["d"], rewards=costs)
    assert town.node_rewards.tolist() == list(costs.values())
    assert [2, 1] not in town.without([("c", "b")]).edges.tolist()
    with refused("closed edge from node 'a' to node 'c'", "not in the graph"):
        town.without([("a", "c")])
    with refused("end of a closed edge 'x'", "whose first is 'a'"):
        town.without([("a", "x")])
    with refused("pairs of nodes"):
        town.without(["abc"])
    with refused("destination 3 is no node"):
        envs.from_graph(NAMED, destinations=[3])
    with refused("no entry for node 'b'", "3 such nodes"):
        envs.from_graph(NAMED, rewards={"a": 1.0})


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


def test_a_noise_that_is_no_probability_is_refused(refused):
    base: Any = envs.from_graph(PATH, destinations=[3]).mdp().kernel
    with refused("state 2", "1.5", "probability"):
        WrongActionKernel(base, [0.0, 0.0, 1.5, 0.0])


def test_dimacs_files_are_read(tmp_path, refused):
    plain, packed, cut = tmp_path / "a.gr", tmp_path / "b.gr.gz", tmp_path / "c.gr"
    plain.write_text("c roads\np tw 3 2\n1 2\n2 3\n")
    packed.write_bytes(gzip.compress(b"p sp 3 2\na 1 2 803\na 2 3 158\n"))
    cut.write_text("p tw 3 2\n1 2\n")
    for path in (plain, packed):
        edges, nodes = envs.read_graph(path)
        assert (edges.tolist(), nodes) == ([[0, 1], [1, 2]], 3)
    with refused("1 edges", "says 2"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 1\n1 4\n")
    with refused("node 4", "1 to 3"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 2\n1 2\n0 3\n")
    with refused("names node 0", "1 to 3"):
        envs.read_graph(cut)
    for word in ("x", "-1", "9" * 40):
        cut.write_text(f"p tw {word} 1\n1 2\n")
        with refused(f"says '{word[:9]}", "for the number of nodes", "a whole number of at most"):
            envs.read_graph(cut)
    for path, why in ((tmp_path / "none", "(No such file or directory)"), (tmp_path / "d.gz", "(Not a gzipped file")):
        (tmp_path / "d.gz").write_text("p tw 3 2\n")
        with refused(f"{path} cannot be read {why}", "give the path of a DIMACS graph"):
            envs.read_graph(path)
    cut.write_text("1 2\n")
    with refused("does not begin"):
        envs.read_graph(cut)
    cut.write_text("p tw 3 2\ne 1 2\na 2 3 9\n")
    with refused("has lines that begin with 'a, e', but edges are all written in one way"):
        envs.read_graph(cut)


def test_a_sparse_matrix_in_a_file_is_a_world(tmp_path, refused):
    matrix = scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for form in ("csr", "csc"):
        scipy.sparse.save_npz(tmp_path / "world.npz", matrix.asformat(form))
        world = envs.from_file(tmp_path / "world.npz", discount=0.5).mdp()
        assert np.asarray(world.kernel.to_array()).tolist() == [[[0, 1], [1, 0]], [[1, 0], [0, 1]]]
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.coo_array(matrix))
    with refused("kernel"):
        envs.from_file(tmp_path / "world.npz")
    scipy.sparse.save_npz(tmp_path / "world.npz", scipy.sparse.csr_array(np.ones((3, 2))))
    with refused("(3, 2)", "multiple"):
        envs.from_file(tmp_path / "world.npz")


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
