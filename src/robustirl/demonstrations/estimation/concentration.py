r"""Bound how far an occupancy of m sampled episodes can be from the true one, in ℓ1.

The paper's results hold for the exact ρ and "can be extended to the stochastic estimate of ρ using concentration
inequalities" (Section 2.2, after Abbeel and Ng, 2004). These are the inequalities. Each episode contributes a
distribution x_e over states, and ρ̂ = mean of x_e; with f = ‖ρ̂ - ρ‖₁ and ε(δ) = sqrt(2 log(1/δ) / m):

1. Replacing one episode moves f by at most 2/m, so f <= E f + ε(δ) with probability 1-δ (McDiarmid, 1989).
2. E f <= Σ_s sqrt(Var_s / m), and Var_s <= ρ_s (1-ρ_s) because 0 <= x_e(s) <= 1; the sum is largest for the
   uniform ρ, so E f <= sqrt((|S|-1) / m). This is `l1_radius`, known before any data.
3. From the data: let D = (1/m) Σ_s sqrt(Σ_e (x_e(s) - ρ̂(s))²). Symmetrization gives
   E f <= 2 E (1/m) Σ_s sqrt(Σ_e (x_e(s) - ρ(s))²) <= 2 E (D + f/√m), so E f <= c E D with c = 2 / (1 - 2/√m); and D,
   a norm of the data, moves by at most 2/m with one episode, so E D <= D + ε(δ) with probability 1-δ as well.
   Together, f <= c (D + ε(δ/2)) + ε(δ/2) with probability 1-δ: far smaller than 2 where states are many and an
   episode spreads its mass over some of them. This is `l1_radius_from_data`.
"""

import bisect
import math

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_positive


def l1_radius(episodes: int, num_states: int, *, confidence: float = 0.95) -> float:
    """Return a radius that ‖ρ̂ - ρ‖₁ stays within with probability `confidence`.

    It holds for every world and policy.

    Example:
        >>> round(l1_radius(1000, 100), 3)
        0.392
    """
    count, size = as_count("the number of episodes", episodes, 1), as_count("the number of states", num_states, 1)
    radius = math.sqrt((size - 1) / count) + _deviation(count, 1 - as_confidence(confidence))
    return min(2.0, radius)  # Two distributions are never further apart.


def l1_radius_from_data(
    episodes: int, num_states: int, spread: float, *, bias: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the smaller of `l1_radius` and of what the spread of the data allows.

    Each is taken at half the risk.

    Args:
        episodes: m.
        num_states: |S|.
        spread: D = (1/m) Σ_s sqrt(Σ_e (x_e(s) - ρ̂(s))²).
        bias: How far the contributions are from those of endless episodes, ‖·‖₁ on average; D moves by no more.
        confidence: 1-δ.

    Example:
        >>> round(l1_radius_from_data(1000, 2500, spread=0.05), 3) < l1_radius(1000, 2500)
        True
    """
    risk = (1 - as_confidence(confidence)) / 2
    beforehand = l1_radius(episodes, num_states, confidence=1 - risk)
    if episodes <= 4:
        return beforehand
    constant, deviation = 2 / (1 - 2 / math.sqrt(episodes)), _deviation(episodes, risk / 2)
    return min(beforehand, constant * (spread + bias + deviation) + deviation)


def episodes_needed(radius: float, num_states: int, *, confidence: float = 0.95) -> int:
    """Return the fewest episodes for which `l1_radius` is at most `radius`.

    Example:
        >>> episodes_needed(0.1, 100)
        15371
        >>> l1_radius(15371, 100) <= 0.1 < l1_radius(15370, 100)
        True
    """
    goal, size = as_positive("the radius", radius), as_count("the number of states", num_states, 1)

    def enough(count: int) -> bool:
        return l1_radius(count, size, confidence=confidence) <= goal

    most = 1
    while not enough(most):
        most *= 2
    return 1 + bisect.bisect_left(range(1, most), True, key=enough)


def as_confidence(confidence: float) -> float:
    """Return `confidence` as a checked probability strictly between 0 and 1."""
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise InvalidInputError(f"the confidence is {confidence!r}, but a number between 0 and 1 is needed, as 0.95.")
    return float(confidence)


def _deviation(episodes: int, risk: float) -> float:
    return math.sqrt(2 * math.log(1 / risk) / episodes)
