r"""Bound where an expert's occupancy is from m sampled episodes, whatever its world: for `theory.guarantee`.

The paper's results hold for the exact ρ and "can be extended to the stochastic estimate of ρ using concentration
inequalities" (Section 2.2, after Abbeel and Ng, 2004). These are the inequalities; `estimate_occupancy` has the error
that the data themselves show, which is far smaller. Each episode contributes a distribution x_e over states, and
ρ̂ = mean of x_e; with f = ‖ρ̂ - ρ‖₁ and ε(δ) = sqrt(2 log(1/δ) / m):

1. Replacing one episode moves f by at most 2/m, so f <= E f + ε(δ) with probability 1-δ (McDiarmid, 1989).
2. E f <= Σ_s sqrt(Var_s / m), and Var_s <= ρ_s (1-ρ_s) because 0 <= x_e(s) <= 1; the sum is largest for the
   uniform ρ, so E f <= sqrt((|S|-1) / m). This is `l1_radius`, known before any data.
3. From the data: let D = (1/m) Σ_s sqrt(Σ_e (x_e(s) - ρ̂(s))²). Symmetrization gives
   E f <= 2 E (1/m) Σ_s sqrt(Σ_e (x_e(s) - ρ(s))²) <= 2 E (D + f/√m), so E f <= c E D with c = 2 / (1 - 2/√m); and D,
   a norm of the data, moves by at most 2/m with one episode, so E D <= D + ε(δ) with probability 1-δ as well.
   Together, f <= c (D + ε(δ/2)) + ε(δ/2) with probability 1-δ.

**Every entry at once.** An episode that was recorded for n transitions shows x_e(s), and the rest of mass γ^{n+1} may
be anywhere; a terminated one shows all. So its contribution lies between x_e(s) and x_e(s) + γ^{n+1}, both in [0, 1].
With the empirical variance v of such numbers and L = log(2|S| · 2 / (1 - confidence)), the one-sided empirical
Bernstein bound (Maurer and Pontil, 2009) says that the mean is off by at most sqrt(2 v L / m) + 7 L / (3 (m - 1)) for
all states and both sides together. Unlike the ℓ1 radius this is small wherever ρ(s) is.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from robustirl._check import as_count
from robustirl.demonstrations.episodes import Demonstrations
from robustirl.demonstrations.occupancy import as_confidence, shown_contributions
from robustirl.mdp import MDP


class OccupancyBox(NamedTuple):
    """Hold an interval for every entry of an occupancy; all hold together with the stated confidence."""

    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]


def l1_radius(episodes: int, num_states: int, *, confidence: float = 0.95) -> float:
    """Return a radius that ‖ρ̂ - ρ‖₁ stays within with probability `confidence`, for every world and policy.

    Example:
        >>> round(l1_radius(1000, 100), 3)
        0.392
    """
    count, size = as_count("the number of episodes", episodes, 1), as_count("the number of states", num_states, 1)
    radius = math.sqrt((size - 1) / count) + _deviation(count, 1 - as_confidence(confidence))
    return min(2.0, radius)  # Two distributions are never further apart.


def certain_error(demonstrations: Demonstrations, mdp: MDP, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return a radius that ‖ρ̂ - ρ‖₁ stays within, and what truncated episodes may add, for ρ̂ of the `chain`.

    The radius is the smaller of `l1_radius` and of what the spread of the data allows, each at half the risk.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
        >>> radius, bias = certain_error(walks, world)
        >>> round(radius, 3), bias
        (0.118, 0.0)
    """
    shown, unseen = shown_contributions(demonstrations, mdp)
    count, risk, bias = len(demonstrations), (1 - as_confidence(confidence)) / 2, 2 * float(unseen.mean())
    beforehand = l1_radius(count, mdp.num_states, confidence=1 - risk)
    if count <= 4:
        return beforehand, bias
    mean = np.asarray(shown.sum(0)).ravel() / count
    squares = np.asarray(shown.power(2).sum(0)).ravel()
    spread = float(np.sqrt(np.maximum(squares - count * mean**2, 0)).sum()) / count
    constant, deviation = 2 / (1 - 2 / math.sqrt(count)), _deviation(count, risk / 2)
    # The spread is that of the shown parts, which the unseen masses add to at most once.
    return min(beforehand, constant * (spread + bias / 2 + deviation) + deviation), bias


def occupancy_box(demonstrations: Demonstrations, mdp: MDP, *, confidence: float = 0.95) -> OccupancyBox:
    """Return simultaneous intervals for the expert's occupancy ρ(s), which allow for truncated episodes.

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


def _deviation(episodes: int, risk: float) -> float:
    return math.sqrt(2 * math.log(1 / risk) / episodes)
