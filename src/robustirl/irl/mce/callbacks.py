"""A fit in steps, with a word to the caller after each.

Without callbacks a fit is one compiled program, and Python waits for its end. With callbacks the same loop is run one
step at a time: they watch, draw, save, or end it.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl.errors import InvalidInputError
from robustirl.irl._result import Fit
from robustirl.irl.mce.loop import LoopState, Problem, advance, begin, finish
from robustirl.rewards import AbstractReward
from robustirl.types import FloatTree, Tree


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """Where a fit stands. Numbers are at hand; arrays stay on their device until someone looks.

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
    def reward(self) -> Float[Array, " S"]:
        """R_θ, `[S]`."""
        return self._model(self.parameters)


Callback = Callable[[Step], object]
"""A function of a `Step`. Only the answer False means something: enough."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit with callbacks.

    Attributes:
        fit: The fit (of either kind) as it stood after the last finished step, with the verdict `stopped`; None before
            the first.
    """

    def __init__(self, fit: Any):
        super().__init__()
        self.fit = fit


def learn_in_steps(problem: Problem, start: Tree | None, callbacks: Sequence[Callback]) -> Fit:
    """The loop of `robustirl.irl.mce.loop`, step by step."""
    for callback in callbacks:
        if not callable(callback):
            raise InvalidInputError(f"the callback {callback!r} cannot be called; give functions of a Step.")
    state = _begin(problem, start)
    stopped = False
    try:
        while not (stopped or bool(state.finished) or int(state.step) > problem.steps):
            state = _advance(problem, state, state.step + 1)
            if not bool(state.planned):
                break  # The step was not taken, so there is nothing to tell.
            report = _report(problem, state)
            # All are asked, so that one which ends the fit keeps none of the others from its last entry.
            answers = [callback(report) for callback in callbacks]
            wanted = any(isinstance(answer, bool | np.bool_) and not answer for answer in answers)
            stopped = wanted and not bool(state.finished) and report.step < problem.steps
    except KeyboardInterrupt:
        # `state` is whole: it is replaced only once the next one is there.
        fit = _finish(problem, state, jnp.asarray(True)).trimmed() if int(state.step) > 0 else None
        raise Interrupted(fit) from None
    return _finish(problem, state, jnp.asarray(stopped)).trimmed()


def _report(problem: Problem, state: LoopState) -> Step:
    step = int(state.step) - 1
    return Step(
        step=step,
        occupancy_gap=float(state.history.occupancy_gap[step]),
        dual=float(state.history.dual[step]),
        parameters=state.parameters,
        player=state.solution.player,
        _model=problem.model,
    )


_begin = eqx.filter_jit(begin)
_advance = eqx.filter_jit(advance)
_finish = eqx.filter_jit(finish)
