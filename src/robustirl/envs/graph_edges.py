"""Read the edges of a graph in any of its forms: pairs, sparse matrices, graphs of NetworkX with names for nodes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, require_unmasked


def read_edges(graph: Any, num_nodes: int | None, directed: bool = False) -> tuple[np.ndarray, int, bool]:
    """Return edges, the number of nodes, and whether edges lead one way."""
    if is_networkx(graph):
        numbers = {node: number for number, node in enumerate(graph.nodes)}
        edges = np.array([[numbers[a], numbers[b]] for a, b, *_ in graph.edges], dtype=np.int64).reshape(-1, 2)
        return edges, len(numbers), bool(graph.is_directed())
    if hasattr(graph, "tocoo"):
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(f"the adjacency matrix has shape {matrix.shape}, but a square one is needed.")
        return np.stack([matrix.row, matrix.col], -1).astype(np.int64)[matrix.data != 0], matrix.shape[0], directed
    edges = as_edges(graph, "the graph")
    least = int(edges.max(initial=-1)) + 1
    nodes = max(least, 1) if num_nodes is None else as_count("the number of nodes", num_nodes, max(least, 1))
    return edges, nodes, directed


def is_networkx(graph: Any) -> bool:
    """Return whether this is a graph of NetworkX, or one like it, without importing NetworkX."""
    return hasattr(graph, "is_directed") and hasattr(graph, "nodes")


def numbered(nodes: Iterable[Any], names: tuple[Any, ...] | None, what: str) -> list[Any]:
    """Return the numbers of nodes that are given by their names.

    Without names, the nodes are returned as they are.
    """
    if names is None:
        return list(nodes)
    numbers = {name: number for number, name in enumerate(names)}
    found = []
    for node in nodes:
        if not isinstance(node, Hashable) or node not in numbers:
            raise InvalidInputError(
                f"{what} {short_repr(node)} is no node of the graph, whose first is {short_repr(names[0])}; name nodes"
                " as the graph does."
            )
        found.append(numbers[node])
    return found


def numbered_pairs(edges: Any, names: tuple[Any, ...] | None) -> Any:
    """Return edges that are pairs of names as pairs of numbers.

    Without names, the edges are returned as they are.
    """
    if names is None:
        return edges
    if isinstance(edges, np.ndarray):
        edges = edges.tolist()
    if not isinstance(edges, Iterable) or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in edges):
        raise InvalidInputError(f"the closed edges are {short_repr(edges)}, but pairs of nodes are needed.")
    return [numbered(pair, names, "the end of a closed edge") for pair in edges]


def by_number(given: Any, names: tuple[Any, ...] | None) -> Any:
    """Return a dictionary by node as a list in the order of the nodes; what is none as it is."""
    if names is None or not isinstance(given, Mapping):
        return given
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidInputError(
            f"the dictionary has no entry for node {short_repr(missing[0])} ({len(missing)} such nodes); give one for"
            " each node."
        )
    return [given[name] for name in names]


def as_edges(given: Any, what: str) -> np.ndarray:
    """Return edges as an array `[E, 2]` of whole numbers from 0, or refuse them in a sentence."""
    require_unmasked(what, given)
    try:
        edges = np.asarray(given if isinstance(given, np.ndarray) else list(given))
    except (TypeError, ValueError):  # Nothing that can be counted through, or rows of several lengths.
        raise InvalidInputError(
            f"{what} is {short_repr(given)}, but (E, 2) whole numbers are needed: the two nodes of every edge."
        ) from None
    if edges.size == 0 and edges.dtype.kind == "f":
        edges = np.zeros((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{what} has shape {edges.shape} and type {edges.dtype}, but (E, 2) whole numbers are needed: the two nodes"
            " of every edge."
        )
    if edges.size and edges.min() < 0:
        raise InvalidInputError(f"{what} names node {int(edges.min())}, but nodes are numbered from 0.")
    if edges.size:
        as_count(f"the largest node in {what}", int(edges.max()))
    return edges.astype(np.int64)


def edge_numbers(edges: Int[np.ndarray, "E 2"], nodes: int) -> Int[np.ndarray, " E"]:
    """Return one number for each edge, in the order of pairs."""
    return edges[:, 0] * nodes + edges[:, 1]


def sorted_edges(edges: Int[np.ndarray, "E 2"], nodes: int) -> Int[np.ndarray, "F 2"]:
    """Return edges in order, none twice.

    They are sorted as single numbers, which is ten times as fast as sorting pairs.
    """
    return np.stack(np.divmod(np.unique(edge_numbers(edges, nodes)), nodes), -1)
