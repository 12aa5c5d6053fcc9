"""Pairs of worlds whose dynamics differ in kind, not only in the amount of noise.

The pairs of `strangers_worlds` differ in the amount of noise alone. In these an expert may do what the learner cannot,
so that a policy that comes as close as possible may still be useless.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from robustirl.mdp import MDP
from robustirl.paper.studies.strangers_worlds import ACTIONS, Pair

SMALLEST, LARGEST = 16, 100
STRONG = 0.4  # The probability of drift or noise where the two worlds differ in it.
PART = 0.3  # Of the states: those that are closed, or bear another number in the recordings.

Kernel = Float[np.ndarray, "S A S"]


@dataclasses.dataclass(frozen=True, eq=False)
class _LineWorlds:
    """The parts of both worlds of a pair: short and long moves along a line, a goal at its end."""

    moves: Kernel
    down: Float[np.ndarray, "S S"]
    up: Float[np.ndarray, "S S"]
    reward: Float[np.ndarray, " S"]
    random: np.random.Generator

    @property
    def states(self) -> int:
        return len(self.reward)


def mismatched_pair(seed: int) -> Pair:
    """Return the pair of this number; the kinds of `MISMATCHES` take turns.

    Example:
        >>> pair = mismatched_pair(0)
        >>> pair.name, pair.mismatch, pair.learner.num_states == pair.expert.num_states
        ('relabeled-0', True, True)
    """
    names = list(MISMATCHES)
    kind = names[seed % len(names)]
    # Another stream of numbers than that of `random_pair` with the same seed.
    random = np.random.default_rng([seed, len(names)])
    states = int(np.exp(random.uniform(np.log(SMALLEST), np.log(LARGEST + 1))))
    line = _line_worlds(states, random)
    learner, expert, order = MISMATCHES[kind](line)
    discount = 1 - 10.0 ** random.uniform(-2.5, -1)
    initial = np.full(states, 1 / states) if random.random() < 0.5 else np.eye(states)[0]
    expert = expert[np.ix_(order, np.arange(ACTIONS), order)]
    return Pair(
        name=f"{kind}-{seed}",
        group="mismatched",
        learner=MDP(_ended(learner), discount=discount, initial=initial),
        expert=MDP(_ended(expert, int(np.argmax(order == states - 1))), discount=discount, initial=initial[order]),
        reward=line.reward,
        mismatch=True,
        expert_reward=line.reward[order],
    )


def _line_worlds(states: int, random: np.random.Generator) -> _LineWorlds:
    here, reach = np.arange(states), max(2, int(np.sqrt(states)))
    step = {size: np.eye(states)[np.clip(here + size, 0, states - 1)] for size in (-1, 1, -reach, reach)}
    reward = -0.1 - random.exponential(1.0, states) * (random.random(states) < 0.5)
    reward[-1] = 0.0
    return _LineWorlds(np.stack(list(step.values()), axis=1), step[-1], step[1], reward, random)


def _ended(kernel: Kernel, end: int = -1) -> Kernel:
    """Return the kernel with an end of episodes, in the last state unless another is given."""
    ended = kernel.copy()
    ended[end] = np.eye(len(kernel))[end]
    return ended


def _with(kernel: Kernel, amount: float, noise: Float[np.ndarray, "S S"]) -> Kernel:
    return (1 - amount) * kernel + amount * noise[:, None]


Made = tuple[Kernel, Kernel, Int[np.ndarray, " S"]]


def _same_numbers(line: _LineWorlds, learner: Kernel, expert: Kernel) -> Made:
    return learner, expert, np.arange(line.states)


def _relabeled(line: _LineWorlds) -> Made:
    """Give the expert's actions other numbers in every state; state occupancies do not change."""
    rows = np.arange(line.states)[:, None]
    order = np.argsort(line.random.random((line.states, ACTIONS)), axis=1)
    own = _with(line.moves, 0.1, (line.down + line.up) / 2)
    return _same_numbers(line, own, own[rows, order])


def _reversed_drift(line: _LineWorlds) -> Made:
    """Let the learner drift away from the goal and the expert towards it, or the reverse."""
    drifts = [line.down, line.up]
    if line.random.random() < 0.5:
        drifts.reverse()
    own, other = (_with(line.moves, STRONG, drift) for drift in drifts)
    return _same_numbers(line, own, other)


def _closed(line: _LineWorlds) -> Made:
    """Close states that only the expert may enter; a step into one leaves the learner in place."""
    closed = line.random.random(line.states) < PART
    closed[[0, -1]] = False
    closed[1::2] = False  # Never two in a row, so that a step of another size leads past.
    own = line.moves.copy()
    into = own[:, :, closed].sum(-1)
    own[:, :, closed] = 0.0
    own += into[..., None] * np.eye(line.states)[:, None]
    return _same_numbers(line, own, line.moves)


def _renumbered(line: _LineWorlds) -> Made:
    """Give part of the states other numbers in the recordings.

    Nothing but the fit can show this mistake.
    """
    order = np.arange(line.states)
    moved = np.flatnonzero(line.random.random(line.states) < PART)
    order[moved] = np.roll(moved, 1)
    own = _with(line.moves, 0.1, (line.down + line.up) / 2)
    return own, own, order


def _slower(line: _LineWorlds) -> Made:
    """Take the long steps from the learner: they do what short ones do."""
    own = line.moves.copy()
    own[:, 2:] = own[:, :2]
    return _same_numbers(line, own, line.moves)


def _noisier(line: _LineWorlds) -> Made:
    """Let noise move the expert anywhere."""
    anywhere = np.full_like(line.down, 1 / line.states)
    return _same_numbers(line, line.moves, _with(line.moves, STRONG, anywhere))


def _calmer(line: _LineWorlds) -> Made:
    """Let noise move the learner anywhere."""
    anywhere = np.full_like(line.down, 1 / line.states)
    return _same_numbers(line, _with(line.moves, STRONG, anywhere), line.moves)


MISMATCHES: dict[str, Callable[[_LineWorlds], Made]] = {
    "relabeled": _relabeled,
    "reversed-drift": _reversed_drift,
    "closed": _closed,
    "renumbered": _renumbered,
    "slower": _slower,
    "noisier": _noisier,
    "calmer": _calmer,
}
