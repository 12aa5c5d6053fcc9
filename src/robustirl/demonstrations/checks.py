"""Check demonstrations against worlds: do states and actions exist, could the moves happen, where do episodes end?"""

import logging
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, absorbing_states, as_world

if TYPE_CHECKING:
    import scipy.sparse

_log = logging.getLogger("robustirl")


def require_states(demonstrations: Demonstrations, num_states: int) -> None:
    """Refuse states of `num_states` and beyond."""
    beyond = demonstrations.states >= num_states
    if beyond.any():
        episode, step = _where(demonstrations, int(np.argmax(beyond)))
        raise InvalidInputError(
            f"episode {episode} is in state {demonstrations.states[np.argmax(beyond)]} at step {step}, but there are"
            f" {num_states} states, numbered from 0; {_remedy(demonstrations.states, num_states)}."
        )


def _remedy(states: Int[np.ndarray, " N"], num_states: int) -> str:
    """Return what to do about states beyond the last; where 0 never occurs, they may count from 1."""
    if states.max() == num_states and states.min() >= 1:
        return (
            f"the recording has states from {states.min()} to {num_states} and never 0, so that it may count from 1:"
            " read it with first_state=1 (--first-state 1 on the command line)"
        )
    return "renumber the states or give the world they belong to"


def require_of_world(demonstrations: Demonstrations, mdp: MDP) -> None:
    """Refuse states that the world does not have, and actions that it does not have or offer there."""
    require_states(demonstrations, as_world(mdp).num_states)
    if demonstrations.actions is None:
        return
    states, actions = demonstrations.states[demonstrations.moves], demonstrations.actions
    beyond = actions >= mdp.num_actions
    if beyond.any():
        move = int(np.argmax(beyond))
        episode, step = _where(demonstrations, int(demonstrations.moves[move]))
        raise InvalidInputError(
            f"episode {episode} takes action {actions[move]} at step {step}, but the world has {mdp.num_actions}"
            " actions, numbered from 0."
        )
    missing = ~np.asarray(mdp.mask)[states, actions]
    if missing.any():
        move = int(np.argmax(missing))
        episode, step = _where(demonstrations, int(demonstrations.moves[move]))
        raise InvalidInputError(
            f"episode {episode} takes action {actions[move]} in state {states[move]} at step {step}, where the world"
            " does not offer it; correct the recording, or use .without_actions() to go by states alone."
        )


def require_possible(demonstrations: Demonstrations, *worlds: MDP) -> None:
    """Refuse a move that is impossible in every world given, and an end in a state that every one can leave.

    With actions, a move is possible if T(s'|s,a) > 0 for the recorded action; without, for any available one.

    Example:
        >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
        >>> require_possible(Demonstrations.from_arrays([[0, 0, 1]], terminated=True), walk)
    """
    if not worlds:
        raise InvalidInputError("no world was given to check the moves against; give at least one.")
    sources, targets, actions = demonstrations.states[:-1], demonstrations.states[1:], demonstrations.actions
    sources, targets = sources[demonstrations.moves], targets[demonstrations.moves]
    possible, stays = np.zeros(sources.size, bool), np.zeros(len(demonstrations), bool)
    for world in worlds:
        require_of_world(demonstrations, world)
        matrix = world.kernel.to_sparse()
        possible |= _chances(world, matrix, sources, actions, targets) > 0
        stays |= absorbing_states(world)[demonstrations.last_states]
    everywhere = "the world given" if len(worlds) == 1 else f"each of the {len(worlds)} worlds given"
    if not possible.all():
        move = int(np.argmin(possible))
        episode, step = _where(demonstrations, int(demonstrations.moves[move]))
        how = "any available action" if actions is None else f"action {actions[move]}"
        raise InvalidInputError(
            f"episode {episode} moves from state {sources[move]} to state {targets[move]} at step {step}, which has"
            f" probability 0 by {how} in {everywhere}; correct the recording or give the world it was made in."
        )
    left = demonstrations.terminated & ~stays
    if left.any():
        episode = int(np.argmax(left))
        raise InvalidInputError(
            f"episode {episode} is marked as terminated in state {demonstrations.last_states[episode]}, but that state"
            f" can be left in {everywhere}; mark the episode as truncated or give the world it was made in."
        )


def infer_terminated(demonstrations: Demonstrations, mdp: MDP) -> Demonstrations:
    """Return the episodes with their ends known: those that end in an absorbing state of `mdp` are terminated.

    Ends that were recorded stay as they are. A line in the log says how many episodes were judged.
    """
    if demonstrations.ends_known:
        return demonstrations
    require_states(demonstrations, as_world(mdp).num_states)
    ended = absorbing_states(mdp)[demonstrations.last_states]
    _log.info(note_on_ends(demonstrations, ended))
    return Demonstrations(
        demonstrations.states, demonstrations.actions, demonstrations.lengths, ended, **demonstrations.names
    )


def note_on_ends(demonstrations: Demonstrations, ended: Bool[np.ndarray, " E"]) -> str:
    """Return the sentence that says how unknown ends were judged."""
    count, total = int(ended.sum()), len(demonstrations)
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


def _where(demonstrations: Demonstrations, position: int) -> tuple[int, int]:
    return int(demonstrations.episodes[position]), int(demonstrations.steps[position])
