"""Understand what a user hands over as demonstrations: episodes, lists, files, tables, other libraries' objects."""

import logging
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from robustirl._runtime import short_repr
from robustirl.demonstrations import Demonstrations, OccupancyEstimate, from_trajectories
from robustirl.demonstrations.episodes import Episode
from robustirl.demonstrations.formats import load_with_note
from robustirl.demonstrations.tables import TableOptions, is_frame, read_frame
from robustirl.errors import InvalidInputError

_log = logging.getLogger("robustirl")
EPISODE, TRAJECTORY, PAIR, STATES = "an Episode", "a trajectory", "a pair of states and actions", "a list of states"


def understand_demonstrations(given: Any) -> Any:
    """Return demonstrations, or what is given if it stands for an occupancy.

    Args:
        given: Demonstrations; the path of a file; a pandas or polars frame; or a sequence of episodes, each an
            `Episode`, an array of states, a pair of states and actions, or a trajectory of imitation.

    Example:
        >>> understand_demonstrations([[0, 1, 2], [0, 2]])
        Demonstrations(2 episodes, 3 transitions, states only, ends unknown)
        >>> understand_demonstrations([([0, 1, 2], [1, 1])])
        Demonstrations(1 episodes, 2 transitions, with actions, ends unknown)
        >>> understand_demonstrations([0.25, 0.75])
        [0.25, 0.75]
    """
    if isinstance(given, Demonstrations | OccupancyEstimate):
        return given
    # The world is an MDP, which has no names: those of a table are not numbered by guess.
    options = TableOptions(world="the world")
    if isinstance(given, str | os.PathLike):
        return _noted(*load_with_note(given, options))
    if is_frame(given):
        return _noted(*read_frame(given, options))
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "iu":
        return Demonstrations.from_arrays(given)
    if isinstance(given, Episode):
        return from_episodes([given])
    if not isinstance(given, list | tuple) or not given:
        return given
    kinds = [_kind(one) for one in given]
    if all(kind is None for kind in kinds):
        return given
    _require_one_kind(given, kinds)
    if kinds[0] == EPISODE:
        return from_episodes(given)
    if kinds[0] == TRAJECTORY:
        return from_trajectories(given)
    if kinds[0] == PAIR:
        return Demonstrations.from_arrays([states for states, _ in given], [actions for _, actions in given])
    if isinstance(given, tuple) and len(given) == 2 and len(given[0]) == len(given[1]) + 1:
        raise InvalidInputError(
            f"a pair of lists of {len(given[0])} and {len(given[1])} numbers may be two episodes, or the states and"
            " actions of one; give [[...], [...]] for two episodes, or [([...], [...])] for one with its actions."
        )
    return Demonstrations.from_arrays(given)


def _noted(found: Demonstrations, understood: str) -> Demonstrations:
    """Return demonstrations, and say in the log what was understood."""
    _log.info(understood)
    return found


def _kind(one: Any) -> str | None:
    """Return what an entry of a list is, or None if it is no episode."""
    if isinstance(one, Episode):
        return EPISODE
    if hasattr(one, "obs"):
        return TRAJECTORY
    if isinstance(one, tuple) and len(one) == 2 and _axes(one[0]) == 1:
        return PAIR
    return STATES if _axes(one) == 1 else None


def _axes(value: Any) -> int | None:
    """Return the number of axes of an array, or None if it is none."""
    try:
        return np.ndim(value)
    except Exception:  # Lists of several lengths, and whatever else NumPy cannot take.
        return None


def _require_one_kind(given: Sequence[Any], kinds: Sequence[str | None]) -> None:
    """Refuse a list whose entries are episodes in several forms."""
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        first, last = (kinds[i] or f"{short_repr(given[i])}, which is no episode" for i in (0, other))
        raise InvalidInputError(
            f"entry 0 of the demonstrations is {first}, but entry {other} is {last}; give all episodes in one form."
        )


def from_episodes(given: Any) -> Demonstrations:
    """Return demonstrations as they are, or made of a list of their episodes.

    Ends that are unknown stay unknown.
    """
    if isinstance(given, Demonstrations):
        return given
    _require_one_kind(given, [_kind(one) for one in given])
    for name, what in (("actions", "has actions"), ("terminated", "says how it ended")):
        missing = [getattr(episode, name) is None for episode in given]
        if any(missing) and not all(missing):
            raise InvalidInputError(
                f"episode {missing.index(False)} of the demonstrations {what} and episode {missing.index(True)} does"
                f" not; give {name!r} of all episodes, or None for all."
            )
    actions, ends = ([getattr(episode, name) for episode in given] for name in ("actions", "terminated"))
    return Demonstrations.from_arrays(
        [episode.states for episode in given],
        None if actions[0] is None else actions,
        terminated=None if ends[0] is None else ends,
    )


def require_occupancy(given: Any) -> Any:
    """Return what stands for an occupancy; refuse demonstrations.

    Demonstrations need an estimate of an occupancy first.

    Example:
        >>> require_occupancy([0.25, 0.75])
        [0.25, 0.75]
    """
    if isinstance(given, OccupancyEstimate):
        return given.occupancy
    if isinstance(given, str | os.PathLike):
        kind = f"the file {short_repr(given)}"
    elif isinstance(given, Demonstrations):
        kind = "demonstrations"
    elif isinstance(given, list | tuple) and len(given) and (hasattr(given[0], "obs") or _holds_episodes(given)):
        kind = "a list of episodes"
    else:
        return given
    raise InvalidInputError(
        f"{kind} stands where fit needs the expert's occupancy, [S]; call RobustIRL().fit(world, demonstrations), or"
        " estimate it with demonstrations.estimate_occupancy(demos, world).occupancy."
    )


def _holds_episodes(given: Any) -> bool:
    return isinstance(given[0], list | tuple | np.ndarray) and _axes(given[0]) != 0
