"""Find where the states of a world are drawn: in the cells of a grid, at given places, as a graph, or in a row.

Places come from the world (`MDP(..., positions=)`, or an environment's `positions`). Without any, a grid is recognized
by its moves: if cells are numbered row by row, the likeliest successor of every state and action is the cell itself, a
neighbor in the row (±1) or in the column (± the number of columns). Other small worlds are drawn as a graph. Nothing
here needs matplotlib.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

MAX_GRAPH_STATES = 40  # More nodes with their arrows hide each other.
MAX_CELLS_PER_STATE = 10  # Whole-numbered places that leave more of a rectangle empty are no grid.


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Say where the states of a world are drawn.

    Attributes:
        kind: `grid`, `graph` (with arrows), `places` (without) or `row`.
        size: The number of states.
        positions: `[S, 2]`, x to the right and y up; NaN for states that are not drawn; None in a row.
        targets: `[S, A]`, the likeliest successor of every state and action; None if no world is known.
        walls: `[S]`, states that nothing reaches.
        ends: `[S]`, states that are never left, without walls.
    """

    kind: str
    size: int
    positions: Float[np.ndarray, "S 2"] | None
    targets: Int[np.ndarray, "S A"] | None
    walls: Bool[np.ndarray, " S"]
    ends: Bool[np.ndarray, " S"]

    @property
    def drawn(self) -> Bool[np.ndarray, " S"]:
        """Return which states have a place."""
        if self.positions is None:
            return np.ones(self.size, bool)
        return np.isfinite(self.positions[:, 0]) & np.isfinite(self.positions[:, 1])

    def cells(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], tuple[int, int]]:
        """Return row and column of every state that is drawn on a grid, and the numbers of rows and columns."""
        assert self.positions is not None
        places = self.positions[self.drawn].round().astype(int)
        (left, bottom), (right, top) = places.min(0), places.max(0)
        return top - places[:, 1], places[:, 0] - left, (int(top - bottom + 1), int(right - left + 1))

    def directions(self) -> Float[np.ndarray, "S A 2"]:
        """Return where each action leads, x and y: steps of length 1, or zero."""
        assert self.positions is not None
        assert self.targets is not None
        steps = np.nan_to_num(self.positions[self.targets] - self.positions[:, None])
        return steps / np.maximum(np.linalg.norm(steps, axis=-1, keepdims=True), 1)


def layout_of(world: Any, size: int, shape: tuple[int, int] | None = None) -> Layout:
    """Return how to draw the states of a world.

    Args:
        world: An `MDP`, an environment, or None if it is not known.
        size: The number of states.
        shape: Rows and columns, if the first states are the cells of a grid; the world's places if omitted.

    Example:
        >>> from robustirl import envs
        >>> layout = layout_of(envs.make("gridworld-4").mdp(0.1), 36)
        >>> layout.kind, layout.cells()[2]
        ('grid', (6, 6))
        >>> layout_of(None, 36).kind
        'row'
    """
    positions = getattr(world, "positions", None)
    if world is not None and not isinstance(world, MDP):
        shape = getattr(world, "shape", None) if shape is None and positions is None else shape
        world = world.mdp(0.0)
        positions = getattr(world, "positions", None) if positions is None else positions
    if world is not None and world.num_states != size:
        raise InvalidInputError(f"the world has {world.num_states} states, but {size} are drawn; give their own.")
    positions = None if positions is None else np.asarray(positions, dtype=float)
    if shape is not None:
        if not 0 < int(shape[0]) * int(shape[1]) <= size:
            raise InvalidInputError(
                f"the shape is {tuple(shape)}, but rows and columns of a grid of at most {size} cells are needed."
            )
        positions = _row_by_row(size, int(shape[0]), int(shape[1]))
    nowhere = np.zeros(size, bool)
    if world is None:
        return Layout("row" if positions is None else "grid", size, positions, None, nowhere, nowhere)
    moves = world.kernel.to_sparse()
    targets = np.asarray(moves.argmax(axis=1)).reshape(size, -1)
    targets = np.where(np.asarray(world.mask), targets, np.arange(size)[:, None])
    walls, ends = _walls_and_ends(_links(moves), np.asarray(world.initial))
    if positions is None and (grid := _grid(targets)) is not None:
        positions = _row_by_row(size, *grid)
    if positions is not None:
        # The state in which ended episodes rest lies beside the cells of a grid.
        cells = np.where((ends & np.any(positions != positions.round(), axis=1))[:, None], np.nan, positions)
        positions = cells if _is_lattice(cells) else positions
        kind = "grid" if _is_lattice(positions) else "graph" if size <= MAX_GRAPH_STATES else "places"
    elif size <= MAX_GRAPH_STATES:
        kind, positions = "graph", _spread(_links(moves))
    else:
        kind = "row"
    return Layout(kind, size, positions, targets, walls, ends)


def _row_by_row(size: int, rows: int, columns: int) -> Float[np.ndarray, "S 2"]:
    """Return the places of cells that are numbered row by row from the top; further states have none."""
    places = np.full((size, 2), np.nan)
    row, column = np.divmod(np.arange(rows * columns), columns)
    places[: rows * columns] = np.stack([column, rows - 1 - row], 1)
    return places


def _is_lattice(positions: Float[np.ndarray, "S 2"]) -> bool:
    """Return whether states lie in different cells of a rectangle that is not mostly empty."""
    places = positions[np.isfinite(positions).all(1)]
    if not len(places) or np.any(places != places.round()) or len(np.unique(places, axis=0)) < len(places):
        return False
    return bool(np.prod(np.ptp(places, axis=0) + 1) <= MAX_CELLS_PER_STATE * len(places))


def _grid(targets: Int[np.ndarray, "S A"]) -> tuple[int, int] | None:
    """Return rows and columns, if all moves are those of a grid. One more state, which is never left, may follow."""
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


def _links(moves: Any) -> Any:
    """Return which state leads to which, `[S, S]` and sparse, by any action."""
    import scipy.sparse  # Here, so that only a world loads it.

    pairs = scipy.sparse.coo_array(moves)
    keep = pairs.data > 0
    size = moves.shape[1]
    rows = pairs.row[keep] // (moves.shape[0] // size)
    return scipy.sparse.coo_array((np.ones(keep.sum()), (rows, pairs.col[keep])), (size, size)).tocsr()


def _walls_and_ends(links: Any, initial: Float[np.ndarray, " S"]) -> tuple[np.ndarray, np.ndarray]:
    """Return the states that nothing reaches, and the others that are never left.

    A state that leads nowhere and that no other leads to is a wall whatever its share of the start, since the start is
    uniform where none was given.
    """
    import scipy.sparse.csgraph

    starts = np.flatnonzero(initial > 0)
    hops = scipy.sparse.csgraph.dijkstra(links, indices=starts, unweighted=True, min_only=True)
    moves = links - links.multiply(scipy.sparse.eye_array(len(initial)))
    left, entered = (np.asarray(moves.sum(axis)).ravel() > 0 for axis in (1, 0))
    walls = ~np.isfinite(hops) | (~left & ~entered)
    return walls, ~left & ~walls


def _spread(links: Any) -> Float[np.ndarray, "S 2"]:
    """Place nodes so that distances resemble numbers of moves between them (classical scaling)."""
    import scipy.sparse.csgraph

    size = links.shape[0]
    hops = scipy.sparse.csgraph.shortest_path(links, directed=False, unweighted=True)
    known = hops[np.isfinite(hops)]
    hops = np.where(np.isfinite(hops), hops, known.max() + 1)
    centering = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-centering @ hops**2 @ centering / 2)
    order = np.argsort(-values)[:2]
    places = np.zeros((size, 2))
    places[:, : len(order)] = vectors[:, order] * np.sqrt(np.maximum(values[order], 1e-9))
    # Nodes at the same place are spread on a circle, in the order of their numbers.
    angles = 2 * np.pi * np.arange(size) / size
    return places + 0.25 * np.stack([np.cos(angles), np.sin(angles)], 1)
