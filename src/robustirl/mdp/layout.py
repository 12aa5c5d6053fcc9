r"""How lists of successors lie in memory: the successor axis first, and one list for all actions where that pays.

The chain of a policy has as many entries a state as its actions list together. Where actions share successors, one
list of the state's successors, with a probability for each of them and each action, makes the chain as short as the
state has neighbors: five instead of twenty for four moves of a grid that may slip to any side.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.mdp.halves import HalvedLists, halved_lists
from robustirl.mdp.independent import independent_states
from robustirl.mdp.inflow import PredecessorList, list_predecessors

if TYPE_CHECKING:
    import scipy.sparse

LEAST_STATES = 1024  # Up to here worlds keep the shapes they are given, so that they share compiled programs.
MOST_WIDENED = 2.5  # A shared list may be so many times as long as those of the actions: it stores more zeros.

Lists = tuple[Int[np.ndarray, "K B S"], Float[np.ndarray, "K A S"]]


def laid_out(next_states: Int[np.ndarray, "S A k"], probabilities: Float[np.ndarray, "S A k"]) -> Lists:
    """Return the lists with the axis of successors first.

    B is 1 where all actions of a state share one list.

    Example:
        >>> places, weights = laid_out(np.array([[[1], [0]], [[1], [0]]]), np.ones((2, 2, 1)))
        >>> places.shape, weights.shape
        ((1, 2, 2), (1, 2, 2))
    """
    places, weights = (np.ascontiguousarray(array.transpose(2, 1, 0)) for array in (next_states, probabilities))
    states, actions, successors = next_states.shape
    if states <= LEAST_STATES or actions == 1:
        return places, weights
    return _shared(places, weights, min(actions * successors - 1, int(MOST_WIDENED * successors))) or (places, weights)


def _shared(places: np.ndarray, weights: np.ndarray, longest: int) -> Lists | None:
    """Return one list a state for all its actions, if none is longer than that."""
    successors, actions, states = weights.shape
    entries = np.where(weights > 0, places, states).reshape(-1, states).T.astype(np.int32)  # [S, K A]
    order = np.argsort(entries, axis=1, kind="stable")
    listed = np.take_along_axis(entries, order, 1)
    fresh = np.diff(listed, axis=1, prepend=-1) != 0
    slots = np.cumsum(fresh, axis=1) - 1
    width = int((slots + 1)[listed < states].max(initial=1))
    if width > longest:
        return None
    union = np.zeros((width, states), np.int32) + np.arange(states, dtype=np.int32)
    rows = np.broadcast_to(np.arange(states)[:, None], listed.shape)
    named = fresh & (listed < states)
    union[slots[named], rows[named]] = listed[named]
    # Entries without probability may have any slot of the list.
    own = np.empty_like(slots)
    np.put_along_axis(own, order, np.minimum(slots, width - 1), 1)
    numbers = (own.T.reshape(successors, actions, states) * actions + np.arange(actions)[:, None]) * states
    flat = np.bincount((numbers + np.arange(states)).ravel(), weights.ravel(), width * actions * states)
    return union[:, None], flat.reshape(width, actions, states)


class Flows(NamedTuple):
    """What is precomputed about the moves of a large world of lists.

    Attributes:
        inflow: The predecessors of every state.
        halved: The lists cut by an independent set of states, if there is a large one.
    """

    inflow: PredecessorList | None = None
    halved: HalvedLists | None = None


def flows_of(places: Int[np.ndarray, "K B S"], weights: Float[np.ndarray, "K A S"]) -> Flows:
    """Return what is precomputed about the moves of a large world; nothing for a small one."""
    states = places.shape[-1]
    if states <= LEAST_STATES:
        return Flows()
    lists, used = places.reshape(-1, states), used_entries(places, weights).reshape(-1, states)
    chosen = independent_states(neighbors_of(lists, used))
    return Flows(list_predecessors(lists, used, chosen), None if chosen is None else halved_lists(lists, used, chosen))


def used_entries(places: Int[np.ndarray, "K B S"], weights: Float[np.ndarray, "K A S"]) -> Bool[np.ndarray, "K B S"]:
    """Return which entries of the lists some action takes."""
    used = np.asarray(weights > 0)
    return np.asarray(used.any(1, keepdims=True)) if places.shape[1] < weights.shape[1] else used


def neighbors_of(lists: Int[np.ndarray, "*J S"], used: Bool[np.ndarray, "*J S"]) -> "scipy.sparse.csr_array":
    """Return which states lead to which, as a sparse matrix `[S, S]`."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    size = lists.shape[-1]
    states = np.broadcast_to(np.arange(size), lists.shape)[used]
    content = (np.ones(states.size, np.float32), (states, lists[used]))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(content, shape=(size, size)))
