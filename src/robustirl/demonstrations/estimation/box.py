r"""Bound every entry of an occupancy at once, by the variance that episodes show.

An episode e that was recorded for n transitions shows x_e(s), and the rest of mass γ^{n+1} may be anywhere; a
terminated one shows all. So its contribution lies between x_e(s) and x_e(s) + γ^{n+1}, both in [0, 1] and both
recorded. With m episodes, the empirical variance v of such numbers and L = log(2|S| · 2 / (1 - confidence)), the
one-sided empirical Bernstein bound (Maurer and Pontil, 2009) says that the mean is off by at most

    sqrt(2 v L / m) + 7 L / (3 (m - 1))

for all states and both sides together. Unlike the ℓ1 radius (`concentration.py`) this is small wherever ρ(s) is.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from robustirl.demonstrations.estimation.concentration import as_confidence
from robustirl.demonstrations.estimation.occupancy import shown_contributions
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.mdp import MDP


class OccupancyBox(NamedTuple):
    """An interval for every entry of an occupancy; all hold together with the stated confidence."""

    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]


def occupancy_box(demonstrations: Demonstrations, mdp: MDP, *, confidence: float = 0.95) -> OccupancyBox:
    """Return simultaneous intervals for the expert's occupancy ρ(s).

    They allow for truncated episodes.

    Args:
        demonstrations: Episodes, drawn independently of each other.
        mdp: The learner's world, for |S|, γ and the states in which episodes end.
        confidence: Of all intervals together.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
        >>> box = occupancy_box(walks, world)
        >>> box.lower.round(3).tolist(), box.upper.round(3).tolist()
        ([0.488, 0.488], [0.512, 0.512])
    """
    shown, unseen = shown_contributions(demonstrations, mdp)
    risk = (1 - as_confidence(confidence)) / 2 / mdp.num_states
    count, log = len(demonstrations), float(np.log(2 / risk))
    if count < 2:
        return OccupancyBox(np.zeros(mdp.num_states), np.ones(mdp.num_states))

    def bound(mean: np.ndarray, square: np.ndarray) -> np.ndarray:
        variance = np.maximum(square - mean**2, 0) * count / (count - 1)
        return np.sqrt(2 * variance * log / count) + 7 * log / (3 * (count - 1))

    mean = np.asarray(shown.sum(0)).ravel() / count
    square = np.asarray(shown.power(2).sum(0)).ravel() / count
    cross = np.asarray(shown.multiply(unseen[:, None]).sum(0)).ravel() / count
    above, above_square = mean + unseen.mean(), square + 2 * cross + (unseen**2).mean()
    lower, upper = mean - bound(mean, square), above + bound(above, above_square)
    return OccupancyBox(np.clip(lower, 0, 1), np.clip(upper, 0, 1))
