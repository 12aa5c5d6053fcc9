"""What (robust) maximum causal entropy IRL returns: the policies, the reward, a history and a verdict."""

from typing import Any

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import PlainModule, draw, html_table, joined, short_value, warn_renamed
from robustirl.irl._result import AbstractFit, AbstractVerdict, Status
from robustirl.mdp import mixture
from robustirl.types import FloatTree

NEGLIGIBLE_GRADIENT = 1e-6  # Of the mean log-likelihood, where no further step lowers it.


class FitVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: Whether the gap came within the tolerance.
        valid: Whether every planner call converged, to an error far below the temperature that shapes the policies.
        stopped: Whether a callback or an interrupt ended the fit early.
        steps: Parameter updates taken.
        occupancy_gap: ‖ρ_mix - ρ‖₁ between the mixture and the expert, of the iterate that is returned.
        error_bound: The largest error bound ‖V - V*‖∞ of any planner call.
        settled: Whether the optimizer ended the fit because no further step lowers the gap.
        best_step: The step whose iterate is returned: the one with the smallest gap, unless the last was asked for.
        tolerance: The gap at which the fit would have counted as converged.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    steps: Int[Array, "*batch"]
    occupancy_gap: Float[Array, "*batch"]
    error_bound: Float[Array, "*batch"]
    settled: Bool[Array, "*batch"]
    best_step: Int[Array, "*batch"]
    tolerance: Float[Array, "*batch"]

    @property
    def status(self) -> Status:
        """The verdict in one word."""
        return Status.of(valid=self.valid, converged=self.converged, stopped=self.stopped, settled=self.settled)

    @property
    def planned(self) -> Bool[Array, "*batch"]:
        """The name of `valid` in version 0.1."""
        warn_renamed("FitVerdict.planned")
        return self.valid

    def history_length(self) -> int:
        return int(self.steps) + 1  # The start has an entry, too.


class History(PlainModule):
    """One entry for the start and one for every step taken.

    Attributes:
        occupancy_gap: ‖ρ_mix - ρ‖₁; to about a tenth where steps are planned roughly (large worlds, plain gradients).
        dual: The objective (1-γ) P₀ᵀV_θ - ρᵀR_θ that learning lowers; its gradient in R is ρ_mix - ρ. For a likelihood
            it is minus the mean log-probability of a recorded choice, and the gap is the size of its gradient.
        planner_steps: Newton steps of the planner.
    """

    occupancy_gap: Float[Array, "*batch T"]
    dual: Float[Array, "*batch T"]
    planner_steps: Int[Array, "*batch T"]


class Diagnosis(PlainModule):
    """Facts about a fit that decide whether its policy can be trusted.

    All but the discount are parts of a mass of 1.

    Attributes:
        matching_gap: The gap in what the reward can express, which learning closes: the occupancy gap for a reward of
            every state, the feature gap for a linear one.
        least_gap: A certified lower bound on the occupancy gap of every policy of the learner's world; 0 if unknown.
        leavable_mass: The expert's mass in states that can be left.
        leavable_gap: The part of the occupancy gap in those states.
        unvisited_mass: The mixture's mass in states that the expert never visits.
        unreachable_mass: The expert's mass in states that no policy of the learner's world reaches.
        start_deficit: Σ_s max(0, (1-γ) P₀(s) - ρ(s)): where the learner's world starts more often than the expert did.
        discount: γ.
        player_gap: As `matching_gap`, of the player alone in the learner's world; the same for α = 1.
        player_leavable_gap: As `leavable_gap`, of the player alone.
        randomness: How often two tries of the player in the same state would lead elsewhere by choice, from 0 to 1;
            see `choice_randomness`.
    """

    matching_gap: Float[Array, "*batch"]
    least_gap: Float[Array, "*batch"]
    leavable_mass: Float[Array, "*batch"]
    leavable_gap: Float[Array, "*batch"]
    unvisited_mass: Float[Array, "*batch"]
    unreachable_mass: Float[Array, "*batch"]
    start_deficit: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]
    player_gap: Float[Array, "*batch"]
    player_leavable_gap: Float[Array, "*batch"]
    randomness: Float[Array, "*batch"]


def is_robust(fit: "Fit") -> bool:
    """Return whether there was an opponent: α is below 1 somewhere."""
    return bool(np.min(np.asarray(fit.alpha)) < 1)


def found_maximum(fit: "Fit") -> bool:
    """Return whether a fit by likelihood ended at a maximum, as exactly as the planner allows."""
    close = float(fit.diagnosis.matching_gap) <= NEGLIGIBLE_GRADIENT
    return fit.verdict.status == Status.CONVERGED or (fit.verdict.status == Status.SETTLED and close)


class Fit(AbstractFit):
    """The outcome of (robust) maximum causal entropy IRL.

    Attributes:
        player: `[S, A]`, π_pl: the policy to act with.
        opponent: `[S, A]`, π_op.
        reward: `[S]`, the learned R_θ; `[S, A]` for a reward of states and actions.
        parameters: θ.
        value: `[S]`, the value of the game under the learned reward.
        expert_occupancy: `[S]`, ρ, what was to be matched (summed over actions, where it was one of pairs); for a
            likelihood the share of the recorded choices in each state.
        occupancy: `[S]`, ρ of the mixture α π_pl + (1-α) π_op in the learner's world.
        alpha: α, or α(s,a) `[S, A]`.
        history: How learning went.
        verdict: How it ended.
        diagnosis: Facts about how far it can be trusted; `judgment` puts them into words.
        objective: What was minimized: "occupancy" for the dual of occupancy matching, or "likelihood".
    """

    player: Float[Array, "*batch S A"]
    opponent: Float[Array, "*batch S A"]
    reward: Float[Array, "*batch S"] | Float[Array, "*batch S A"]
    parameters: FloatTree
    value: Float[Array, "*batch S"]
    expert_occupancy: Float[Array, "*batch S"]
    occupancy: Float[Array, "*batch S"]
    alpha: Float[Array, "*batch"] | Float[Array, "*batch S A"]
    history: History
    verdict: FitVerdict
    diagnosis: Diagnosis
    objective: str = eqx.field(static=True, default="occupancy")

    @property
    def mixture(self) -> Float[Array, "*batch S A"]:
        """α π_pl + (1-α) π_op."""
        return mixture(self.player, self.opponent, self.alpha)

    def plot(self, world: Any = None, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of reward, moves, occupancies and the gap over time.

        Args:
            world: The learner's world, or its environment. A grid is recognized by its moves, a small world is drawn
                as a graph; if omitted, states are drawn in a row.
            shape: Rows and columns, if the first states are the cells of a grid.

        Example:
            >>> from robustirl.envs import ThreeState
            >>> from robustirl.irl import fit
            >>> world = ThreeState().mdp()
            >>> fit(world, [0.1, 0.8, 0.1]).plot(world).savefig("fit.png")  # doctest: +SKIP
        """
        return draw("plot_fit", self, world, shape=shape)

    def __repr__(self) -> str:
        return joined("Fit", [f"{name}: {text}" for name, text in self._rows()])

    def _repr_html_(self) -> str:
        return html_table("Fit", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """Return what a prompt shows: names and texts."""
        *batch, states, actions = self.player.shape
        many = f"{' × '.join(map(str, batch))} fits of " if batch else ""
        verdict = self.verdict
        if batch or isinstance(verdict.steps, Tracer):
            ended = f"converged: {short_value(verdict.converged)}"
        else:
            ended = (
                f"{verdict.status} after {int(verdict.steps)} steps, occupancy gap {float(verdict.occupancy_gap):.4g}"
            )
        return [
            ("world", f"{many}{states} states, {actions} actions, α = {short_value(self.alpha)}"),
            ("ended", ended),
            ("reward", short_value(self.reward)),
        ]

    def explain_failure(self, which: str) -> str:
        dtype = np.asarray(self.value).dtype
        size, discount = float(np.abs(self.value).max()), float(self.diagnosis.discount)
        # The part of the error bound that is rounding alone; see `planning.verdict.StoppingRule`.
        rounding = 4 * float(np.finfo(dtype).eps) * size / (1 - discount)
        bound = float(self.verdict.error_bound)
        if int(self.verdict.steps) == 0 and np.isfinite(bound) and rounding > bound / 2:
            wider = "use double precision or" if dtype == np.float32 else "use"
            return (
                f"at discount {discount!r} {dtype} can certify values of size {size:.1e} to no better than"
                f" {rounding:.1e}, which is too coarse for a fit{which}; {wider} a smaller discount, or pass"
                " throw=False to look at the policy for the initial reward."
            )
        largest = float(np.abs(self.reward).max())
        # Nothing was learned yet, and the plan for the initial reward itself is coarse: no step is to blame.
        if int(self.verdict.steps) == 0 and not bound <= 1e-6 * max(1.0, size):
            remedies = ["double precision"] * (dtype == np.float32) + ["a smaller discount"]
            remedies += ["a smaller initial reward"] * (largest > 0)
            return (
                f"at discount {discount!r} the plan for the initial reward, of size {largest:.1e}, has an error bound"
                f" of {bound:.1e} in {dtype}, which is too coarse for a fit{which}; use {' or '.join(remedies)}, or"
                " pass throw=False to look at the policy for the initial reward."
            )
        remedy = "use double precision, take fewer steps" if dtype == np.float32 else "take smaller or fewer steps"
        return (
            f"the planner did not reach its accuracy in {dtype} after {int(self.verdict.steps)} steps of the"
            f" fit{which}, where the largest reward was {largest:.1e}; {remedy}, or pass"
            " throw=False to keep the last valid iterate."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        if self.objective == "likelihood":
            return (
                f"the gradient of the mean log-likelihood is {float(self.diagnosis.matching_gap):.3e} after"
                f" {int(self.verdict.steps)} steps{which}, above the tolerance {tolerance:.3e}, so that no maximum was"
                " found; raise steps or the tolerance, give a penalty, or pass throw=False to keep the fit."
            )
        return (
            f"the gap is {float(self.diagnosis.matching_gap):.3e} after {int(self.verdict.steps)} steps{which},"
            f" above the tolerance {tolerance:.3e}, and"
            + (
                " no further step lowers it; raise the tolerance, or pass throw=False to keep the fit (with alpha below"
                " 1 or an expert of another world a match need not exist)."
                if self.verdict.status == Status.SETTLED
                else " the steps have run out; raise steps or the tolerance, or pass throw=False to keep the fit."
            )
        )
