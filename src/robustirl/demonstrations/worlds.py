r"""Bring demonstrations and a world together: check one against the other, and find where episodes end.

**Ends.** In a world without end an episode that is over rests in an absorbing state e. A recording may name another
state s_n, which the world can leave:

- an environment of Gymnasium says `terminated` on a step into s_n, where the world of `envs.from_gymnasium` goes to its
  end state instead. So e takes the place of s_n if T(e|s_{n-1}, a_{n-1}) > T(s_n|s_{n-1}, a_{n-1});
- a log may stop in the state before e. So e follows s_n if the action that ended the episode was recorded and can lead
  there, or if the world goes from s_n to absorbing states for sure, whatever is done.

Otherwise the worlds of expert and learner differ there, and the episode stays as it is. Where no action was recorded,
it is the likeliest one. Of several absorbing states e is the likeliest.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl.demonstrations.episodes import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import absorbing_states, as_world

LOST_MASS = 1e-9  # Rounding of a sum of probabilities.


def in_world(demonstrations: Demonstrations, mdp: MDP) -> Demonstrations:
    """Return the episodes with ends that are known and are ends of the world.

    Example:
        >>> rows = [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]  # State 1 leads to 2, where episodes rest.
        >>> walk = MDP([[row] for row in rows], discount=0.9)
        >>> [e.states.tolist() for e in in_world(Demonstrations.from_arrays([[0, 1], [0]], terminated=True), walk)]
        [[0, 1, 2], [0]]
    """
    require_of_world(demonstrations, mdp)
    over = absorbing_states(mdp)
    last = demonstrations.last_states
    if not demonstrations.ends_known:
        return demonstrations.replace(terminated=over[last])
    open_ended = np.flatnonzero(demonstrations.terminated & ~over[last])
    if not open_ended.size or not over.any():
        return demonstrations
    instead, after, action = _readings(demonstrations, mdp, open_ended, np.flatnonzero(over))
    replaced, appended = open_ended[instead >= 0], open_ended[after >= 0]
    states = demonstrations.states.copy()
    states[demonstrations.offsets[replaced + 1] - 1] = instead[instead >= 0]
    places = demonstrations.offsets[appended + 1]
    lengths = demonstrations.lengths.copy()
    lengths[appended] += 1
    final, actions = demonstrations.final_actions, demonstrations.actions
    if actions is not None:
        actions = np.insert(actions, places - appended - 1, action[after >= 0])
    if final is not None:
        final = final.copy()
        final[np.append(replaced, appended)] = -1
    return demonstrations.replace(
        states=np.insert(states, places, after[after >= 0]),
        lengths=lengths,
        actions=actions,
        final_actions=final,
        state_names=_with_number("state", demonstrations.state_names, mdp.num_states),
    )


def _with_number(kind: str, names: tuple[str, ...] | None, count: int) -> list[str] | None:
    """Return the names, and a number in place of the name of each further state of the world, such as an end state."""
    return None if names is None else [*names, *(f"{kind} {i}" for i in range(len(names), count))]


def _readings(
    demonstrations: Demonstrations, mdp: MDP, episodes: Int[np.ndarray, " n"], ends: Int[np.ndarray, " m"]
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return the end state in place of s_n, the one after s_n (-1 for none), and the action to the latter."""
    matrix, count = mdp.kernel.to_sparse(), mdp.num_actions
    into, mask = matrix[:, ends], np.asarray(mdp.mask)
    # T(e|s,a) of the likeliest end state, which it is, and whether the world ends there for sure.
    chance = np.asarray(into.max(1).todense()).reshape(-1, count) * mask
    which = ends[np.asarray(into.argmax(1)).reshape(-1, count)]
    ending = np.asarray(into.sum(1)).reshape(-1, count) > 1 - LOST_MASS
    surely = np.all(ending | ~mask, axis=1)
    last, end = demonstrations.last_states[episodes], demonstrations.offsets[episodes + 1]
    final = np.full(episodes.size, -1)
    if demonstrations.final_actions is not None:
        final = demonstrations.final_actions[episodes]
    own = np.where(final >= 0, final, chance[last].argmax(1))
    follows = np.where(final >= 0, chance[last, own] > 0, surely[last])
    moved = (demonstrations.lengths[episodes] > 1) & (final < 0)
    before = demonstrations.states[np.maximum(end - 2, 0)]
    taken, use = None, chance[before].argmax(1)
    if demonstrations.actions is not None:
        taken = np.append(demonstrations.actions, 0)[np.where(moved, end - episodes - 2, 0)]
        # In a world that moves otherwise than the expert's the recorded action may lead to neither.
        use = np.where((chance[before, taken] > 0) | follows, taken, use)
    instead = moved & (chance[before, use] > _chances(mdp, matrix, before, taken, last))
    return np.where(instead, which[before, use], -1), np.where(follows & ~instead, which[last, own], -1), own


def require_states(demonstrations: Demonstrations, num_states: int) -> None:
    """Refuse states of `num_states` and beyond."""
    beyond = demonstrations.states >= num_states
    if beyond.any():
        place = int(np.argmax(beyond))
        episode, step = _where(demonstrations, place)
        raise InvalidInputError(
            f"episode {episode} is in state {demonstrations.states[place]} at step {step}, but there are {num_states}"
            " states, numbered from 0; renumber the states or give the world they belong to."
        )


def require_of_world(demonstrations: Demonstrations, mdp: MDP) -> None:
    """Refuse states that the world lacks, and actions that it lacks or does not offer there."""
    require_states(demonstrations, as_world(mdp).num_states)
    if demonstrations.actions is None:
        return
    places, actions = all_choices(demonstrations)
    states, mask = demonstrations.states[places], np.asarray(mdp.mask)
    beyond = actions >= mdp.num_actions
    refused = beyond | ~mask[states, np.where(beyond, 0, actions)]
    if refused.any():
        row = int(np.argmax(refused))
        what = f"has {mdp.num_actions} actions, numbered from 0" if beyond[row] else "does not offer it there"
        episode, step = _where(demonstrations, int(places[row]))
        raise InvalidInputError(
            f"episode {episode} takes action {actions[row]} in state {states[row]} at step {step}, but the world"
            f" {what}; correct the recording, or use .without_actions() to go by states alone."
        )


def all_choices(demonstrations: Demonstrations) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return where among the states an action was taken, and which; final actions come last."""
    assert demonstrations.actions is not None
    if demonstrations.final_actions is None:
        return demonstrations.moves, demonstrations.actions
    with_final = demonstrations.final_actions >= 0
    places = np.append(demonstrations.moves, demonstrations.offsets[1:][with_final] - 1)
    return places, np.append(demonstrations.actions, demonstrations.final_actions[with_final])


def require_possible(demonstrations: Demonstrations, *worlds: MDP) -> None:
    """Refuse moves that no given world allows, and ends in states that every one can leave.

    With actions, a move is possible if T(s'|s,a) > 0 for the recorded action; without, for any available one.

    Example:
        >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
        >>> require_possible(Demonstrations.from_arrays([[0, 0, 1]], terminated=True), walk)
    """
    if not worlds:
        raise InvalidInputError("no world was given to check the moves against; give at least one.")
    given = in_world(demonstrations, worlds[0])
    moves, last = given.moves, given.last_states
    sources, targets = given.states[moves], given.states[moves + 1]
    possible, stays = np.zeros(sources.size, bool), np.zeros(last.size, bool)
    for world in worlds:
        require_of_world(given, world)
        possible |= _chances(world, world.kernel.to_sparse(), sources, given.actions, targets) > 0
        stays |= absorbing_states(world)[last]
    everywhere = "the world given" if len(worlds) == 1 else f"each of the {len(worlds)} worlds given"
    if not possible.all():
        move = int(np.argmin(possible))
        episode, step = _where(given, int(moves[move]))
        how = "any available action" if given.actions is None else f"action {given.actions[move]}"
        raise InvalidInputError(
            f"episode {episode} moves from state {sources[move]} to state {targets[move]} at step {step}, which has"
            f" probability 0 by {how} in {everywhere}; correct the recording or give the world it was made in."
        )
    left = given.terminated & ~stays
    if left.any():
        episode = int(np.argmax(left))
        raise InvalidInputError(
            f"episode {episode} is marked as terminated in state {last[episode]}, but that state can be left in"
            f" {everywhere}; mark the episode as truncated or give the world it was made in."
        )


def _chances(
    world: MDP,
    matrix: Any,
    sources: Int[np.ndarray, " n"],
    actions: Int[np.ndarray, " n"] | None,
    targets: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Return T(s'|s,a) of each move, or the largest over available actions if none was recorded."""
    if not sources.size:
        return np.zeros(0)
    if actions is not None:
        return _entries(matrix, sources * world.num_actions + actions, targets)
    # Most moves occur many times.
    pairs, which = np.unique(sources * world.num_states + targets, return_inverse=True)
    sources, targets = np.divmod(pairs, world.num_states)
    rows = sources[:, None] * world.num_actions + np.arange(world.num_actions)
    chances = _entries(matrix, rows.ravel(), np.repeat(targets, world.num_actions)).reshape(rows.shape)
    return np.where(np.asarray(world.mask)[sources], chances, 0).max(-1)[which]


def _entries(matrix: Any, rows: Int[np.ndarray, " n"], columns: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    found = matrix[rows, columns]  # Releases of SciPy differ in whether a choice of entries is sparse.
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float64).ravel()


def _where(demonstrations: Demonstrations, place: int) -> tuple[int, int]:
    """Return the episode and the step of one of the states."""
    return int(demonstrations.episodes[place]), int(demonstrations.steps[place])
