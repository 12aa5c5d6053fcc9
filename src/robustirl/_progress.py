"""Run long loops: in stretches between which Python reports, asks callbacks and answers Ctrl-C."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from robustirl._check import short_repr
from robustirl._jax import released, wait_interruptibly
from robustirl.errors import InvalidInputError

State = TypeVar("State")
Report = Callable[[float, str], None]
"""A function of how much is done and a note on how it stands."""
Callback = Callable[[Any], object]
"""A function of a report on a fit. Return False to stop; any other answer is ignored."""


def ignore_progress(done: int | float, note: str = "") -> None:
    """Do nothing with a report."""


@contextlib.contextmanager
def progress_bar(title: str, total: int | float | None, *, show: bool = True) -> Iterator[Report]:
    """Show a bar on standard error while the context lasts; call what it gives with how much is done and a note.

    In terminals and notebooks it moves, elsewhere only its end is printed.

    Args:
        title: What is being done.
        total: How much there is to do; None if that is not known, and then only time is shown.
        show: Whether to show anything.

    Example:
        >>> with progress_bar("learning", 3, show=False) as report:
        ...     report(1, "gap 0.1")
    """
    if not show:
        yield ignore_progress
        return
    try:
        from rich import progress
        from rich.console import Console
    except ModuleNotFoundError:
        raise InvalidInputError("progress bars need rich; install robustirl[cli], or pass progress=False.") from None
    columns: list[Any] = [progress.TextColumn("{task.description}"), progress.BarColumn()]
    if total is not None:
        columns += [progress.TaskProgressColumn(), progress.TimeRemainingColumn()]
    columns += [progress.TimeElapsedColumn(), progress.TextColumn("{task.fields[note]}")]
    # Without ipywidgets rich warns in notebooks and shows nothing that moves.
    widgets = importlib.util.find_spec("ipywidgets") is not None
    console = Console(stderr=True) if widgets else Console(stderr=True, force_jupyter=False)
    with progress.Progress(*columns, console=console, speed_estimate_period=60.0) as shown:
        task = shown.add_task(title, total=total, note="compiling first")

        def report(done: int | float, note: str = "") -> None:
            shown.update(task, completed=done, note=note)

        yield report
        if total is not None:
            shown.update(task, completed=total)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit.

    Attributes:
        fit: The fit as it stood after the last finished step; None before the first. Of `fit_many`, a list of the fits
            so far.
    """

    def __init__(self, fit: Any):
        super().__init__()
        self.fit = fit


def require_callbacks(callbacks: Sequence[object]) -> None:
    """Refuse what is no list of functions."""
    if not isinstance(callbacks, list | tuple) or not all(map(callable, callbacks)):
        raise InvalidInputError(f"callbacks is {short_repr(callbacks)}, but a list of functions is needed.")


def run_in_stretches(
    state: State,
    advance: Callable[[State], State],
    *,
    is_over: Callable[[State], bool],
    view: Callable[[State], Any] = lambda state: state,
    finish: Callable[[State], Any] = lambda state: state,
    callbacks: Sequence[Callback] = (),
) -> tuple[State, bool]:
    """Advance a state until it is over, and call the callbacks after every stretch.

    States are replaced, never changed, so that the last complete one survives Ctrl-C.

    Args:
        state: Where to begin.
        advance: Takes a stretch of steps, compiled or not, and returns the next state.
        is_over: Says whether no step is left to take.
        view: Returns what callbacks are given.
        finish: Returns what `Interrupted` hands over when Ctrl-C is pressed.
        callbacks: All are asked after every stretch, even if one ends the loop.

    Returns:
        The last state, and whether a callback stopped the loop before it was over.

    Example:
        >>> run_in_stretches(0, lambda n: n + 1, is_over=lambda n: n == 5)
        (5, False)
        >>> run_in_stretches(0, lambda n: n + 1, is_over=lambda n: n == 5, callbacks=[lambda n: n < 3])
        (3, True)
    """
    begun = False
    try:
        while not is_over(state):
            state, begun = wait_interruptibly(advance(state)), True
            answers = [callback(view(state)) for callback in callbacks] if callbacks else []
            if any(isinstance(answer, bool | np.bool_) and not answer for answer in answers) and not is_over(state):
                return state, True
    except KeyboardInterrupt:
        raise Interrupted(released(finish(state)) if begun else None) from None
    return state, False
