"""A relative-entropy fit in stretches of rounds, with a word to the caller after each.

Without callbacks all rounds and all attempts are one compiled program. With callbacks the same rounds are run a few at
a time: they watch, draw, save, or end the fit.
"""

import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl.control import GaussianPolicy
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.callbacks import Interrupted
from robustirl.irl.relative_entropy.loop import Log, LoopState, Problem, advance, begin, finish, round_keys
from robustirl.irl.relative_entropy.result import RelativeEntropyFit, RelativeEntropyHistory


@dataclasses.dataclass(frozen=True, eq=False)
class RelativeEntropyStep:
    """Where a fit stands. Numbers are at hand; arrays stay on their device until someone looks.

    Attributes:
        attempt: Which attempt this is, from 0.
        round: Rounds taken in this attempt.
        rounds: Rounds an attempt may take.
        attempts: Attempts there will be.
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the trajectories of the last round.
        effective: The effective number of trajectories behind its steps on θ.
        finished: The share of its episodes that ended before the horizon.
        parameters: θ.
        player: π_pl.
    """

    attempt: int
    round: int
    rounds: int
    attempts: int
    feature_gap: float
    effective: float
    finished: float
    parameters: Float[Array, " d"] = dataclasses.field(repr=False)
    player: GaussianPolicy = dataclasses.field(repr=False)


RelativeEntropyCallback = Callable[[RelativeEntropyStep], object]
"""A function of a `RelativeEntropyStep`. Only the answer False means something: enough."""


def learn_with_callbacks(
    problem: Problem, keys: Sequence[PRNGKeyArray], callbacks: Sequence[RelativeEntropyCallback], every: int
) -> list[RelativeEntropyFit]:
    """One fit per key, one after the other; a callback that has had enough ends the one it sees and those to come."""
    for callback in callbacks:
        if not callable(callback):
            raise InvalidInputError(
                f"the callback {callback!r} cannot be called; give functions of a RelativeEntropyStep."
            )
    fits: list[RelativeEntropyFit] = []
    for attempt, key in enumerate(keys):
        fit, stopped = _attempt(problem, attempt, len(keys), key, callbacks, every, fits)
        fits.append(fit)
        if stopped:
            break
    return fits


def _attempt(
    problem: Problem,
    attempt: int,
    attempts: int,
    key: PRNGKeyArray,
    callbacks: Sequence[RelativeEntropyCallback],
    every: int,
    before: Sequence[RelativeEntropyFit],
) -> tuple[RelativeEntropyFit, bool]:
    rounds = problem.config.rounds
    keys, check_key = round_keys(problem.config, key)
    state, logs, stopped = _begin(problem), [], False

    def conclude(stopped: bool) -> RelativeEntropyFit:
        return _finish(problem, state, _joined(logs), jnp.asarray(stopped), check_key)

    try:
        for first in range(0, rounds, every):
            indices = jnp.arange(first, first + every)
            # The last stretch is as long as the others, so that one program serves them all; rounds beyond are idle.
            after, log = _advance(problem, state, indices, keys[jnp.minimum(indices, rounds - 1)])
            jax.block_until_ready(after)
            state, logs = after, [*logs, log]
            answers = [callback(_report(problem, state, log, attempt, attempts)) for callback in callbacks]
            over = bool(state.matched) or not bool(state.sound) or first + every >= rounds
            enough = any(isinstance(answer, bool | np.bool_) and not answer for answer in answers)
            if over or enough:
                # At the very end of all there is nothing left to stop.
                stopped = enough and not (over and attempt + 1 == attempts)
                break
    except KeyboardInterrupt:
        # `state` and `logs` are whole: they are replaced only once the next ones are there.
        raise Interrupted(conclude(True) if logs else (before[-1] if before else None)) from None
    return conclude(stopped), stopped


def _report(problem: Problem, state: LoopState, log: Log, attempt: int, attempts: int) -> RelativeEntropyStep:
    history, begun = log
    last = int(np.asarray(begun).sum()) - 1
    return RelativeEntropyStep(
        attempt=attempt,
        round=int(state.rounds),
        rounds=problem.config.rounds,
        attempts=attempts,
        feature_gap=float(history.feature_gap[last]),
        effective=float(history.effective[last]),
        finished=float(history.finished[last]),
        parameters=state.theta,
        player=state.ascent.players.player,
    )


def _joined(logs: Sequence[Log]) -> RelativeEntropyHistory:
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *(history for history, _ in logs))


_begin = eqx.filter_jit(begin)
_advance = eqx.filter_jit(advance)
_finish = eqx.filter_jit(finish)
