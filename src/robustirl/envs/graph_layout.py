r"""Positions for the nodes of a graph that has none: a map from distances alone.

Let d(i,p) be the number of edges from node i to a few pivots p, spread over the graph. Were the nodes points in the
plane and these their distances, -d²/2 with its row and column means taken off would have rank two, and the products
with its leading singular vectors would be the positions (pivot multidimensional scaling; Brandes and Pich, 2006). Of
road graphs this is nearly so: rivers appear as gaps and bridges as threads, although compass directions mean nothing.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl.envs.graph_edges import read_edges
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count

PIVOTS = 60


def graph_positions(graph: Any, *, num_nodes: int | None = None, pivots: int = PIVOTS) -> Float[np.ndarray, "N 2"]:
    """Return positions in the plane for a connected graph's nodes, in units of about an edge.

    Args:
        graph: Edges, a sparse adjacency matrix or a graph of NetworkX, as in `from_graph`; directions do not count.
        num_nodes: N; for edges, one more than the largest node if omitted.
        pivots: The number of nodes from which distances are measured, at least two. It takes time and memory N·pivots.

    Example:
        >>> graph_positions([[0, 1], [1, 2], [2, 3]])[:, 0].round(6).tolist()  # A path lies on a line.
        [-1.5, -0.5, 0.5, 1.5]
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    edges, nodes, _ = read_edges(graph, num_nodes)
    count = min(as_count("the number of pivots", pivots, 2), nodes)
    matrix = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(nodes, nodes)).tocsr()
    distances, chosen = _distances(matrix + matrix.T, count)
    squares = distances**2
    centered = -(squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()) / 2
    _, vectors = np.linalg.eigh(centered.T @ centered)
    positions = centered @ vectors[:, ::-1][:, :2]
    if positions.shape[1] < 2:
        positions = np.pad(positions, ((0, 0), (0, 2 - positions.shape[1])))
    # The sign of a singular vector is chance; the last node lies to the right and above.
    positions *= np.where(positions[-1] < 0, -1, 1)
    drawn = np.stack([np.hypot(*(positions - positions[pivot]).T) for pivot in chosen], -1)
    size = float((drawn**2).sum())
    return positions * (float((drawn * distances).sum()) / size if size > 0 else 1.0)


def _distances(matrix: Any, count: int) -> tuple[Float[np.ndarray, "N P"], Int[np.ndarray, " P"]]:
    """Return how many edges lie between every node and each pivot, and the pivots.

    Each pivot is as far from those before it as a node can be.
    """
    import scipy.sparse.csgraph

    found, chosen = np.zeros((matrix.shape[0], count)), np.zeros(count, np.int64)
    for number in range(count):
        hops: np.ndarray = scipy.sparse.csgraph.dijkstra(matrix, indices=chosen[number], unweighted=True)
        if not np.isfinite(hops).all():
            raise InvalidInputError(
                f"node {int(np.argmin(np.isfinite(hops)))} is not connected with node {int(chosen[number])}; lay out"
                " the connected parts of the graph one by one."
            )
        found[:, number] = hops
        if number + 1 < count:
            chosen[number + 1] = int(found[:, : number + 1].min(1).argmax())
    return found, chosen
