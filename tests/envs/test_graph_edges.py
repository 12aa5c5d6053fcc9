"""Edges, matrices and graphs of networkx are one graph."""

import types

import numpy as np
import scipy.sparse

from robustirl import envs
from robustirl.envs.graph_edges import as_edges, is_networkx, read_edges

PATH = [[0, 1], [1, 2], [2, 3]]


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


def test_what_has_nodes_alone_is_no_graph_of_networkx():
    assert is_networkx(NAMED)
    assert not is_networkx(types.SimpleNamespace(nodes=[]))
    assert not is_networkx(types.SimpleNamespace(is_directed=bool))
