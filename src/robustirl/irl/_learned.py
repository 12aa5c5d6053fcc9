"""The attributes of an estimator after a fit, which end in an underscore, and their summary."""

from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._runtime import draw, short_traceback
from robustirl.demonstrations import OccupancyEstimate
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.errors import InvalidInputError
from robustirl.irl._parameters import Parameters
from robustirl.irl.alpha_selection import AlphaSelection
from robustirl.irl.evidence import Evidence
from robustirl.irl.inference import Inference
from robustirl.irl.judgment import Judgment, judge
from robustirl.irl.mce.result import Fit
from robustirl.irl.summary import summarize, warnings_of
from robustirl.mdp import MDP
from robustirl.types import AnyArray

MOST_INFERRED = 200  # Parameters up to which standard errors are computed with every fit by likelihood.


class Learned(Parameters):
    """The part of `RobustIRL` that is read after a fit."""

    fit_: Fit
    evidence_: Evidence
    world_: MDP
    inference_: Inference | None
    alpha_selection_: AlphaSelection | None

    tolerance: float | None
    confidence: float

    def _remember(
        self,
        found: Fit,
        evidence: Evidence,
        world: MDP,
        inference: Inference | None = None,
        selection: AlphaSelection | None = None,
    ) -> None:
        """Keep what was learned, all of it at once."""
        self.fit_, self.evidence_, self.world_ = found, evidence, world
        self.inference_, self.alpha_selection_ = inference, selection

    @property
    def reward_(self) -> Float[AnyArray, " S"] | Float[AnyArray, "S A"]:
        """`[S]`, the learned reward, or `[S, A]` if the reward model is one of states and actions."""
        return self._fitted().reward

    @property
    def parameters_(self) -> Any:
        """The learned θ, as the reward model arranges it."""
        return self._fitted().parameters

    @property
    def log_likelihood_(self) -> float:
        """Return the log-probability of all recorded choices.

        It includes that of their outcomes where dynamics were learned, too.
        """
        return self._inferred().log_likelihood

    @property
    def standard_errors_(self) -> Float[np.ndarray, " d"]:
        """Return a standard error for every parameter, from the Hessian.

        `inference_` has others (sandwich, by episode).
        """
        return self._inferred().standard_errors()

    @property
    def confidence_intervals_(self) -> Float[np.ndarray, "d 2"]:
        """An interval for every parameter, at `confidence`."""
        return self._inferred().confidence_intervals(self.confidence)

    def _inferred(self) -> Inference:
        self._fitted()
        found = vars(self).get("inference_")
        if found is None:
            raise InvalidInputError(
                "there are no standard errors: they come with objective='likelihood', a maximum that was found, and at"
                f" most {MOST_INFERRED} parameters."
            )
        return found

    @property
    def policy_(self) -> Float[AnyArray, "S A"]:
        """`[S, A]`, π_pl: the policy to act with."""
        return self._fitted().player

    @property
    def opponent_(self) -> Float[AnyArray, "S A"]:
        """`[S, A]`, π_op."""
        return self._fitted().opponent

    @property
    def occupancy_(self) -> Float[AnyArray, " S"]:
        """Return ρ of the mixture α π_pl + (1-α) π_op, `[S]`.

        Learning has brought it close to the expert's.
        """
        return self._fitted().occupancy

    @property
    def expert_occupancy_(self) -> Float[AnyArray, " S"]:
        """Return ρ of the expert as estimated or given, `[S]`.

        If it was estimated, `occupancy_estimate_` has its error.
        """
        return self._fitted().expert_occupancy

    @property
    def alpha_(self) -> float | Float[AnyArray, "S A"]:
        """Return the α that was used, by state and action if so given.

        `alpha_estimate_` says where an estimate came from.
        """
        alpha = self._fitted().alpha
        return alpha if np.ndim(alpha) else float(alpha)

    @property
    def alpha_estimate_(self) -> AlphaEstimate | None:
        """The `AlphaEstimate` behind `alpha_`; None where α was given."""
        self._fitted()
        return self.evidence_.alpha_estimate

    @property
    def occupancy_estimate_(self) -> OccupancyEstimate | None:
        """The expert's occupancy with its error; None where it was given as exact."""
        self._fitted()
        return self.evidence_.occupancy_estimate

    @property
    def occupancy_gap_(self) -> float:
        """‖ρ_mix - ρ‖₁ at the end."""
        return float(self._fitted().verdict.occupancy_gap)

    @property
    def converged_(self) -> bool:
        """Return whether the gap came within the tolerance.

        `fit_.verdict.status` says how the fit ended otherwise.
        """
        return bool(self._fitted().verdict.converged)

    @property
    def warnings_(self) -> list[str]:
        """What is doubtful about the data, α or the fit, a sentence each."""
        return warnings_of(self._fitted(), self.evidence_, self.tolerance)

    @property
    def judgment_(self) -> Judgment:
        """Return whether to use what was learned, with the reason and what to try.

        The answer is trust, doubt or do not use.
        """
        evidence = self.evidence_
        return judge(self._fitted(), evidence.occupancy_estimate, alpha_estimate=evidence.alpha_estimate)

    def summary(self) -> str:
        """Return what was learned from what, and how good it is, in plain words."""
        text = summarize(self._fitted(), self.evidence_, self.tolerance)
        found = vars(self).get("inference_")
        if found is None:
            return text
        free = found.unidentified
        note = f"\n\nnot identified by these choices: {', '.join(free[:10])}" if free else ""
        return f"{text}\n\n{found.summary(self.confidence)}{note}"

    @short_traceback
    def plot(self, world: Any = None, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of what was learned: reward, moves, occupancies and the gap over time.

        Args:
            world: The learner's environment or world; that of `fit` if omitted. See `Fit.plot`.
            shape: Rows and columns, if the first states are the cells of a grid.
        """
        found = self._fitted()
        world = vars(self).get("world_") if world is None else world
        return draw("plot_fit", found, world, shape=shape, title=f"{self!r}: {self.judgment_.trust}")
