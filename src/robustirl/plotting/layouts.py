"""Where the states of a world are drawn: on a grid if its moves are those of one, as a graph if it is small, in a row.

A grid is recognized by its moves: numbering cells row by row, the likeliest successor of every state and action is the
cell itself, a neighbor in the row (±1) or in the column (± the number of columns).
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

MAX_GRAPH_STATES = 40  # More nodes than this hide each other.


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """How a world is drawn.

    Attributes:
        kind: `grid`, `graph` or `table`.
        size: The number of states.
        shape: Rows and columns of a grid.
        targets: `[S, A]`, the likeliest successor of every state and action; None if no world is known.
        positions: `[S, 2]`, x and y of the nodes of a graph.
    """

    kind: str
    size: int
    shape: tuple[int, int] | None = None
    targets: Int[np.ndarray, "S A"] | None = None
    positions: Float[np.ndarray, "S 2"] | None = None

    @property
    def cells(self) -> int:
        """Return the number of states that are cells of the grid."""
        return 0 if self.shape is None else self.shape[0] * self.shape[1]

    def directions(self) -> Float[np.ndarray, "S A 2"]:
        """Return where each action leads on a grid: steps down and right of length 1, or zero."""
        assert self.shape is not None
        assert self.targets is not None
        targets = self.targets[: self.cells]
        here = np.arange(len(targets))[:, None]
        columns = self.shape[1]
        steps = np.stack([targets // columns - here // columns, targets % columns - here % columns], -1).astype(float)
        length = np.maximum(np.linalg.norm(steps, axis=-1, keepdims=True), 1)
        return np.where((targets < self.cells)[..., None], steps / length, 0.0)


def layout_of(world: Any, size: int, shape: tuple[int, int] | None = None) -> Layout:
    """Return how to draw the states of a world.

    Args:
        world: An `MDP`, an environment (whose shape is used), or None if it is not known.
        size: The number of states.
        shape: Rows and columns, if the first states are the cells of a grid; found by itself if omitted.

    Example:
        >>> from robustirl import envs
        >>> found = layout_of(envs.make("gridworld-4").mdp(0.1), 36)
        >>> found.kind, found.shape
        ('grid', (6, 6))
        >>> layout_of(None, 36).kind
        'table'
    """
    if world is not None and not isinstance(world, MDP):
        shape = getattr(world, "shape", None) if shape is None else shape
        world = world.mdp(0.0)
    if shape is not None:
        shape = (int(shape[0]), int(shape[1]))
        if not 0 < shape[0] * shape[1] <= size:
            raise InvalidInputError(
                f"the shape is {shape}, but rows and columns of a grid of at most {size} cells are needed."
            )
    if world is None:
        return Layout("table", size) if shape is None else Layout("grid", size, shape)
    if world.num_states != size:
        raise InvalidInputError(f"the world has {world.num_states} states, but {size} are drawn; give their own.")
    moves = world.kernel.to_sparse()
    targets = np.asarray(moves.argmax(axis=1)).reshape(size, world.num_actions)
    targets = np.where(np.asarray(world.mask), targets, np.arange(size)[:, None])
    found = _grid(targets) if shape is None else shape
    if found is not None:
        return Layout("grid", size, found, targets)
    if size <= MAX_GRAPH_STATES:
        return Layout("graph", size, None, targets, _positions(moves, size))
    return Layout("table", size, None, targets)


def _grid(targets: Int[np.ndarray, "S A"]) -> tuple[int, int] | None:
    """Return rows and columns, if all moves are those of a grid.

    One more state, which is never left, may follow.
    """
    size = len(targets)
    for cells in (size, size - 1):
        if cells < 4 or (cells < size and np.any(targets[cells] != cells)):
            continue
        steps = targets[:cells] - np.arange(cells)[:, None]
        steps = np.where(targets[:cells] < cells, steps, 0)
        lengths = np.unique(np.abs(steps))
        lengths = lengths[lengths > 0]
        if len(lengths) != 2 or lengths[0] != 1 or cells % lengths[1]:
            continue
        columns = int(lengths[1])
        place = np.arange(cells) % columns
        across = (place[:, None] + steps < 0) | (place[:, None] + steps >= columns)
        if not np.any(across & (np.abs(steps) == 1)):
            return cells // columns, columns
    return None


def _positions(moves: Any, size: int) -> Float[np.ndarray, "S 2"]:
    """Place nodes so that distances resemble numbers of moves between them (classical scaling)."""
    import scipy.sparse.csgraph  # Here, so that only a graph loads it.

    pairs = scipy.sparse.coo_array(moves)
    actions = moves.shape[0] // size
    links = scipy.sparse.coo_array((np.ones(pairs.nnz), (pairs.row // actions, pairs.col)), (size, size))
    hops = scipy.sparse.csgraph.shortest_path(links.tocsr(), directed=False, unweighted=True)
    known = hops[np.isfinite(hops)]
    hops = np.where(np.isfinite(hops), hops, known.max() + 1)
    centering = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-centering @ hops**2 @ centering / 2)
    order = np.argsort(-values)[:2]
    places = vectors[:, order] * np.sqrt(np.maximum(values[order], 1e-9))
    # Nodes at the same place are spread on a circle, in the order of their numbers.
    angles = 2 * np.pi * np.arange(size) / size
    return places + 0.25 * np.stack([np.cos(angles), np.sin(angles)], 1)
