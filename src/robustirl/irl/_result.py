"""What a fit returns: the policies, the reward, how learning went, and a verdict on it."""

import enum

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import mixture
from robustirl.types import ArrayLike, FloatTree


class Status(enum.StrEnum):
    """How a fit ended."""

    CONVERGED = "converged"
    """The occupancy gap is within the tolerance asked for."""
    BUDGET = "budget"
    """All steps were taken; the gap is what the history says."""
    STOPPED = "stopped"
    """A callback or an interrupt ended the fit early, at the step it had reached."""
    FAILED = "failed"
    """A planner inside the fit could not vouch for its answer, so the fit stopped at the last one it could."""

    @classmethod
    def of(cls, *, sound: ArrayLike, converged: ArrayLike, stopped: ArrayLike) -> "Status":
        """The word for these three answers."""
        if not sound:
            return cls.FAILED
        if converged:
            return cls.CONVERGED
        return cls.STOPPED if stopped else cls.BUDGET


class FitVerdict(eqx.Module):
    """How a fit ended.

    Attributes:
        converged: Whether the occupancy gap came within the tolerance (zero, where none was given).
        planned: Whether every planner call converged, to an error far below the temperature that shapes the policies.
        stopped: Whether a callback or an interrupt ended the fit before its time.
        steps: Parameter updates taken.
        occupancy_gap: ‖ρ_mix - ρ‖₁ between the mixture and the expert, at the end.
        error_bound: The largest error bound ‖V - V*‖∞ of any planner call.
    """

    converged: Bool[Array, "*batch"]
    planned: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    steps: Int[Array, "*batch"]
    occupancy_gap: Float[Array, "*batch"]
    error_bound: Float[Array, "*batch"]

    @property
    def status(self) -> Status:
        """The verdict in a word."""
        return Status.of(sound=self.planned, converged=self.converged, stopped=self.stopped)


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


class Fit(eqx.Module):
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

    def trimmed(self) -> "Fit":
        """The fit with its history cut to the steps taken; loops make room for all of them beforehand."""
        length = int(self.verdict.steps) + 1
        return eqx.tree_at(lambda f: f.history, self, jax.tree.map(lambda log: log[:length], self.history))
