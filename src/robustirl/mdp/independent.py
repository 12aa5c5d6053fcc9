"""Find a set of states none of which leads to another one of it, on the host.

In a bipartite world, such as a grid, that is one of two colors: half of the states. Elsewhere states are chosen by
priorities, in rounds (Luby, 1986): a state belongs to the set if none of its neighbors that are still candidates has a
higher priority. States at an even distance from one another come first, so that a world that is nearly bipartite has a
set of nearly half of its states.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:
    import scipy.sparse

LEAST_STATES = 1024  # Smaller systems take so little time that longer programs do not pay.
LEAST_SHARE = 0.3  # Of the states: a smaller set saves fewer products than it costs to eliminate it.
SIZES = 64  # Of sets of one world: a set that is smaller by so small a share of the states costs next to nothing.


def independent_states(pattern: "scipy.sparse.csr_array") -> Bool[np.ndarray, " S"] | None:
    """Return which states belong to an independent set; None if the set is too small.

    `pattern` says which states lead to which.

    Example:
        >>> import scipy.sparse
        >>> ring = scipy.sparse.csr_array(np.roll(np.eye(6), 1, axis=1))
        >>> independent_states(ring).tolist()
        [True, False, True, False, True, False]
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    rows = np.repeat(np.arange(_size(pattern)), np.diff(pattern.indptr))
    moving = rows != pattern.indices
    one_way = (np.ones(int(moving.sum()), np.float32), (rows[moving], pattern.indices[moving]))
    there = scipy.sparse.coo_array(one_way, shape=pattern.shape)
    links = scipy.sparse.csr_array(there + there.T)
    if not links.nnz:
        return None  # Nothing moves: no state would be left.
    chosen = _rounded(_by_priority(links, _priorities(links)), links)
    return chosen if chosen.mean() >= LEAST_SHARE else None


def _priorities(links: "scipy.sparse.csr_array") -> Float[np.ndarray, " S"]:
    """Return a number for every state, none twice.

    The number is at least one in the larger of the two colors of a part. The colors are even and odd distances from the
    first state of a part. A further state that leads to all of these first ones makes the search of all parts one.
    """
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    size = _size(links)
    _, part = scipy.sparse.csgraph.connected_components(links, directed=False)
    firsts = np.unique(part, return_index=True)[1]
    pointers = np.append(links.indptr, links.nnz + firsts.size)
    columns = np.concatenate([links.indices, firsts])
    joined = scipy.sparse.csr_array((np.ones(columns.size, np.float32), columns, pointers), shape=(size + 1, size + 1))
    reached, distances = _distances(joined, size)
    color = np.zeros(size + 1, bool)
    color[reached] = distances % 2 == 1
    share = np.bincount(part, color[:size]) / np.bincount(part)
    return (color[:size] ^ (share < 0.5)[part]) + np.random.default_rng(0).permutation(size) / size


def _distances(links: "scipy.sparse.csr_array", start: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return the states that can be reached from one, and their distances.

    A state is one step further than the state that it was found from. Following these links, twice as many at a time,
    takes as many rounds as the largest distance has binary digits.
    """
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    reached, found_from = scipy.sparse.csgraph.breadth_first_order(links, start)
    ahead = np.arange(_size(links))
    ahead[reached[1:]] = found_from[reached[1:]]
    steps = (ahead != np.arange(ahead.size)).astype(np.int64)
    while (ahead[reached] != start).any():
        steps += steps[ahead]
        ahead = ahead[ahead]
    return reached, steps[reached]


def _by_priority(links: "scipy.sparse.csr_array", priority: Float[np.ndarray, " S"]) -> Bool[np.ndarray, " S"]:
    """Return the states chosen round by round until every other state has a neighbor among them."""
    rows = np.repeat(np.arange(len(priority)), np.diff(links.indptr))
    columns = links.indices
    chosen, open_ = np.zeros(len(priority), bool), np.ones(len(priority), bool)
    while open_.any():
        beaten = np.zeros(len(priority), bool)
        beaten[rows[priority[columns] > priority[rows]]] = True
        picked = open_ & ~beaten
        chosen |= picked
        open_ &= ~picked
        open_[columns[picked[rows]]] = False
        kept = open_[rows] & open_[columns]
        rows, columns = rows[kept], columns[kept]
    return chosen


def _rounded(chosen: Bool[np.ndarray, " S"], links: "scipy.sparse.csr_array") -> Bool[np.ndarray, " S"]:
    """Return so many of the states that worlds of one size mostly share compiled programs.

    In a bipartite world these are all chosen states.
    """
    others = ~chosen
    rows = np.repeat(np.arange(chosen.size), np.diff(links.indptr))
    if not (others[rows] & others[links.indices]).any():
        return chosen
    unit = max(chosen.size // SIZES, 1)
    kept = int(chosen.sum()) // unit * unit
    return chosen & (np.cumsum(chosen) <= kept)


def _size(links: "scipy.sparse.csr_array") -> int:
    return len(links.indptr) - 1
