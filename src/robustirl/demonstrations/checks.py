"""Check demonstrations against worlds: do states and actions exist, could the moves happen, where do episodes end?"""

import logging
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, Recording, absorbing_states, as_world

if TYPE_CHECKING:
    import scipy.sparse

_log = logging.getLogger("robustirl")


def require_states(demonstrations: Recording, num_states: int) -> None:
    """Refuse states of `num_states` and beyond."""
    beyond = demonstrations.states >= num_states
    if beyond.any():
        episode, step = _where(demonstrations, int(np.argmax(beyond)))
        raise InvalidInputError(
            f"episode {episode} is in state {demonstrations.states[np.argmax(beyond)]} at step {step}, but there are"
            f" {num_states} states, numbered from 0; {_remedy(demonstrations.states, num_states)}."
        )


def _remedy(states: Int[np.ndarray, " N"], num_states: int) -> str:
    """Return what to do about states beyond the last.

    If 0 never occurs, they may count from 1.
    """
    if states.max() == num_states and states.min() >= 1:
        return (
            f"the recording has states from {states.min()} to {num_states} and never 0, so that it may count from 1:"
            " read it with first_state=1 (--first-state 1 on the command line)"
        )
    return "renumber the states or give the world they belong to"


def require_of_world(demonstrations: Recording, mdp: MDP) -> None:
    """Refuse states that the world lacks, and actions that it lacks or does not offer there."""
    require_states(demonstrations, as_world(mdp).num_states)
    if demonstrations.actions is None:
        return
    moves, actions = _moves(demonstrations), demonstrations.actions
    states = demonstrations.states[moves]
    beyond = actions >= mdp.num_actions
    if beyond.any():
        move = int(np.argmax(beyond))
        episode, step = _where(demonstrations, int(moves[move]))
        raise InvalidInputError(
            f"episode {episode} takes action {actions[move]} at step {step}, but the world has {mdp.num_actions}"
            " actions, numbered from 0."
        )
    missing = ~np.asarray(mdp.mask)[states, actions]
    if missing.any():
        move = int(np.argmax(missing))
        episode, step = _where(demonstrations, int(moves[move]))
        raise InvalidInputError(
            f"episode {episode} takes action {actions[move]} in state {states[move]} at step {step}, where the world"
            " does not offer it; correct the recording, or use .without_actions() to go by states alone."
        )


def require_possible(demonstrations: Recording, *worlds: MDP) -> None:
    """Refuse moves that no given world allows, and ends in states that every one can leave.

    With actions, a move is possible if T(s'|s,a) > 0 for the recorded action; without, for any available one.

    Example:
        >>> from robustirl.demonstrations import Demonstrations
        >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
        >>> require_possible(Demonstrations.from_arrays([[0, 0, 1]], terminated=True), walk)
    """
    if not worlds:
        raise InvalidInputError("no world was given to check the moves against; give at least one.")
    moves, actions, last = _moves(demonstrations), demonstrations.actions, _last_states(demonstrations)
    sources, targets = demonstrations.states[moves], demonstrations.states[moves + 1]
    possible, stays = np.zeros(sources.size, bool), np.zeros(last.size, bool)
    for world in worlds:
        require_of_world(demonstrations, world)
        matrix = world.kernel.to_sparse()
        possible |= _chances(world, matrix, sources, actions, targets) > 0
        stays |= absorbing_states(world)[last]
    everywhere = "the world given" if len(worlds) == 1 else f"each of the {len(worlds)} worlds given"
    if not possible.all():
        move = int(np.argmin(possible))
        episode, step = _where(demonstrations, int(moves[move]))
        how = "any available action" if actions is None else f"action {actions[move]}"
        raise InvalidInputError(
            f"episode {episode} moves from state {sources[move]} to state {targets[move]} at step {step}, which has"
            f" probability 0 by {how} in {everywhere}; correct the recording or give the world it was made in."
        )
    left = demonstrations.terminated & ~stays
    if left.any():
        episode = int(np.argmax(left))
        raise InvalidInputError(
            f"episode {episode} is marked as terminated in state {last[episode]}, but that state"
            f" can be left in {everywhere}; mark the episode as truncated or give the world it was made in."
        )


def judge_ends(demonstrations: Recording, mdp: MDP) -> Bool[np.ndarray, " E"]:
    """Return which episodes end in an absorbing state of `mdp`; a line in the log says how many."""
    require_states(demonstrations, as_world(mdp).num_states)
    ended = absorbing_states(mdp)[_last_states(demonstrations)]
    _log.info(note_on_ends(demonstrations, ended))
    return ended


def note_on_ends(demonstrations: Recording, ended: Bool[np.ndarray, " E"]) -> str:
    """Return the sentence that says how unknown ends were judged."""
    count, total = int(ended.sum()), demonstrations.lengths.size
    return (
        f"the demonstrations do not say how episodes ended: {count} of {total} end in a state that is absorbing in the"
        f" learner's world and count as terminated, {total - count} count as truncated."
    )


def _chances(
    world: MDP,
    matrix: "scipy.sparse.csr_array",
    sources: Int[np.ndarray, " n"],
    actions: Int[np.ndarray, " n"] | None,
    targets: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Return T(s'|s,a) of each move, or the largest over available actions if none was recorded."""
    if actions is not None:
        return _entries(matrix, sources * world.num_actions + actions, targets)
    # Most moves occur many times.
    pairs, which = np.unique(sources * world.num_states + targets, return_inverse=True)
    sources, targets = pairs // world.num_states, pairs % world.num_states
    rows = sources[:, None] * world.num_actions + np.arange(world.num_actions)
    chances = _entries(matrix, rows.ravel(), np.repeat(targets, world.num_actions)).reshape(rows.shape)
    return np.where(np.asarray(world.mask)[sources], chances, 0).max(-1)[which]


def _entries(
    matrix: "scipy.sparse.csr_array", rows: Int[np.ndarray, " n"], columns: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    entries = matrix[rows, columns] if rows.size else np.zeros(0)
    # Releases of SciPy differ in whether a choice of entries is sparse.
    return np.asarray(entries if isinstance(entries, np.ndarray) else entries.toarray(), dtype=np.float64).ravel()


def _moves(demonstrations: Recording) -> Int[np.ndarray, " M"]:
    """Return where among the states each transition starts."""
    return np.delete(np.arange(demonstrations.states.size), np.cumsum(demonstrations.lengths) - 1)


def _last_states(demonstrations: Recording) -> Int[np.ndarray, " E"]:
    return demonstrations.states[np.cumsum(demonstrations.lengths) - 1]


def _where(demonstrations: Recording, position: int) -> tuple[int, int]:
    """Return the episode and the step of one of the states."""
    ends = np.cumsum(demonstrations.lengths)
    episode = int(np.searchsorted(ends, position, side="right"))
    return episode, position - int(ends[episode] - demonstrations.lengths[episode])
