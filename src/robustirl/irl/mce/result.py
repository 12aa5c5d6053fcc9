"""What (robust) maximum causal entropy IRL returns: the policies, the reward, a history and a verdict."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import warn_renamed
from robustirl.irl._result import AbstractFit, AbstractVerdict
from robustirl.mdp import mixture
from robustirl.types import FloatTree


class FitVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: Whether the occupancy gap came within the tolerance (zero, if none was given).
        valid: Whether every planner call converged, to an error far below the temperature that shapes the policies.
        stopped: Whether a callback or an interrupt ended the fit early.
        steps: Parameter updates taken.
        occupancy_gap: ‖ρ_mix - ρ‖₁ between the mixture and the expert, at the end.
        error_bound: The largest error bound ‖V - V*‖∞ of any planner call.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    steps: Int[Array, "*batch"]
    occupancy_gap: Float[Array, "*batch"]
    error_bound: Float[Array, "*batch"]

    @property
    def planned(self) -> Bool[Array, "*batch"]:
        """The name of `valid` in version 0.1."""
        warn_renamed("FitVerdict.planned", "FitVerdict.valid")
        return self.valid

    def history_length(self) -> int:
        return int(self.steps) + 1  # The start has an entry, too.


class History(eqx.Module):
    """One entry for the start and one for every step taken.

    Attributes:
        occupancy_gap: ‖ρ_mix - ρ‖₁.
        dual: The objective (1-γ) P₀ᵀV_θ - ρᵀR_θ that learning lowers; its gradient in R is ρ_mix - ρ.
        planner_steps: Newton steps of the planner.
    """

    occupancy_gap: Float[Array, "*batch T"]
    dual: Float[Array, "*batch T"]
    planner_steps: Int[Array, "*batch T"]


class Fit(AbstractFit):
    """The outcome of (robust) maximum causal entropy IRL.

    Attributes:
        player: `[S, A]`, π_pl: the policy to act with.
        opponent: `[S, A]`, π_op.
        reward: `[S]`, the learnt R_θ.
        parameters: θ.
        value: `[S]`, the value of the game under the learnt reward.
        expert_occupancy: `[S]`, ρ, what was to be matched.
        occupancy: `[S]`, ρ of the mixture α π_pl + (1-α) π_op in the learner's world.
        alpha: α.
        history: How learning went.
        verdict: How it ended.
    """

    player: Float[Array, "*batch S A"]
    opponent: Float[Array, "*batch S A"]
    reward: Float[Array, "*batch S"]
    parameters: FloatTree
    value: Float[Array, "*batch S"]
    expert_occupancy: Float[Array, "*batch S"]
    occupancy: Float[Array, "*batch S"]
    alpha: Float[Array, "*batch"]
    history: History
    verdict: FitVerdict

    @property
    def mixture(self) -> Float[Array, "*batch S A"]:
        """α π_pl + (1-α) π_op."""
        return mixture(self.player, self.opponent, self.alpha)

    def explain_failure(self, which: str) -> str:
        dtype = np.asarray(self.value).dtype
        remedy = "use double precision, take fewer steps" if dtype == np.float32 else "take smaller or fewer steps"
        return (
            f"the planner did not reach its accuracy in {dtype} after {int(self.verdict.steps)} steps of the"
            f" fit{which}, where the largest reward was {float(np.abs(self.reward).max()):.1e}; {remedy}, or pass"
            " throw=False to keep the last valid iterate."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        return (
            f"the occupancy gap is {float(self.verdict.occupancy_gap):.3e} after {int(self.verdict.steps)}"
            f" steps{which}, above the tolerance {tolerance:.3e}; raise steps or the tolerance, or pass throw=False to"
            " keep the fit (with alpha below 1 or an expert of another world a match need not exist)."
        )
