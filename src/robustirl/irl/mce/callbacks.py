"""Run a fit step by step and report on every step."""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Array, Float

from robustirl.irl._callbacks import Loop
from robustirl.irl.mce.loop import LoopState, Problem
from robustirl.irl.mce.padding import cut_fit, cut_parameters, cut_policy, parameter_shapes
from robustirl.irl.mce.programs import advance_compiled, finish_compiled
from robustirl.irl.mce.result import Fit
from robustirl.rewards import AbstractReward
from robustirl.types import AnyArray, FloatTree


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """The state of a fit after a step.

    Numbers are on the host; arrays stay on their device until they are read.

    Attributes:
        step: Parameter updates taken so far; 0 at the start.
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


Callback = Callable[[Step], object]
"""A function of a `Step`. Return False to stop; any other answer is ignored."""


class SteppedFit(Loop[LoopState, Fit]):
    """One fit, one step at a time.

    Args:
        problem: What is run, perhaps in a padded world.
        original: What was asked for, and what reports and results are about.
    """

    def __init__(self, problem: Problem, original: Problem):
        self._problem, self._original = problem, original
        self._steps = int(problem.steps)
        self._shapes = parameter_shapes(original)  # Tracing the model anew would take longer than a step.

    def advance(self, state: LoopState) -> LoopState:
        """Evaluate the next parameters."""
        return advance_compiled(self._problem, state, state.step + 1)

    def is_over(self, state: LoopState) -> bool:
        """Say whether the gap is closed, a step failed, or all steps were taken."""
        return bool(state.finished) or int(state.step) > self._steps

    def report(self, state: LoopState) -> Step | None:
        """Return the step just taken; None if it was not, because its plan was not valid."""
        if not bool(state.valid):
            return None
        step = int(state.step) - 1
        return Step(
            step=step,
            occupancy_gap=float(np.asarray(state.history.occupancy_gap)[step]),
            dual=float(np.asarray(state.history.dual)[step]),
            parameters=cut_parameters(state.parameters, self._shapes),
            player=cut_policy(state.solution.player, self._original),
            _model=self._original.model,
        )

    def finish(self, state: LoopState, stopped: bool) -> Fit:
        """Return the fit as it stands."""
        found = jax.block_until_ready(finish_compiled(self._problem, state, stopped))
        return cut_fit(found.trimmed(), self._original)
