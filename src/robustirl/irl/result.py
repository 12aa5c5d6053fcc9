"""Return what fits found: the policies, the reward, a history and a verdict; raise where a fit failed."""

import abc
import dataclasses
import enum
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from robustirl._jax import PlainModule, ScopedModule
from robustirl._show import draw, html_table, joined, short_value
from robustirl.errors import ConvergenceError
from robustirl.mdp.policy import mixture
from robustirl.rewards import AbstractReward
from robustirl.types import AnyArray, ArrayLike, FloatTree, HeldArray

if TYPE_CHECKING:
    from typing import Self

OCCUPANCY, LIKELIHOOD = "occupancy", "likelihood"
NEGLIGIBLE_GRADIENT = 1e-6
"""Of the mean log-likelihood, where no further step lowers it."""


class Status(enum.StrEnum):
    """How a fit ended. Values are written into files."""

    CONVERGED = "converged"
    """The gap is within the tolerance asked for."""
    SETTLED = "settled"
    """No further step can lower the gap by much: the expert may not be matched more closely."""
    MAX_STEPS = "budget"
    """All steps were taken; the gap is what the history says."""
    STOPPED = "stopped"
    """A callback or an interrupt ended the fit early, at the step it had reached."""
    FAILED = "failed"
    """A step could not be computed reliably, so the fit ended at the last one that could."""

    @classmethod
    def of(cls, *, valid: ArrayLike, converged: ArrayLike, stopped: ArrayLike, settled: ArrayLike = False) -> "Status":
        """Return the status for these answers."""
        if not valid:
            return cls.FAILED
        if converged:
            return cls.CONVERGED
        if stopped:
            return cls.STOPPED
        return cls.SETTLED if settled else cls.MAX_STEPS


class AbstractVerdict(ScopedModule):
    """How a fit ended: the part that all kinds of fits share."""

    converged: eqx.AbstractVar[Bool[HeldArray, "*batch"]]
    valid: eqx.AbstractVar[Bool[HeldArray, "*batch"]]
    stopped: eqx.AbstractVar[Bool[HeldArray, "*batch"]]

    @property
    def status(self) -> Status:
        """The verdict in one word."""
        return Status.of(valid=self.valid, converged=self.converged, stopped=self.stopped)

    @abc.abstractmethod
    def history_length(self) -> int:
        """Return the number of entries that the history of this fit has."""


class AbstractFit(ScopedModule):
    """The outcome of inverse reinforcement learning: the part that all kinds of fits share."""

    alpha: eqx.AbstractVar[Float[HeldArray, "*batch"] | Float[HeldArray, "*batch S A"]]
    history: eqx.AbstractVar[Any]
    verdict: eqx.AbstractVar[Any]

    def trimmed(self) -> "Self":
        """Return the fit with its history cut to the steps taken; loops reserve room for more."""
        length = self.verdict.history_length()
        return eqx.tree_at(lambda fit: fit.history, self, jax.tree.map(lambda log: _first(log, length), self.history))

    @abc.abstractmethod
    def explain_failure(self, which: str) -> str:
        """Return a sentence about a fit that ended in a step that could not be computed reliably."""

    @abc.abstractmethod
    def explain_gap(self, tolerance: float, which: str) -> str:
        """Return a sentence about a fit that took all steps and missed its tolerance."""


def _first(log: Any, length: int) -> Any:
    """Return the first entries, taken on the host: on the device every length would be a program."""
    entries = np.asarray(log)[:length]
    return jax.device_put(entries) if isinstance(log, jax.Array) else entries


AnyFit = TypeVar("AnyFit", bound=AbstractFit)


def require_success(fit: AnyFit, tolerance: float | None, which: str = "") -> AnyFit:
    """Return `fit`, or raise if it failed or missed a tolerance that was given.

    A fit misses it if it settled or took all its steps without reaching it. A fit stopped by a callback does not raise.
    `which` names the fit within a batch.
    """
    verdict = fit.verdict
    if verdict.status == Status.FAILED:
        raise ConvergenceError(fit.explain_failure(which))
    if tolerance is not None and verdict.status in (Status.MAX_STEPS, Status.SETTLED):
        raise ConvergenceError(fit.explain_gap(tolerance, which))
    return fit


class FitVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: Whether the gap came within the tolerance.
        valid: Whether every planner call converged, to an error far below the temperature that shapes the policies.
        stopped: Whether a callback or an interrupt ended the fit early.
        settled: Whether the optimizer ended the fit because no further step can lower the gap by much.
        steps: Parameter updates tried.
        best_step: The step whose iterate is returned: the one with the smallest gap, unless the last was asked for.
        occupancy_gap: ‖ρ_mix - ρ‖₁ between the mixture and the expert, of the iterate that is returned.
        gap: The same in what the reward can see, which learning closes: the gaps of the features for a linear reward.
            For a likelihood it is the largest entry of the gradient.
        least_gap: A certified lower bound on `gap` for every policy of the learner's world, where the fit found one: at
            α = 1, where the problem is convex, with a linear reward. Else NaN.
        error_bound: The largest error bound ‖V - V*‖∞ of any planner call.
        tolerance: The gap at which the fit would have counted as converged.
    """

    converged: Bool[HeldArray, "*batch"]
    valid: Bool[HeldArray, "*batch"]
    stopped: Bool[HeldArray, "*batch"]
    settled: Bool[HeldArray, "*batch"]
    steps: Int[HeldArray, "*batch"]
    best_step: Int[HeldArray, "*batch"]
    occupancy_gap: Float[HeldArray, "*batch"]
    gap: Float[HeldArray, "*batch"]
    least_gap: Float[HeldArray, "*batch"]
    error_bound: Float[HeldArray, "*batch"]
    tolerance: Float[HeldArray, "*batch"]

    @property
    def status(self) -> Status:
        """The verdict in one word."""
        return Status.of(valid=self.valid, converged=self.converged, stopped=self.stopped, settled=self.settled)

    def history_length(self) -> int:
        return int(self.steps) + 1  # The start has an entry, too.


class History(PlainModule):
    """One entry for the start and one for every step tried.

    Attributes:
        occupancy_gap: ‖ρ_mix - ρ‖₁. For a likelihood it is the size of the gradient.
        dual: The objective (1-γ) P₀ᵀV_θ - ρᵀR_θ that learning lowers; its gradient in R is ρ_mix - ρ. For a likelihood
            it is minus the mean log-probability of a recorded choice.
        planner_steps: Newton steps of the planner.
    """

    occupancy_gap: Float[HeldArray, "*batch T"]
    dual: Float[HeldArray, "*batch T"]
    planner_steps: Int[HeldArray, "*batch T"]


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
        discount: γ of the learner's world.
        history: How learning went.
        verdict: How it ended.
        objective: What was minimized: "occupancy" for the dual of occupancy matching, or "likelihood".
    """

    player: Float[HeldArray, "*batch S A"]
    opponent: Float[HeldArray, "*batch S A"]
    reward: Float[HeldArray, "*batch S"] | Float[HeldArray, "*batch S A"]
    parameters: FloatTree
    value: Float[HeldArray, "*batch S"]
    expert_occupancy: Float[HeldArray, "*batch S"]
    occupancy: Float[HeldArray, "*batch S"]
    alpha: Float[HeldArray, "*batch"] | Float[HeldArray, "*batch S A"]
    discount: Float[HeldArray, "*batch"]
    history: History
    verdict: FitVerdict
    objective: str = eqx.field(static=True, default=OCCUPANCY)

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
            >>> fit(world, [0.1, 0.8, 0.1], alpha=1).plot(world).savefig("fit.png")  # doctest: +SKIP
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
        size, discount = float(np.abs(self.value).max()), float(self.discount)
        wider = "use double precision or " if dtype == np.float32 else "use "
        if int(self.verdict.steps) == 0:
            return (
                f"at discount {discount!r} the plan for the initial reward, whose values have the size {size:.1e}, has"
                f" an error bound of {float(self.verdict.error_bound):.1e} in {dtype}, which is too coarse for a"
                f" fit{which}; {wider}a smaller discount, or pass throw=False to look at its policy."
            )
        return (
            f"the planner did not reach its accuracy in {dtype} after {int(self.verdict.steps)} steps of the"
            f" fit{which}, where the largest reward was {float(np.abs(self.reward).max()):.1e}; {wider}smaller or fewer"
            " steps, or pass throw=False to keep the last valid iterate."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        reached = f"{float(self.verdict.gap):.3e} after {int(self.verdict.steps)} steps{which}"
        if self.objective == LIKELIHOOD:
            return (
                f"the gradient of the mean log-likelihood is {reached}, above the tolerance {tolerance:.3e}, so that no"
                " maximum was found; raise steps or the tolerance, give a penalty, or pass throw=False to keep the fit."
            )
        least = float(self.verdict.least_gap)
        if least > tolerance:
            why = f"no policy of this world comes closer than {least:.3e}; raise the tolerance"
        elif self.verdict.status == Status.SETTLED:
            why = "no further step lowers it by much; raise the tolerance"
        else:
            why = "the steps have run out; raise steps or the tolerance"
        missed = f"the gap is {reached}, above the tolerance {tolerance:.3e}"
        return f"{missed}, and {why}, or pass throw=False to keep the fit."


def is_robust(fit: Fit) -> bool:
    """Return whether there was an opponent: α is below 1 somewhere."""
    return bool(np.min(np.asarray(fit.alpha)) < 1)


def found_maximum(fit: Fit) -> bool:
    """Return whether a fit by likelihood ended at a maximum, as exactly as the planner allows."""
    close = float(fit.verdict.gap) <= NEGLIGIBLE_GRADIENT
    return fit.verdict.status == Status.CONVERGED or (fit.verdict.status == Status.SETTLED and close)


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """The state of a fit after a step.

    Numbers are on the host; arrays stay on their device until they are read.

    Attributes:
        step: Parameter updates tried so far; 0 at the start.
        occupancy_gap: ‖ρ_mix - ρ‖₁ at these parameters.
        dual: The objective that learning lowers.
        parameters: θ.
        player: `[S, A]`, π_pl.
    """

    step: int
    occupancy_gap: float
    dual: float
    parameters: FloatTree = dataclasses.field(repr=False)
    player: Float[Array, "S A"] = dataclasses.field(repr=False)
    _model: AbstractReward = dataclasses.field(repr=False)

    @property
    def reward(self) -> Float[AnyArray, " S"] | Float[AnyArray, "S A"]:
        """R_θ, `[S]`; `[S, A]` for a reward of states and actions."""
        return self._model(self.parameters)
