"""Which moves went astray, for worlds stored as lists of successors: nothing here takes |S|² numbers.

A row is (1-w) B + w u: K listed successors, and a background that all rows of a world share (none, where the kernel
is of lists alone). A place that no list names is likely only if the background makes it so; where it might, there are
no short lists of likely places, and the caller goes through arrays.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.demonstrations.estimation.chain import TransitionCounts
from robustirl.mdp import MDP

HALF = 0.5  # An outcome is intended if it is at least this likely, relative to the best outcome of the vaguest move.


@dataclasses.dataclass(frozen=True)
class Lists:
    """A kernel as lists.

    Attributes:
        places: `[S, A, K]`, the listed successors.
        chances: `[S, A, K]`, T(place|s,a) in full, the same at every entry of a place, zero where there is no action.
        first: `[S, A, K]`, whether an entry is the first of its place in its list.
        background: `[S]`, w(s).
        anywhere: `[S]`, u.
        exists: `[S, A]`, whether the action is to be had.
    """

    places: Int[np.ndarray, "S A K"]
    chances: Float[np.ndarray, "S A K"]
    first: Bool[np.ndarray, "S A K"]
    background: Float[np.ndarray, " S"]
    anywhere: Float[np.ndarray, " S"]
    exists: Bool[np.ndarray, "S A"]


def as_lists(mdp: MDP) -> Lists | None:
    """Return the world's kernel as lists, if it is of that kind and its background is faint."""
    base, noise = mdp.kernel.successor_lists(), mdp.kernel.rank_one()
    if base is None:
        return None
    weight, anywhere = (np.zeros(mdp.num_states),) * 2 if noise is None else map(np.asarray, noise)
    places, listed = np.asarray(base.next_states), np.asarray(base.probabilities)
    exists = np.asarray(mdp.mask) & (listed.sum(-1) > 0)
    same = places[..., :, None] == places[..., None, :]
    total = (same * listed[..., None, :]).sum(-1)  # A place that is listed twice has both chances.
    chances = ((1 - weight)[:, None, None] * total + weight[:, None, None] * anywhere[places]) * exists[..., None]
    best = np.where(exists, chances.max(-1), np.inf).min(1)
    if (weight * anywhere.max() >= HALF * best).any():
        return None
    first = ~np.tril(same, -1).any(-1)
    return Lists(places, chances, first, weight, anywhere, exists)


def astray_from_lists(
    lists: Lists, counts: TransitionCounts
) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return whether each move went astray, the share explained, and whether it is clear.

    This is the share that the world explains.
    """
    source, target = counts.sources, counts.targets
    best = lists.chances.max(-1)
    if counts.actions is not None:
        taken = counts.actions
        likely = lists.chances >= HALF * best[..., None]
        named = (lists.places[source, taken] == target[:, None]) & likely[source, taken]
        kept = (lists.chances * likely * lists.first).sum(-1)
        return ~named.any(1), (1 - kept)[source, taken], best[source, taken] >= HALF
    vaguest = np.where(lists.exists, best, np.inf).min(1)
    size, actions, length = lists.places.shape
    union = lists.places.reshape(size, actions * length)
    likely = (lists.chances >= HALF * vaguest[:, None, None]).reshape(union.shape)
    # Likely places, each once: an entry counts if no earlier likely entry of its state names the same place.
    same = union[:, :, None] == union[:, None, :]
    fresh = likely & ~(np.tril(same, -1) & likely[:, None, :]).any(-1)
    # T(place|s,a) of every such place under every action, listed by it or not.
    listed = union[:, :, None, None] == lists.places.reshape(size, 1, actions, length)
    beneath = lists.background[:, None] * lists.anywhere[union]
    chance = np.where(listed.any(-1), (listed * lists.chances[:, None]).max(-1), beneath[..., None])
    kept = (chance * fresh[..., None]).sum(1)
    explained = np.where(lists.exists, 1 - kept, 0.0).max(1)
    astray = ~((union[source] == target[:, None]) & likely[source]).any(1)
    return astray, explained[source], np.ones(len(source), dtype=bool)
