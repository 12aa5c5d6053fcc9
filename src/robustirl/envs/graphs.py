r"""Worlds of graphs: states are nodes, actions the edges that leave them, noise is a wrong turn.

At noise ε the chosen edge is taken with probability 1-ε, and a random edge of the node otherwise. A destination is
absorbing. With several destinations the world holds one copy of the graph for each: state d·N + n is node n on the
way to destination d. One reward, given or learned by node or by features of nodes, then serves all of
them, and one fit learns it from the trips to all.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._runtime import require_memory, short_repr
from robustirl.envs.environment import Environment
from robustirl.envs.graph_edges import (
    as_edges,
    by_number,
    edge_numbers,
    is_networkx,
    numbered,
    numbered_pairs,
    read_edges,
    sorted_edges,
)
from robustirl.envs.gridworld import frozen
from robustirl.errors import InvalidInputError
from robustirl.mdp import (
    MDP,
    SuccessorKernel,
    WrongActionKernel,
    as_count,
    as_floats,
    require_discount,
    require_finite,
)

WRONG_TURN = "wrong-turn"
NUMBERS_PER_NODE = 6  # Of eight bytes, besides those of edges: degrees, rewards, whether a destination is reached.


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
    def noise_models(self) -> tuple[str, ...]:
        return (WRONG_TURN,)

    def _of_states(self, table: np.ndarray) -> np.ndarray:
        """Return numbers of nodes for the states of all copies; zero at destinations."""
        found = np.tile(table, (self.copies,) + (1,) * (table.ndim - 1))
        for copy, node in enumerate(self.destinations):
            found[copy * self.num_nodes + node] = 0
        return found

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
        kernel = SuccessorKernel(places[..., None], chances[..., None])
        start = np.full(self.num_nodes, 1 / self.num_nodes) if self.start is None else self.start
        world = kernel if noise == 0 else WrongActionKernel(kernel, float(noise))
        return MDP(world, discount=self.discount, initial=np.tile(start, copies) / copies)

    def without(self, closed: Sequence[Sequence[Any]] | Int[np.ndarray, "C 2"]) -> "GraphWorld":
        """Return the graph without some directed edges, `[C, 2]`: a world with closures.

        Edges are pairs of numbers of nodes; of a graph of NetworkX, pairs of its own nodes.

        Example:
            >>> ring = from_graph([[0, 1], [1, 2], [2, 0]], destinations=[0])
            >>> len(ring.edges), len(ring.without([[1, 0]]).edges)
            (6, 5)
        """
        pairs = as_edges(numbered_pairs(closed, self.node_names), "the closed edges")
        numbers, gone = edge_numbers(self.edges, self.num_nodes), edge_numbers(pairs, self.num_nodes)
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
    destinations: Iterable[int] = (),
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
    require_memory(8.0 * NUMBERS_PER_NODE * nodes, f"a graph of {nodes} nodes", "use a smaller one")
    if not one_way:
        edges = np.concatenate([edges, edges[:, ::-1]])
    edges = sorted_edges(edges, nodes)
    if not isinstance(destinations, Iterable):
        raise InvalidInputError(f"the destinations are {short_repr(destinations)}, but a list of nodes is needed.")
    names = tuple(graph.nodes) if is_networkx(graph) else None
    ends = tuple(as_count("a destination", node) for node in numbered(destinations, names, "the destination"))
    rewards, features, start = (by_number(given, names) for given in (rewards, features, start))
    for node in ends:
        if node >= nodes:
            raise InvalidInputError(f"the destination {node} is no node: they are numbered from 0 to {nodes - 1}.")
    _require_ways(edges, nodes, ends)
    return GraphWorld(
        name,
        edges=frozen(edges),
        num_nodes=nodes,
        destinations=ends,
        node_rewards=_of_nodes("the reward", -np.ones(nodes) if rewards is None else rewards, nodes, 1),
        node_features=None if features is None else _of_nodes("the feature matrix", features, nodes, 2),
        start=None if start is None else _of_nodes("the start", start, nodes, 1),
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


def _of_nodes(name: str, given: Any, nodes: int, axes: int) -> np.ndarray:
    array = as_floats(name, given)
    if array.ndim != axes or len(array) != nodes:
        shape = "(N,)" if axes == 1 else "(N, d)"
        raise InvalidInputError(f"{name} has shape {array.shape}, but {shape} is needed with N = {nodes} nodes.")
    require_finite(name, array, ("node", "feature")[:axes])
    return frozen(array)
