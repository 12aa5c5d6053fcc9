"""Run fits in stretches of steps, with a look at the keyboard and the clock between them.

While a compiled program runs, Python cannot see Ctrl-C. A stretch is as many steps as take about half a second, so that
an interrupt is answered soon and costs at most that; a fit that takes no longer runs in two or three of them.
"""

import time
from collections.abc import Sequence

import jax

from robustirl._runtime import Report, ignore_progress, released
from robustirl.irl._callbacks import Interrupted, ask, run_with_callbacks, see_every_step
from robustirl.irl.mce.callbacks import Callback, Step, SteppedFit
from robustirl.irl.mce.loop import LoopState
from robustirl.irl.mce.padding import pad_parameters, pad_problem
from robustirl.irl.mce.preparation import Prepared
from robustirl.irl.mce.problem import Problem
from robustirl.irl.mce.programs import advance_compiled, begin_compiled
from robustirl.irl.mce.renumbering import order_fit, order_problem
from robustirl.irl.mce.result import Fit
from robustirl.types import Tree

TARGET_SECONDS = 0.4
MAX_GROWTH = 1000  # Of a stretch over the one before: the first may be compiled, or be faster than those after it.


def learn_one(
    problem: Problem, start: Tree | None, callbacks: Sequence[Callback] = (), report: Report = ignore_progress
) -> Fit:
    """Run one fit, in stretches or with a stop after every step for callbacks.

    The same programs serve both.
    """

    def show(step: Step) -> None:
        report(step.step, f"gap {step.occupancy_gap:.3g}")

    order = None
    if not callbacks:
        problem, start, order = order_problem(problem, start)
    padded = pad_problem(problem)
    loop = SteppedFit(padded, problem)
    state = begin_compiled(padded, None if start is None else pad_parameters(start, padded))
    if see_every_step(callbacks):
        return run_with_callbacks(loop, state, [*callbacks, show])[0]
    watching = callbacks if report is ignore_progress else [*callbacks, show]
    try:
        return order_fit(run_in_stretches(padded, loop, state, watching), problem, order)
    except Interrupted as interrupt:
        raise Interrupted(interrupt.fit and released(order_fit(interrupt.fit, problem, order))) from None


def learn_one_by_one(prepared: Prepared, report: Report = ignore_progress) -> list[Fit]:
    """Run fits one after the other.

    Ctrl-C raises `Interrupted` with a list of those so far, the last one stopped.
    """
    out: list[Fit] = []
    for problem, start in zip(*prepared, strict=True):

        def show(done: float, note: str) -> None:
            report(len(out) * prepared.steps + done, f"fit {len(out) + 1}, {note}")

        try:
            out.append(learn_one(problem, start, (), show))
        except Interrupted as interrupt:
            stopped = [] if interrupt.fit is None else [interrupt.fit]
            raise Interrupted([*released(out), *stopped] or None) from None
    return out


def run_in_stretches(problem: Problem, loop: SteppedFit, state: LoopState, callbacks: Sequence[Callback] = ()) -> Fit:
    """Run a fit to its end; Ctrl-C raises `Interrupted` with the fit so far.

    Args:
        problem: What is run, perhaps in a padded world.
        loop: The same problem, to ask for the end and the result.
        state: Where it begins.
        callbacks: Called after every stretch.
    """
    length, begun, stopped, last = 1, False, False, int(problem.steps) + 1
    try:
        while not (stopped or loop.is_over(state)):
            started = time.monotonic()
            length = min(length, last - int(state.step))
            after = jax.block_until_ready(advance_compiled(problem, state, state.step + length))
            state, begun = after, True
            length = next_length(length, time.monotonic() - started)
            if callbacks and (step := loop.report(state)) is not None:
                stopped = ask(callbacks, step) and not loop.is_over(state)
    except KeyboardInterrupt:
        # `state` is complete: it is replaced only after the next one has been computed.
        raise Interrupted(loop.finish(state, True) if begun else None) from None
    return loop.finish(state, stopped)


def next_length(length: int, seconds: float) -> int:
    """Return how many steps the next stretch has, after one of `length` steps that took so long.

    Example:
        >>> next_length(1, 8.0), next_length(10, 0.01), next_length(100, 0.2)
        (1, 400, 200)
    """
    return max(1, min(MAX_GROWTH * length, int(length * TARGET_SECONDS / max(seconds, 1e-6))))
