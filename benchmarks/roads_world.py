"""The worlds of `roads.py`: links of a road graph, destinations, closures, and the routes that a policy chooses."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from jaxtyping import Bool, Float, Int

from robustirl import envs
from robustirl.mdp import MDP

FEATURES = ("link", "bend ahead", "crossing ahead")
PLANTED = np.array([-2.0, 0.5, -1.0])
DISCOUNT = 0.99
MARGIN = 1.5  # Of the reach: the part of the graph in which starting values are learned.


class Roads(NamedTuple):
    """A road graph with links as states.

    Attributes:
        env: The world of links, with destinations and starts in reach of the center.
        links: `[L, 2]`, the two crossings of each link.
        following: `[M, 2]`, which link may follow which.
        hops: `[L]`, links from the center; infinite beyond the margin.
        near: The links in reach, where trips begin and end.
    """

    env: envs.GraphWorld
    links: Int[np.ndarray, "L 2"]
    following: Int[np.ndarray, "M 2"]
    hops: Float[np.ndarray, " L"]
    near: Int[np.ndarray, " n"]

    def part(self) -> tuple[envs.GraphWorld, Int[np.ndarray, " P"]]:
        """Return the world of the links within the margin, and their numbers: small, for starting values."""
        inside = np.flatnonzero(np.isfinite(self.hops))
        inside = inside[_mutually_reachable(self.following, inside, len(self.links))]
        number = np.full(len(self.links), -1)
        number[inside] = np.arange(inside.size)
        kept = number[self.following].min(1) >= 0
        env, start = self.env, np.asarray(self.env.start)[inside]
        features = np.asarray(env.node_features)[inside]
        ends = number[list(env.destinations)].tolist()
        options: Any = {"features": features, "start": start / start.sum(), "discount": DISCOUNT}
        graph = number[self.following[kept]]
        return envs.from_graph(graph, num_nodes=inside.size, directed=True, destinations=ends, **options), inside


def read_roads(path: Path, *, destinations: int, reach: int, nodes: int | None, seed: int) -> Roads:
    """Return the world of links around a random center; of its largest part, or of so many nodes around the center."""
    rng = np.random.default_rng(seed)
    edges, count = envs.read_graph(path)
    matrix = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(count, count)).tocsr()
    _, part = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    kept = np.flatnonzero(part == np.bincount(part).argmax())
    center = int(kept[rng.integers(len(kept))])
    if nodes:
        found = scipy.sparse.csgraph.breadth_first_order(matrix, center, False, return_predecessors=False)
        kept = np.sort(found[:nodes])
    number = np.full(count, -1)
    number[kept] = np.arange(len(kept))
    edges, center = number[edges[number[edges].min(1) >= 0]], int(number[center])
    links, following = envs.link_graph(edges, num_nodes=len(kept))
    degree = np.bincount(edges.ravel(), minlength=len(kept))[links[:, 1]]
    features = np.stack([np.ones(len(links)), degree == 2, degree >= 4], -1).astype(float)
    after = scipy.sparse.coo_array((np.ones(len(following)), following.T), shape=(len(links),) * 2).tocsr()
    first = int(np.searchsorted(links[:, 0], center))
    around: Any = {"indices": first, "unweighted": True, "limit": MARGIN * reach}
    hops = scipy.sparse.csgraph.dijkstra(after + after.T, **around)
    near = np.flatnonzero(hops <= reach)
    start = np.zeros(len(links))
    start[near] = 1 / near.size
    env = envs.from_graph(
        following,
        num_nodes=len(links),
        directed=True,
        destinations=rng.choice(near, destinations, replace=False).tolist(),
        features=features,
        rewards=features @ PLANTED,
        start=start,
        discount=DISCOUNT,
        name=path.name,
    )
    return Roads(env, links, following, hops, near)


def close_turns(env: envs.GraphWorld, visits: Float[np.ndarray, " S"], *, count: int, seed: int) -> envs.GraphWorld:
    """Return the graph without the ways into some of the links that trips use most, as far as ways remain."""
    used = visits.reshape(env.copies, -1).sum(0)
    used[list(env.destinations)] = 0
    busy = np.argsort(-used)[: 20 * count]
    chosen = np.random.default_rng(seed).choice(busy, count, replace=False)
    entries = env.edges[np.isin(env.edges[:, 1], chosen)]
    choices = np.bincount(env.edges[:, 0], minlength=env.num_nodes)
    entries = entries[choices[entries[:, 0]] > 1]
    return env.without(entries[_leaves_ways(env, entries)])


def _leaves_ways(env: envs.GraphWorld, entries: Int[np.ndarray, "C 2"]) -> Bool[np.ndarray, " C"]:
    """Return which turns can be closed together: those that begin where a destination would be cut off stay open."""
    numbers, closing = env.edges @ [env.num_nodes, 1], np.ones(len(entries), bool)
    while True:
        kept = env.edges[~np.isin(numbers, entries[closing] @ [env.num_nodes, 1])]
        back = scipy.sparse.coo_array(
            (np.ones(len(kept)), (kept[:, 1], kept[:, 0])), shape=(env.num_nodes,) * 2
        ).tocsr()
        stuck = np.zeros(env.num_nodes, bool)
        for goal in env.destinations:
            reached = scipy.sparse.csgraph.breadth_first_order(back, goal, return_predecessors=False)
            stuck |= ~np.isin(np.arange(env.num_nodes), reached)
        freed = closing & stuck[entries[:, 0]]
        if not freed.any():
            return closing
        closing &= ~freed


def follow(world: MDP, policy: Any, starts: Int[np.ndarray, " n"], steps: int) -> Int[np.ndarray, "T n"]:
    """Return the states of the most likely route from each start, by the most likely turn at every link."""
    kernel: Any = world.kernel
    turns = np.asarray(policy).argmax(1)
    following = np.asarray(kernel.base.next_states)[np.arange(len(turns)), turns, 0]
    path = [starts]
    for _ in range(steps):
        path.append(following[path[-1]])
    return np.stack(path)


def shared_links(true: Int[np.ndarray, "T n"], other: Int[np.ndarray, "T n"]) -> Float[np.ndarray, " n"]:
    """Return the share of the links of each true route that the other route has, too."""
    pairs = zip(true.T, other.T, strict=True)
    return np.array([np.isin(np.unique(one), np.unique(two)).mean() for one, two in pairs])


def _mutually_reachable(following: np.ndarray, inside: np.ndarray, count: int) -> Bool[np.ndarray, " P"]:
    """Return which of these links belong to the largest part in which every link can be reached from every other."""
    number = np.full(count, -1)
    number[inside] = np.arange(inside.size)
    kept = number[following[number[following].min(1) >= 0]]
    matrix = scipy.sparse.coo_array((np.ones(len(kept)), kept.T), shape=(inside.size,) * 2).tocsr()
    _, part = scipy.sparse.csgraph.connected_components(matrix, connection="strong")
    return part == np.bincount(part).argmax()
