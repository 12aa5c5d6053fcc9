"""Take recordings as they are at hand: arrays, episodes that were sampled, a file, or a Minari dataset."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from robustirl.control import Episodes
from robustirl.demonstrations.recordings import Recordings
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import require_squares
from robustirl.types import ArrayLike

MINARI = "minari:"
RecordingsLike = Recordings | Episodes | Sequence[ArrayLike] | str | os.PathLike[str]
"""What `as_recordings` takes."""


def as_trainable(given: Any) -> Recordings:
    """Return recordings that a network can be trained on in single precision.

    Numbers that are finite in double precision may be infinite there, or their squares may.
    """
    found = as_recordings(given)
    for what, episodes in (("observation", found.observations), ("action", found.actions or ())):
        for episode, array in enumerate(episodes):
            require_squares(f"an {what} of episode {episode}", array, np.dtype(np.float32), ("step", "number"))
    return found


def as_recordings(given: Any) -> Recordings:
    """Return recordings from what holds them.

    Args:
        given: `Recordings`; a list with one array of observations `[T+1, d]` an episode; what `control.collect`
            returned; a path that `Recordings.save` wrote to; or `minari:ID`.

    Example:
        >>> as_recordings([[[0.0], [1.0], [2.0]], [[0.0], [1.0]]])
        Recordings(2 episodes, 3 steps of 1 numbers, without actions)
    """
    if isinstance(given, Recordings):
        return given
    if isinstance(given, Episodes):
        return Recordings.from_episodes(given)
    if isinstance(given, str) and given.startswith(MINARI) and given != MINARI:
        return Recordings.from_minari(given.removeprefix(MINARI))
    if isinstance(given, str | os.PathLike):
        return Recordings.load(given)
    if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 3):
        return Recordings.from_arrays(list(given))
    kind, remedy = type(given).__name__, "give Recordings, or a list with an array of observations for each episode"
    if isinstance(given, Demonstrations):
        remedy = "they are numbered states, for robustirl.RobustIRL; record the observations of a sampled world"
    raise InvalidInputError(f"the demonstrations are of the type {kind}, but Recordings are needed; {remedy}.")
