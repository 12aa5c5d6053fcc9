"""Absorbing states: those that are never left again, whatever is done there."""

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.mdp.mdp import MDP

LOST_MASS = 1e-9  # Rows are sums of floats, so that one which keeps all but this much of its mass keeps all of it.


def absorbing_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """Return which states are absorbing: T(s|s,a) = 1 for every available action.

    Example:
        >>> absorbing_states(MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)).tolist()
        [False, True]
    """
    return np.all((np.asarray(mdp.kernel.self_transitions()) >= 1 - LOST_MASS) | ~np.asarray(mdp.mask), axis=-1)


def never_left(
    next_states: Int[np.ndarray, "S A K"], probabilities: Float[np.ndarray, "S A K"]
) -> Bool[np.ndarray, " S"]:
    """Return which states have no listed successor of positive probability but themselves.

    The lists are those from which a world is yet to be built.

    Example:
        >>> never_left(np.array([[[0, 1]], [[1, 0]]]), np.array([[[0.5, 0.5]], [[1.0, 0.0]]])).tolist()
        [False, True]
    """
    here = np.arange(len(next_states))[:, None, None]
    return ~((probabilities > 0) & (next_states != here)).any((1, 2))
