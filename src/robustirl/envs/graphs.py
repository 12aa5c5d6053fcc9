r"""Worlds of graphs: states are nodes, actions the edges that leave them, noise is a wrong turn.

At noise ε the chosen edge is taken with probability 1-ε, and a random edge of the node otherwise. A destination is
absorbing. With several destinations the world holds one copy of the graph for each: state d·N + n is node n on the
way to destination d. One reward, given or learned by node or by features of nodes, then serves all of them, and one fit
learns it from the trips to all.

Graphs are edges, sparse matrices, graphs of NetworkX with names for nodes, or files of the DIMACS challenges.
"""

import bz2
import dataclasses
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._check import as_count, as_floats, one_line, require_finite, require_memory, require_unmasked, short_repr
from robustirl._files import as_path, read_regular
from robustirl.envs.registry import Environment, frozen
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.builders import from_successors
from robustirl.mdp.mdp import require_discount
from robustirl.mdp.mixtures import MixtureKernel

WRONG_TURN = "wrong-turn"
NODE_BYTES = 48  # Besides those of edges: degrees, rewards, whether a destination is reached.


@dataclasses.dataclass(frozen=True, eq=False)
class GraphWorld(Environment):
    """An environment made of a graph; `from_graph` makes one.

    Args:
        name: What to call it.
        edges: `[E, 2]`, directed, sorted, none twice.
        num_nodes: N.
        destinations: Absorbing nodes; empty for a world without an end.
        node_rewards: `[N]`, R of every node, zero at a destination.
        node_features: `[N, d]`, zero at a destination; None if there are none.
        start: `[N]`, where trips begin, as a distribution; uniform if omitted, for each destination the same.
        discount: γ.
        node_names: What NetworkX calls the nodes, in the order of their numbers; None if they have no names.
    """

    edges: Int[np.ndarray, "E 2"]
    num_nodes: int
    destinations: tuple[int, ...]
    node_rewards: Float[np.ndarray, " N"]
    node_features: Float[np.ndarray, "N d"] | None = None
    start: Float[np.ndarray, " N"] | None = None
    discount: float = 0.99
    node_names: tuple[Any, ...] | None = None

    @property
    def copies(self) -> int:
        """Return how many copies of the graph the world holds: one per destination, at least one."""
        return max(len(self.destinations), 1)

    @property
    def reward(self) -> np.ndarray:
        return self._of_states(self.node_rewards)

    @property
    def features(self) -> np.ndarray | None:
        return None if self.node_features is None else self._of_states(self.node_features)

    @property
    def state_names(self) -> tuple[Any, ...] | None:
        return self.node_names if self.copies == 1 else None

    @property
    def noise_models(self) -> tuple[str, ...]:
        return (WRONG_TURN,)

    def _of_states(self, table: np.ndarray) -> np.ndarray:
        """Return numbers of nodes for the states of all copies; zero at destinations."""
        states = np.tile(table, (self.copies,) + (1,) * (table.ndim - 1))
        for copy, node in enumerate(self.destinations):
            states[copy * self.num_nodes + node] = 0
        return states

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        """Return the world at noise ε: the chance of a wrong turn."""
        self.choose_noise_model(noise, noise_model)
        moves, exists = successor_table(self.edges, self.num_nodes)
        copies = self.copies
        places = np.concatenate([moves + copy * self.num_nodes for copy in range(copies)])
        chances = np.tile(exists, (copies, 1)).astype(np.float64)
        for copy, node in enumerate(self.destinations):
            state = copy * self.num_nodes + node
            places[state], chances[state] = state, 0
            chances[state, 0] = 1
        kernel = from_successors(places[..., None], chances[..., None])
        start = np.full(self.num_nodes, 1 / self.num_nodes) if self.start is None else self.start
        if noise:
            shares = chances / chances.sum(1, keepdims=True)
            kernel = MixtureKernel(kernel, np.full(len(places), float(noise)), shares=shares)
        return MDP(kernel, discount=self.discount, initial=np.tile(start, copies) / copies, **self._labels)

    def without(self, closed: Sequence[Sequence[Any]] | Int[np.ndarray, "C 2"]) -> "GraphWorld":
        """Return the graph without some directed edges, `[C, 2]`: a world with closures.

        Edges are pairs of numbers of nodes; of a graph of NetworkX, pairs of its own nodes.

        Example:
            >>> ring = from_graph([[0, 1], [1, 2], [2, 0]], destinations=[0])
            >>> len(ring.edges), len(ring.without([[1, 0]]).edges)
            (6, 5)
        """
        if self.node_names is not None:
            closed = [_numbered(pair, self.node_names, "the end of a closed edge") for pair in closed]
        pairs = as_edges(closed, "the closed edges")
        numbers, gone = (edges[:, 0] * self.num_nodes + edges[:, 1] for edges in (self.edges, pairs))
        unknown = ~np.isin(gone, numbers)
        if unknown.any():
            tail, head = (int(node) for node in pairs[np.argmax(unknown)])
            names = self.node_names or range(self.num_nodes)
            raise InvalidInputError(
                f"the closed edge from node {short_repr(names[tail])} to node {short_repr(names[head])} is not in the"
                " graph."
            )
        edges = self.edges[~np.isin(numbers, gone)]
        _require_ways(edges, self.num_nodes, self.destinations)
        return dataclasses.replace(self, edges=frozen(edges))


def from_graph(
    graph: Any,
    *,
    destinations: Iterable[Any] = (),
    num_nodes: int | None = None,
    directed: bool = False,
    rewards: Any = None,
    features: Any = None,
    start: Any = None,
    discount: float = 0.99,
    name: str = "graph",
) -> GraphWorld:
    """Return the environment of a graph: nodes are states, edges actions, wrong turns the noise.

    Args:
        graph: Edges, `[E, 2]` whole numbers or pairs; a sparse adjacency matrix of SciPy; or a graph of NetworkX, whose
            nodes are numbered in the order in which it lists them (`node_names`).
        destinations: Nodes where trips end; the world has a copy of the graph for each. Numbers, but of a graph of
            NetworkX its own nodes.
        num_nodes: N; for edges, one more than the largest node if omitted.
        directed: Whether edges lead one way. An undirected graph of NetworkX is never directed.
        rewards: R of each node, `[N]`; -1 if omitted. Zero at a destination in any case. For a graph of NetworkX this,
            the features and the start may be dictionaries by node.
        features: Features of each node, `[N, d]`, for rewards that are linear in them.
        start: Where trips begin, `[N]`, a distribution; uniform if omitted.
        discount: γ.
        name: What to call it.

    Example:
        >>> square = from_graph([[0, 1], [1, 2], [2, 3], [3, 0]], destinations=[2, 3])
        >>> world = square.mdp(noise=0.1)
        >>> world.num_states, world.num_actions, square.reward.tolist()
        (8, 2, [-1.0, -1.0, 0.0, -1.0, -1.0, -1.0, -1.0, 0.0])
    """
    edges, nodes, one_way = read_edges(graph, num_nodes, directed)
    require_memory(float(NODE_BYTES) * nodes, f"a graph of {nodes} nodes", "use a smaller one")
    edges = sorted_edges(edges if one_way else np.concatenate([edges, edges[:, ::-1]]), nodes)
    names = tuple(graph.nodes) if is_networkx(graph) else None
    if not isinstance(destinations, Iterable):
        raise InvalidInputError(f"the destinations are {short_repr(destinations)}, but a list of nodes is needed.")
    ends = list(destinations) if names is None else _numbered(destinations, names, "the destination")
    ends = tuple(as_count("a destination", node) for node in ends)
    for node in ends:
        if node >= nodes:
            raise InvalidInputError(f"the destination {node} is no node: they are numbered from 0 to {nodes - 1}.")
    _require_ways(edges, nodes, ends)

    def of_nodes(what: str, given: Any, shape: str) -> np.ndarray | None:
        if given is None:
            return None
        if names is not None and isinstance(given, Mapping):
            missing = [node for node in names if node not in given]
            if missing:
                raise InvalidInputError(f"{what} has no entry for node {short_repr(missing[0])}; give one for each.")
            given = [given[node] for node in names]
        array = as_floats(what, given)
        if array.ndim != (2 if "d" in shape else 1) or len(array) != nodes:
            raise InvalidInputError(f"{what} has shape {array.shape}, but {shape} is needed with N = {nodes} nodes.")
        require_finite(what, array, ("node", "feature"))
        return frozen(array)

    paid = of_nodes("the reward", rewards, "(N,)")
    return GraphWorld(
        name,
        edges=frozen(edges),
        num_nodes=nodes,
        destinations=ends,
        node_rewards=frozen(-np.ones(nodes)) if paid is None else paid,
        node_features=of_nodes("the feature matrix", features, "(N, d)"),
        start=of_nodes("the start", start, "(N,)"),
        discount=require_discount(discount),
        node_names=names,
    )


def link_graph(edges: Any, *, num_nodes: int | None = None, directed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the links of a graph, `[L, 2]`, and which link may follow which, `[M, 2]`.

    Use it for rewards of links. A link is one direction of an edge. It is not followed by its own opposite, except at
    the end of a dead end.

    Example:
        >>> links, following = link_graph([[0, 1], [1, 2]])
        >>> links.tolist(), following.tolist()
        ([[0, 1], [1, 0], [1, 2], [2, 1]], [[0, 2], [1, 0], [2, 3], [3, 1]])
    """
    pairs, nodes, one_way = read_edges(edges, num_nodes, directed)
    links = sorted_edges(pairs if one_way else np.concatenate([pairs, pairs[:, ::-1]]), nodes)
    first = np.searchsorted(links[:, 0], np.arange(nodes + 1))
    counts = np.diff(first)[links[:, 1]]
    before = np.repeat(np.arange(len(links)), counts)
    after = first[links[before, 1]] + np.arange(before.size) - np.repeat(np.cumsum(counts) - counts, counts)
    turning = (links[before, 0] == links[after, 1]) & (counts[before] > 1)
    return links, np.stack([before, after], -1)[~turning]


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
    least = max(int(edges.max(initial=-1)) + 1, 1)
    return edges, least if num_nodes is None else as_count("the number of nodes", num_nodes, least), directed


def is_networkx(graph: Any) -> bool:
    """Return whether this is a graph of NetworkX, or one like it, without importing NetworkX."""
    return hasattr(graph, "is_directed") and hasattr(graph, "nodes")


def _numbered(nodes: Iterable[Any], names: tuple[Any, ...], what: str) -> list[int]:
    """Return the numbers of nodes that are given by their names."""
    numbers = {name: number for number, name in enumerate(names)}
    given = list(nodes)
    for node in given:
        if not isinstance(node, Hashable) or node not in numbers:
            raise InvalidInputError(
                f"{what} {short_repr(node)} is no node of the graph, whose first is {short_repr(names[0])}; name nodes"
                " as the graph does."
            )
    return [numbers[node] for node in given]


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
    as_count(f"the largest node in {what}", int(edges.max(initial=0)))
    return edges.astype(np.int64)


def sorted_edges(edges: Int[np.ndarray, "E 2"], nodes: int) -> Int[np.ndarray, "F 2"]:
    """Return edges in order, none twice: sorted as single numbers, ten times as fast as sorting pairs."""
    return np.stack(np.divmod(np.unique(edges[:, 0] * nodes + edges[:, 1]), nodes), -1)


def successor_table(
    edges: Int[np.ndarray, "E 2"], nodes: int
) -> tuple[Int[np.ndarray, "N A"], Bool[np.ndarray, "N A"]]:
    """Return where the a-th edge of each node leads, and whether there is one; edges are sorted."""
    degrees = np.bincount(edges[:, 0], minlength=nodes)
    places = np.arange(len(edges)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    moves = np.tile(np.arange(nodes)[:, None], (1, max(int(degrees.max(initial=0)), 1)))
    moves[edges[:, 0], places] = edges[:, 1]
    return moves, np.arange(moves.shape[1]) < degrees[:, None]


def _require_ways(edges: Int[np.ndarray, "E 2"], nodes: int, destinations: tuple[int, ...]) -> None:
    """Refuse nodes that cannot be left, and nodes from which a destination cannot be reached."""
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    stuck = np.bincount(edges[:, 0], minlength=nodes) == 0
    stuck[list(destinations)] = False
    if stuck.any():
        raise InvalidInputError(
            f"no edge leaves node {int(np.argmax(stuck))} ({int(stuck.sum())} such nodes); remove it, make it a"
            " destination, or give it an edge to itself."
        )
    backwards = scipy.sparse.csr_array((np.ones(len(edges)), (edges[:, 1], edges[:, 0])), shape=(nodes, nodes))
    for goal in destinations:
        reached = np.zeros(nodes, bool)
        reached[scipy.sparse.csgraph.breadth_first_order(backwards, goal, return_predecessors=False)] = True
        if not reached.all():
            first, count = int(np.argmin(reached)), int((~reached).sum())
            raise InvalidInputError(
                f"destination {goal} cannot be reached from node {first} ({count} such nodes); remove them, for"
                " instance by keeping the largest connected part."
            )


def read_graph(path: str | os.PathLike[str]) -> tuple[np.ndarray, int]:
    r"""Return the edges of a file, `[E, 2]` from 0, and the number of nodes.

    The file is one of the DIMACS challenges: a line `p NAME nodes edges`, then one edge a line, `u v`, `e u v` or
    `a u v length`, nodes from 1. Lines that begin with c are comments. It may be compressed (.xz, .gz, .bz2).

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(f"{folder}/path.gr").write_text("p tw 3 2\n1 2\n2 3\n")
        ...     edges, nodes = read_graph(f"{folder}/path.gr")
        >>> edges.tolist(), nodes
        ([[0, 1], [1, 2]], 3)
    """
    file = as_path(path)
    unpack: Any = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    try:
        lines = unpack(read_regular(file)).decode("ascii").splitlines()
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InvalidInputError(f"{path} cannot be read ({reason}); give the path of a DIMACS graph.") from None
    lines = [line for line in lines if line.strip() and not line.startswith("c")]
    first = lines[0].split() if lines else []
    if len(first) < 4 or first[0] != "p" or not (first[2].isdecimal() and first[3].isdecimal()):
        raise InvalidInputError(f"{path} does not begin with a line 'p NAME nodes edges', as DIMACS graphs do.")
    nodes, count = int(first[2]), int(first[3])
    kinds = {line[0] if line[0] in "ae" else "" for line in lines[1:]} or {""}
    if len(kinds) > 1:
        raise InvalidInputError(f"{path} writes its edges in several ways, but 'u v', 'e u v' or 'a u v w' is needed.")
    columns = (0, 1) if kinds == {""} else (1, 2)
    try:
        text = io.StringIO("\n".join(lines[1:]))
        edges = np.loadtxt(text, dtype=np.int64, usecols=columns, ndmin=2, comments=None) if count else np.zeros((0, 2))
    except ValueError as error:
        raise InvalidInputError(f"{path} has a line that is no edge of two nodes ({one_line(error)}).") from None
    edges = edges.astype(np.int64).reshape(-1, 2)
    if len(edges) != count:
        raise InvalidInputError(f"{path} has {len(edges)} edges, but its first line says {count}; it was cut off.")
    if edges.size and not (edges.min() >= 1 and edges.max() <= nodes):
        node = int(edges.max() if edges.max() > nodes else edges.min())
        raise InvalidInputError(f"{path} names node {node}, but nodes are numbered from 1 to {nodes}.")
    return edges - 1, nodes


def graph_positions(graph: Any, *, num_nodes: int | None = None, pivots: int = 60) -> Float[np.ndarray, "N 2"]:
    r"""Return positions in the plane for a connected graph's nodes, in units of about an edge.

    Let d(i,p) be the number of edges from node i to a few pivots p, spread over the graph. Were the nodes points in the
    plane and these their distances, -d²/2 with its row and column means taken off would have rank two, and the products
    with its leading singular vectors would be the positions (pivot multidimensional scaling; Brandes and Pich, 2006).
    Of road graphs this is nearly so: rivers appear as gaps and bridges as threads.

    Args:
        graph: Edges, a sparse adjacency matrix or a graph of NetworkX, as in `from_graph`; directions do not count.
        num_nodes: N; for edges, one more than the largest node if omitted.
        pivots: The number of nodes from which distances are measured, at least two. It takes time and memory N·pivots.

    Example:
        >>> graph_positions([[0, 1], [1, 2], [2, 3]])[:, 0].round(6).tolist()  # A path lies on a line.
        [-1.5, -0.5, 0.5, 1.5]
    """
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    edges, nodes, _ = read_edges(graph, num_nodes)
    count = min(as_count("the number of pivots", pivots, 2), nodes)
    matrix = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(nodes, nodes)).tocsr()
    distances, chosen = np.zeros((nodes, count)), np.zeros(count, np.int64)
    for number in range(count):  # Each pivot is as far from those before it as a node can be.
        hops: Any = scipy.sparse.csgraph.dijkstra(matrix + matrix.T, indices=chosen[number], unweighted=True)
        if not np.isfinite(hops).all():
            raise InvalidInputError(
                f"node {int(np.argmin(np.isfinite(hops)))} is not connected with node {int(chosen[number])}; lay out"
                " the connected parts of the graph one by one."
            )
        distances[:, number] = hops
        if number + 1 < count:
            chosen[number + 1] = int(distances[:, : number + 1].min(1).argmax())
    squares = distances**2
    centered = -(squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()) / 2
    _, vectors = np.linalg.eigh(centered.T @ centered)
    positions = centered @ vectors[:, ::-1][:, :2]
    positions = np.pad(positions, ((0, 0), (0, 2 - positions.shape[1])))
    # The sign of a singular vector is chance; the last node lies to the right and above.
    positions *= np.where(positions[-1] < 0, -1, 1)
    drawn = np.stack([np.hypot(*(positions - positions[pivot]).T) for pivot in chosen], -1)
    size = float((drawn**2).sum())
    return positions * (float((drawn * distances).sum()) / size if size > 0 else 1.0)
