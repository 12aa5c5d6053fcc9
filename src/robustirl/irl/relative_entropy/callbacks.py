"""Run a relative-entropy fit a few rounds at a time and report after each stretch."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl._runtime import BoundedJit
from robustirl.control import GaussianPolicy
from robustirl.irl._callbacks import Loop, require_callbacks, run_with_callbacks
from robustirl.irl.relative_entropy.loop import Log, LoopState, Problem, advance, begin, finish, round_keys
from robustirl.irl.relative_entropy.result import RelativeEntropyFit


@dataclasses.dataclass(frozen=True, eq=False)
class RelativeEntropyStep:
    """The state of a fit after a round.

    Numbers are on the host; arrays stay on their device until they are read.

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
"""A function of a `RelativeEntropyStep`. Return False to stop; any other answer is ignored."""


class RoundsState(NamedTuple):
    """Where an attempt stands: the loop's state, the next round's index, and the logs so far."""

    loop: LoopState
    next_round: int
    logs: tuple[Log, ...]


class SteppedAttempt(Loop[RoundsState, RelativeEntropyFit]):
    """One attempt, a few rounds at a time."""

    def __init__(self, problem: Problem, key: PRNGKeyArray, *, every: int, attempt: int, attempts: int):
        self._problem, self._every = problem, every
        self._attempt, self._attempts = attempt, attempts
        self._keys, self._check_key = round_keys(problem.config, key)

    def begin(self) -> RoundsState:
        """Return the state before the first round."""
        return RoundsState(_begin(self._problem), 0, ())

    def advance(self, state: RoundsState) -> RoundsState:
        """Run the next rounds.

        The last stretch is as long as the others, so that one program serves them all.
        """
        indices = jnp.arange(state.next_round, state.next_round + self._every)
        keys = self._keys[jnp.minimum(indices, self._problem.config.rounds - 1)]
        after, log = _advance(self._problem, state.loop, indices, keys)
        return RoundsState(after, state.next_round + self._every, (*state.logs, log))

    def is_over(self, state: RoundsState) -> bool:
        """Say whether the features are matched, a round failed, or all rounds were run."""
        loop = state.loop
        return bool(loop.matched) or not bool(loop.valid) or state.next_round >= self._problem.config.rounds

    def report(self, state: RoundsState) -> RelativeEntropyStep:
        """Return the last round that was begun."""
        history, begun = state.logs[-1]
        last = int(np.asarray(begun).sum()) - 1
        return RelativeEntropyStep(
            attempt=self._attempt,
            round=int(state.loop.rounds),
            rounds=self._problem.config.rounds,
            attempts=self._attempts,
            feature_gap=float(history.feature_gap[last]),
            effective=float(history.effective[last]),
            finished=float(history.finished[last]),
            parameters=state.loop.theta,
            player=state.loop.ascent.players.player,
        )

    def finish(self, state: RoundsState, stopped: bool) -> RelativeEntropyFit:
        """Return the fit as it stands."""
        history = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(history for history, _ in state.logs))
        return _finish(self._problem, state.loop, history, jnp.asarray(stopped), self._check_key)


def learn_with_callbacks(
    problem: Problem, keys: Sequence[PRNGKeyArray], callbacks: Sequence[RelativeEntropyCallback], every: int
) -> list[RelativeEntropyFit]:
    """Run one attempt per key.

    A callback that returns False ends the current attempt and those to come.
    """
    require_callbacks(callbacks, RelativeEntropyStep)
    fits: list[RelativeEntropyFit] = []
    for attempt, key in enumerate(keys):
        loop = SteppedAttempt(problem, key, every=every, attempt=attempt, attempts=len(keys))
        fit, stopped = run_with_callbacks(
            loop,
            loop.begin(),
            callbacks,
            more_to_come=attempt + 1 < len(keys),
            before=fits[-1] if fits else None,
        )
        fits.append(fit)
        if stopped:
            break
    return fits


_begin = BoundedJit(begin)
_advance = BoundedJit(advance)
_finish = BoundedJit(finish)
