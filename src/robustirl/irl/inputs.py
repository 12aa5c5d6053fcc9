"""Understand what a user hands over as demonstrations: episodes, lists, files, tables, other libraries' objects."""

import os
from typing import Any

import numpy as np

from robustirl.demonstrations import Choices, Demonstrations, load
from robustirl.demonstrations.episodes import Episode
from robustirl.demonstrations.occupancy import OccupancyEstimate
from robustirl.demonstrations.tables import is_frame, read_frame
from robustirl.errors import InvalidInputError


def as_demonstrations(given: Any) -> Any:
    """Return demonstrations, or what is given if it stands for an occupancy.

    Args:
        given: Demonstrations; the path of a file; a data frame; an array `[E, T]` of whole numbers; or a sequence of
            episodes, each an `Episode`, an array of states, a pair of states and actions, or a trajectory of imitation.

    Example:
        >>> as_demonstrations([[0, 1, 2], [0, 2]])
        Demonstrations(2 episodes, 3 transitions, states only, ends unknown)
        >>> as_demonstrations([([0, 1, 2], [1, 1])])
        Demonstrations(1 episodes, 2 transitions, with actions, ends unknown)
        >>> as_demonstrations([0.25, 0.75])
        [0.25, 0.75]
    """
    if isinstance(given, Demonstrations | OccupancyEstimate | Choices):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given)
    if is_frame(given):
        return read_frame(given)[0]
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "iu":
        return Demonstrations.from_arrays(given)
    if isinstance(given, Episode):
        return from_episodes([given])
    if not isinstance(given, list | tuple) or not given:
        return given
    if hasattr(given[0], "obs"):
        from robustirl.demonstrations import from_trajectories

        return from_trajectories(given)
    if isinstance(given[0], Episode):
        return from_episodes(given)
    if isinstance(given[0], tuple) and len(given[0]) == 2 and np.ndim(given[0][0]) == 1:
        return Demonstrations.from_arrays([states for states, _ in given], [actions for _, actions in given])
    if not (isinstance(given[0], list | tuple) or np.ndim(given[0]) == 1):
        return given
    if isinstance(given, tuple) and len(given) == 2 and len(given[0]) == len(given[1]) + 1:
        raise InvalidInputError(
            f"a pair of lists of {len(given[0])} and {len(given[1])} numbers may be two episodes, or the states and"
            " actions of one; give [[...], [...]] for two episodes, or [([...], [...])] for one with its actions."
        )
    return Demonstrations.from_arrays(given)


def from_episodes(given: Any) -> Demonstrations:
    """Return demonstrations as they are, or made of a list of their episodes."""
    if isinstance(given, Demonstrations):
        return given
    columns = {}
    for name, what in (("actions", "has actions"), ("terminated", "says how it ended")):
        held = [getattr(episode, name) for episode in given]
        missing = [one is None for one in held]
        if any(missing) and not all(missing):
            raise InvalidInputError(
                f"episode {missing.index(False)} of the demonstrations {what} and episode {missing.index(True)} does"
                f" not; give {name!r} of all episodes, or None for all."
            )
        columns[name] = None if missing[0] else held
    states = [episode.states for episode in given]
    return Demonstrations.from_arrays(states, columns["actions"], terminated=columns["terminated"])
