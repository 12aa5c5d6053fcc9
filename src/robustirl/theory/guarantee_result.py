"""What `robustirl.theory.guarantee` returns."""

import dataclasses

import numpy as np
from jaxtyping import Float

from robustirl._runtime import ShortRepr


@dataclasses.dataclass(frozen=True, eq=False)
class Guarantee(ShortRepr):
    """How much less than the expert a policy can earn.

    Rewards are in [0,1], and returns are normalized to 1.

    Attributes:
        shortfall: An upper bound on J(expert) - J(policy) over all rewards that explain the expert and all worlds.
        attained: A shortfall that one of them has: the true one lies between the two. None if none was found.
        without_data: The bound without demonstrations.
        vacuous: Whether the demonstrations add next to nothing, or `return_bound` is zero.
        episodes_needed: After how many episodes like these the guarantee would not be vacuous; the number given if it
            is not vacuous, None if no number suffices.
        obstacle: Why no number suffices, in words; None otherwise.
        return_bound: x, a lower bound on the policy's return if the expert's is at least `expert_return`; None without.
        reward: `[S]`, the reward at which the program attains `shortfall`.
        occupancy_error: e, the ℓ1 error of the expert's occupancy.
        mismatch: κ, the most by which d moves an occupancy, in total variation.
        radius: The largest d(s,a).
        confidence: Of the guarantee; 1 for an exact occupancy.
        episodes: How many episodes it rests on; None for an exact occupancy.
        suboptimality: ε.
        expert_return: v.
    """

    shortfall: float
    attained: float | None
    without_data: float
    vacuous: bool
    episodes_needed: int | None
    obstacle: str | None
    return_bound: float | None
    reward: Float[np.ndarray, " S"]
    occupancy_error: float
    mismatch: float
    radius: float
    confidence: float
    episodes: int | None
    suboptimality: float
    expert_return: float | None

    def summary(self) -> str:
        """Return the guarantee in words, with what it rests on."""
        sure = "" if self.episodes is None else f"with {100 * self.confidence:g} % confidence "
        where = f"every world within {self.radius:.3g} of the learner's" if self.radius else "the learner's world"
        within = f" within {self.suboptimality:g}" if self.suboptimality else ""
        lines = [
            f"{sure}the policy earns at least what the expert earns, less {self.shortfall:.3g} (returns from 0 to 1),"
            f" in {where}, under every reward in [0,1] that explains the expert{within}."
        ]
        if self.return_bound is not None:
            lines.append(
                f"If the expert earns at least {self.expert_return:g}, the policy earns {self.return_bound:.3g}."
            )
        if self.attained is not None:
            lines.append(f"A shortfall of {self.attained:.3g} does occur for one such reward.")
        data = "an exact occupancy" if self.episodes is None else f"{self.episodes} independent episodes"
        own = "some world within the radius" if self.radius else where
        moves = f" The radius moves occupancies by up to {self.mismatch:.3g}." if self.radius else ""
        lines.append(
            f"It rests on {data} (the expert's occupancy is known within {self.occupancy_error:.3g} in l1) and on an"
            f" expert who is optimal{within} in {own}.{moves}"
        )
        if self.vacuous:
            remedy = (
                f"no number of episodes would change that, because {self.obstacle}."
                if self.obstacle is not None
                else f"after about {self.episodes_needed} episodes like these it would not be."
            )
            lines.append(
                f"It is vacuous, since {self.without_data:.3g} holds without demonstrations: {remedy}"
                if self.return_bound is None
                else f"It is vacuous: {remedy}"
            )
        return "\n".join(lines)
