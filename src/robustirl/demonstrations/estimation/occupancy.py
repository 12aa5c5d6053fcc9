r"""The state occupancy that demonstrations show, ρ̂, and how wrong it may be.

    ρ(s) = (1-γ) Σ_t γ^t P(s_t = s)   is estimated by the mean over episodes of   x_e(s) = (1-γ) Σ_t γ^t 1{s_t = s}.

An episode of n transitions shows the part with t <= n, of mass 1 - γ^{n+1}. If it terminated, it stays where it is, and
s_n takes all that remains. If it was truncated, a tail of mass γ^{n+1} is unknown and something stands in for it:

    renormalise   the shown part, scaled up by 1 / (1 - γ^{n+1}): as if the tail resembled it
    hold          s_n: as if the episode had terminated
    chain         what the empirical chain of all demonstrations (`TransitionCounts.to_matrix`) does from s_n on

Whatever stands in is a measure of the same mass, so x_e is within 2 γ^{n+1} of what the endless episode would have
given, in ℓ1 and for sure; a tail that goes where the stand-in does not go attains it. `bias` is the mean of that over
episodes. It bounds the systematic error provided that recordings do not stop *because of* what would come next.
"""

import dataclasses
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from robustirl.demonstrations.checks import require_states
from robustirl.demonstrations.estimation.chain import transition_counts
from robustirl.demonstrations.estimation.concentration import as_confidence, l1_radius_from_data
from robustirl.demonstrations.estimation.intervals import bootstrap_intervals
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import as_count

if TYPE_CHECKING:
    import scipy.sparse

Tail = Literal["renormalise", "hold", "chain"]


@dataclasses.dataclass(frozen=True, eq=False)
class OccupancyEstimate:
    """An estimated occupancy and its error.

    Attributes:
        occupancy: `[S]`, ρ̂(s), which sums to one.
        lower, upper: `[S]`, an interval for each state by itself, of sampling error alone (see `intervals.py`); None
            when not asked for. A truncated tail may add up to bias/2 at a state.
        reliable: `[S]`, false where too few episodes tell about the state for its interval to be trusted.
        radius: ‖ρ̂ - ρ‖₁ <= radius + bias with probability `confidence` (see `concentration.py`).
        bias: The part of that which truncated episodes may cause, however many there are.
        episodes: How many episodes went in.
        discount: γ.
        tail: What stood in for unseen tails.
        confidence: Of the radius, and of the interval of each state.
    """

    occupancy: Float[np.ndarray, " S"]
    lower: Float[np.ndarray, " S"] | None
    upper: Float[np.ndarray, " S"] | None
    reliable: Bool[np.ndarray, " S"] | None
    radius: float
    bias: float
    episodes: int
    discount: float
    tail: str
    confidence: float

    @property
    def error(self) -> float:
        """The bound on ‖ρ̂ - ρ‖₁ at the stated confidence; two distributions are never more than 2 apart."""
        return min(2.0, self.radius + self.bias)


def estimate_occupancy(
    demonstrations: Demonstrations,
    *,
    num_states: int,
    discount: float,
    tail: str = "renormalise",
    confidence: float = 0.95,
    key: PRNGKeyArray | None = None,
    resamples: int = 1000,
) -> OccupancyEstimate:
    """ρ̂ from demonstrations, with a bound on its error.

    Args:
        demonstrations: Episodes, drawn independently of each other.
        num_states: |S|.
        discount: γ of the learner's world.
        tail: What stands in for the unseen rest of truncated episodes: `renormalise`, `hold` or `chain`.
        confidence: Of the radius and of the intervals.
        key: Randomness for the bootstrap; without it, no intervals for single states are made.
        resamples: Bootstrap resamples.

    Example:
        >>> demos = Demonstrations.from_arrays([[0, 1], [1]], terminated=True)
        >>> estimate_occupancy(demos, num_states=2, discount=0.5).occupancy.tolist()
        [0.25, 0.75]
        >>> cut = Demonstrations.from_arrays([[0, 1]])
        >>> estimate_occupancy(cut, num_states=2, discount=0.5, tail="hold").bias
        0.5
    """
    size, gamma = as_count("the number of states", num_states, 1), _as_discount(discount)
    confidence = as_confidence(confidence)
    resamples = as_count("the number of resamples", resamples, 100)
    if tail not in get_args(Tail):
        raise InvalidInputError(f"the tail is {tail!r}, but one of {', '.join(get_args(Tail))} is needed.")
    require_states(demonstrations, size)
    episodes, truncated = len(demonstrations), ~demonstrations.terminated
    unseen = np.where(truncated, gamma ** demonstrations.lengths.astype(np.float64), 0)
    contributions = _contributions(demonstrations, size, gamma, tail)
    occupancy, rest = np.asarray(contributions.sum(0)).ravel() / episodes, np.zeros(size)
    if tail == "chain" and truncated.any():
        leaving = np.bincount(demonstrations.last_states, unseen, size) / episodes
        rest = _tail(transition_counts(demonstrations, size).to_matrix(), leaving, gamma)
    squares = np.asarray(contributions.power(2).sum(0)).ravel()
    spread = float(np.sqrt(np.maximum(squares - episodes * occupancy**2, 0)).sum()) / episodes
    bias = 2 * float(unseen.mean())
    # For `chain` the spread is that of the shown parts, which the unseen masses add to at most once.
    slack = bias if tail != "chain" else bias / 2
    lower = upper = reliable = None
    if key is not None:
        lower, upper, reliable = bootstrap_intervals(contributions, confidence=confidence, resamples=resamples, key=key)
        lower, upper = np.minimum(lower + rest, 1), np.minimum(upper + rest, 1)
    occupancy = occupancy + rest
    return OccupancyEstimate(
        occupancy=occupancy / occupancy.sum(),  # One, up to rounding.
        lower=lower,
        upper=upper,
        reliable=reliable,
        radius=l1_radius_from_data(episodes, size, spread, bias=slack, confidence=confidence),
        bias=bias,
        episodes=episodes,
        discount=gamma,
        tail=tail,
        confidence=confidence,
    )


def _contributions(demonstrations: Demonstrations, size: int, gamma: float, tail: str) -> "scipy.sparse.csr_array":
    """x_e(s) as a sparse matrix `[E, S]`; for `chain`, the shown part alone of truncated episodes."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    weights = (1 - gamma) * gamma ** demonstrations.steps.astype(np.float64)
    last = demonstrations.offsets[1:] - 1
    stays = demonstrations.terminated if tail != "hold" else np.ones(len(demonstrations), dtype=bool)
    weights[last[stays]] = gamma ** demonstrations.steps[last[stays]].astype(np.float64)
    if tail == "renormalise":
        shown = np.where(stays, 1, 1 - gamma ** demonstrations.lengths.astype(np.float64))
        weights /= shown[demonstrations.episodes]
    matrix = scipy.sparse.csr_array(
        (weights, demonstrations.states, demonstrations.offsets), shape=(len(demonstrations), size), copy=True
    )
    matrix.sum_duplicates()  # An episode may come by again.
    return matrix


def _tail(chain: "scipy.sparse.csr_array", leaving: Float[np.ndarray, " S"], gamma: float) -> Float[np.ndarray, " S"]:
    """(1-γ) Σ_k γ^k (P̂ᵀ)^{k+1} μ: where the mass μ goes that leaves the last states of truncated episodes."""
    import scipy.sparse
    import scipy.sparse.linalg as linalg

    back = scipy.sparse.csr_array(chain.T)
    matrix = scipy.sparse.csr_array(scipy.sparse.eye_array(leaving.size, format="csr") - gamma * back)
    goal = back @ leaving
    # ‖x - x*‖₁ <= ‖residual‖₁ / (1-γ), and the result is (1-γ) x: the residual bounds its error. Each round of the
    # Krylov solver takes some five digits off; where it fails, a direct one is slower but sure.
    solution = np.zeros_like(goal)
    for solve in (
        *[lambda rest: linalg.bicgstab(matrix, rest)[0]] * 6,
        lambda rest: linalg.spsolve(matrix.tocsc(), rest),
    ):
        residual = goal - matrix @ solution
        if np.abs(residual).sum() <= 1e-13 * goal.sum():
            break
        step = solve(residual)
        better = np.abs(residual - matrix @ step).sum() < np.abs(residual).sum()
        solution = solution + step if better else solution
    error = float(np.abs(goal - matrix @ solution).sum())
    if error > 1e-10:
        raise ConvergenceError(
            f"the tail of truncated episodes was found to {error:.1e} only, not 1e-10, at discount {gamma!r};"
            " choose tail='hold' or tail='renormalise'."
        )
    return (1 - gamma) * np.maximum(solution, 0)


def _as_discount(discount: float) -> float:
    try:
        number = float("nan") if isinstance(discount, str) else float(discount)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number < 1:
        raise InvalidInputError(f"the discount γ is {discount!r}, but a number with 0 <= γ < 1 is needed.")
    return number
