"""Checks on sets of episodes: which ones are asked for, and whether they go together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from robustirl.demonstrations.arrays import as_array, as_whole_numbers
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    from robustirl.demonstrations.trajectories import Demonstrations


def as_episodes(indices: ArrayLike, count: int) -> Int[np.ndarray, " n"]:
    """Return the numbers of episodes, from numbers or from a mask.

    Negative numbers count from the end.

    Example:
        >>> as_episodes([2, -1], 3).tolist(), as_episodes([True, False, True], 3).tolist()
        ([2, 2], [0, 2])
    """
    chosen = as_array("the list of episodes to keep", indices, "numbers")
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise InvalidInputError(
                f"the mask has shape {chosen.shape}, but one answer for each of the {count} episodes is needed."
            )
        chosen = np.flatnonzero(chosen)
    elif chosen.dtype.kind == "i" and chosen.ndim == 1:
        below = chosen < -count
        if below.any():
            raise InvalidInputError(f"episode {int(chosen[np.argmax(below)])} was asked for, but there are {count}.")
        chosen = np.where(chosen < 0, chosen + count, chosen)
    chosen = as_whole_numbers("the list of episodes to keep", chosen)
    if chosen.size == 0:
        raise InvalidInputError(f"no episode of the {count} is left; choose at least one.")
    if chosen.max() >= count:
        raise InvalidInputError(f"episode {int(chosen.max())} was asked for, but there are {count}, numbered from 0.")
    return chosen


def require_actions_match(lengths: Int[np.ndarray, " E"], found: Sequence[int]) -> None:
    """Refuse actions whose number does not go with the number of states, episode by episode."""
    if len(found) != lengths.size:
        raise InvalidInputError(
            f"there are states of {lengths.size} episodes, but actions of {len(found)};"
            " give one array of actions for each episode, or none at all."
        )
    counts = np.array(found)
    wrong = (lengths > 0) & (counts != lengths - 1)
    if wrong.any():
        e = int(np.argmax(wrong))
        raise InvalidInputError(
            f"episode {e} has {lengths[e]} states and {counts[e]} actions, but {lengths[e]} states go with"
            f" {lengths[e] - 1} actions; the state reached by the last action belongs to the episode."
        )


def require_alike(first: "Demonstrations", part: "Demonstrations", i: int) -> None:
    """Refuse to join sets 0 and `i` of demonstrations if one records what the other does not."""
    if first.has_actions != part.has_actions:
        with_actions, without = (0, i) if first.has_actions else (i, 0)
        raise InvalidInputError(
            f"set {with_actions} of the demonstrations has actions and set {without} has none;"
            " drop them with .without_actions()."
        )
    if first.ends_known != part.ends_known:
        known, unknown = (0, i) if first.ends_known else (i, 0)
        raise InvalidInputError(
            f"set {known} of the demonstrations says how its episodes ended and set {unknown} does not;"
            " call .infer_terminated(world) first."
        )
    if first.names != part.names:
        raise InvalidInputError(
            f"sets 0 and {i} of the demonstrations name their states or actions differently;"
            " read both with the same state_names and action_names."
        )


def renumbered(
    kind: str, numbers: Int[np.ndarray, " n"] | None, names: Sequence[str] | None, new_names: Sequence[str] | None
) -> tuple[Int[np.ndarray, " n"] | None, Sequence[str] | None]:
    """Return the numbers by `new_names` instead of `names`, and the names that then apply."""
    if new_names is None:
        return numbers, names
    if names is None:
        raise InvalidInputError(f"the demonstrations have no {kind} names to renumber by; read them with names.")
    places = {name: i for i, name in enumerate(new_names)}
    missing = [name for name in names if name not in places]
    if missing:
        raise InvalidInputError(
            f"the demonstrations name a {kind} {missing[0]!r}, which is not among the {len(places)} names given;"
            " correct the names."
        )
    order = np.array([places[name] for name in names], dtype=np.int64)
    return (None if numbers is None else order[numbers]), new_names
