"""What the theory says from an expert's occupancy, or demonstrations of it, without the expert's world."""

import dataclasses
from typing import Literal

import numpy as np

from robustirl.demonstrations import Demonstrations, OccupancyEstimate, estimate_occupancy
from robustirl.demonstrations.alpha import AlphaEstimate, estimate_alpha
from robustirl.irl import RobustIRL
from robustirl.mdp import MDP, absorbing_states
from robustirl.theory import Closest, Guarantee, Matching, closest_occupancy, find_matching_policy, guarantee


@dataclasses.dataclass(frozen=True, eq=False)
class DemonstrationsReport:
    """Whether an expert seen in demonstrations can be matched, as far as they tell.

    The smallest occupancy gap g(ρ) = min_π ‖ρ_π - ρ‖₁ moves by no more than ρ does, so that g of the expert's own ρ is
    within the estimate's error of g(ρ̂).

    Attributes:
        estimate: ρ̂, and how far from ρ it may be.
        matching: Whether a policy of the learner has ρ̂.
        closest: g(ρ̂).
        alpha: α from the moves that the learner's own cannot explain.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
        >>> report = report_demonstrations(ThreeState().mdp(noise=0.2), walks)
        >>> round(float(report.closest.gap), 3), [round(end, 2) for end in report.gap_interval], report.verdict
        (0.36, [0.23, 0.49], 'no')
    """

    estimate: OccupancyEstimate
    matching: Matching
    closest: Closest
    alpha: AlphaEstimate

    @property
    def gap_interval(self) -> tuple[float, float]:
        """Where the smallest gap to the expert's own occupancy lies, with the estimate's confidence."""
        gap, error = float(self.closest.gap), self.estimate.error + self.estimate.bias
        return max(0.0, gap - error), min(2.0, gap + error)

    @property
    def verdict(self) -> str:
        """Whether the expert itself can be matched: `no` with the estimate's confidence, or `open`.

        Never yes: close to every occupancy that can be matched there may be one that cannot.
        """
        return "no" if self.gap_interval[0] > 0 else "open"


def report_demonstrations(learner: MDP, demonstrations: Demonstrations, *, tail: str = "chain") -> DemonstrationsReport:
    """Return what can be said of a learner's world and demonstrations by an expert of another.

    Args:
        learner: M^L.
        demonstrations: What the expert did.
        tail: What stands in for the unseen rest of truncated episodes; see `estimate_occupancy`.
    """
    demonstrations.check_against(learner)
    demonstrations = demonstrations.in_world(learner)
    estimate = estimate_occupancy(demonstrations, learner, tail=tail)
    return DemonstrationsReport(
        estimate=estimate,
        matching=find_matching_policy(learner, estimate.occupancy),
        closest=closest_occupancy(learner, estimate.occupancy),
        alpha=estimate_alpha(learner, demonstrations),
    )


def report_guarantee(
    learner: MDP,
    demonstrations: Demonstrations,
    *,
    radius: float,
    alpha: float | Literal["auto"] = "auto",
    tail: str = "chain",
) -> tuple[Guarantee, float]:
    """Return the guarantee of a policy that is fitted to the demonstrations, and α of that fit.

    Args:
        learner: M^L.
        demonstrations: What the expert did.
        radius: How far the expert's world, and the one the policy will act in, may be from the learner's. States that
            are never left are taken as they are.
        alpha: α of the fit, or "auto" to choose it as `RobustIRL` does.
        tail: See `estimate_occupancy`.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
        >>> found, alpha = report_guarantee(ThreeState().mdp(noise=0.0), walks, radius=0.0)
        >>> round(found.shortfall, 2), alpha
        (0.01, 1.0)
    """
    demonstrations.check_against(learner)
    learned = RobustIRL(alpha, tail=tail, throw=False).fit(learner, demonstrations)
    ends = absorbing_states(learner)[:, None]
    by_pair = np.where(ends, 0.0, np.full(np.asarray(learner.mask).shape, radius))
    return guarantee(learner, demonstrations, learned.policy_, radius=by_pair), float(np.asarray(learned.alpha_))
