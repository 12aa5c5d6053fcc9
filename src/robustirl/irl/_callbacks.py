"""Callbacks of a fit: one protocol, one way to run a loop between them, and one exception for Ctrl-C.

A callback watches, draws, saves, or ends the fit. A loop with callbacks returns to Python after every stretch of steps;
the compiled stretches are those of a fit without callbacks.
"""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from robustirl._progress import Interrupted as Interrupted
from robustirl._runtime import released, short_repr
from robustirl.errors import InvalidInputError

State = TypeVar("State")
FitType = TypeVar("FitType")

AnyCallback = Callable[[Any], object]
"""A function of a report on a fit. Return False to stop; any other answer is ignored."""


@dataclasses.dataclass(frozen=True)
class Occasional:
    """A callback that need not see every step, such as one that moves a bar.

    If all callbacks of a fit are of this kind, it is called after every half a second and after the last step, and
    steps cost no return to Python.
    """

    callback: AnyCallback

    def __call__(self, report: Any) -> object:
        return self.callback(report)


def see_every_step(callbacks: Sequence[AnyCallback]) -> bool:
    """Return whether one of the callbacks is to see every step.

    Example:
        >>> see_every_step([]), see_every_step([Occasional(print)]), see_every_step([Occasional(print), print])
        (False, False, True)
    """
    return not all(isinstance(callback, Occasional) for callback in callbacks)


def ask(callbacks: Sequence[AnyCallback], report: Any) -> bool:
    """Give all callbacks a report; return whether one of them asks to stop."""
    answers = [callback(report) for callback in callbacks]
    return any(isinstance(answer, bool | np.bool_) and not answer for answer in answers)


class Loop(abc.ABC, Generic[State, FitType]):
    """What `run_with_callbacks` needs of a loop. States are replaced, never changed."""

    @abc.abstractmethod
    def advance(self, state: State) -> State:
        """Take the next stretch of steps."""

    @abc.abstractmethod
    def is_over(self, state: State) -> bool:
        """Say whether no step is left to take."""

    @abc.abstractmethod
    def report(self, state: State) -> Any:
        """Return what callbacks are given, or None if the last step was not taken."""

    @abc.abstractmethod
    def finish(self, state: State, stopped: bool) -> FitType:
        """Return the fit as it stands."""


def require_callbacks(callbacks: Sequence[object], report: type) -> None:
    """Refuse what is no list of functions."""
    if not isinstance(callbacks, list | tuple):
        raise InvalidInputError(f"callbacks is {short_repr(callbacks)}, but a list of functions is needed.")
    for callback in callbacks:
        if not callable(callback):
            raise InvalidInputError(
                f"the callback {callback!r} cannot be called; give functions of a {report.__name__}."
            )


def run_with_callbacks(
    loop: Loop[State, FitType],
    state: State,
    callbacks: Sequence[AnyCallback],
    *,
    more_to_come: bool = False,
    before: Any = None,
) -> tuple[FitType, bool]:
    """Run a loop from `state` and call the callbacks after every stretch.

    Args:
        loop: The loop.
        state: Where it begins.
        callbacks: Asked after every stretch. All are asked even if one ends the fit, so that each sees the last step.
        more_to_come: Whether other loops follow, so that a stop at the end of this one still stops something.
        before: What an interrupt hands over if this loop has not finished a stretch.

    Returns:
        The fit, and whether a callback stopped it.
    """
    begun = stopped = False
    try:
        while not (stopped or loop.is_over(state)):
            after = jax.block_until_ready(loop.advance(state))
            state, begun = after, True
            if (report := loop.report(state)) is None:
                break
            stopped = ask(callbacks, report) and (more_to_come or not loop.is_over(state))
    except KeyboardInterrupt:
        # `state` is complete: it is replaced only after the next one has been computed.
        raise Interrupted(released(loop.finish(state, True) if begun else before)) from None
    return loop.finish(state, stopped), stopped
