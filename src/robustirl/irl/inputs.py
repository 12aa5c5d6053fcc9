"""Understand what a user hands over as demonstrations: episodes, lists, files, tables, other libraries' objects."""

import os
from typing import Any

import numpy as np

from robustirl._runtime import short_repr
from robustirl.demonstrations import Demonstrations, Episode, OccupancyEstimate, from_trajectories, load
from robustirl.errors import InvalidInputError


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
    if isinstance(given, str | os.PathLike):
        return load(given)
    if hasattr(given, "columns") and hasattr(given, "shape"):
        return Demonstrations.from_frame(given)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "iu":
        return Demonstrations.from_arrays(given)
    if not isinstance(given, list | tuple) or not given:
        return given
    if isinstance(given[0], Episode):
        return from_episodes(given)
    if hasattr(given[0], "obs"):
        return from_trajectories(given)
    if all(isinstance(one, tuple) and len(one) == 2 and np.ndim(one[0]) == 1 for one in given):
        return Demonstrations.from_arrays([states for states, _ in given], [actions for _, actions in given])
    if all(np.ndim(one) == 1 for one in given):
        return Demonstrations.from_arrays(given)
    return given


def from_episodes(given: Any) -> Demonstrations:
    """Return demonstrations as they are, or made of a list of their episodes."""
    if isinstance(given, Demonstrations):
        return given
    actions = None if given[0].actions is None else [episode.actions for episode in given]
    return Demonstrations.from_arrays(
        [episode.states for episode in given], actions, terminated=[episode.terminated for episode in given]
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
    return isinstance(given[0], list | tuple | np.ndarray) and np.ndim(given[0]) >= 1
