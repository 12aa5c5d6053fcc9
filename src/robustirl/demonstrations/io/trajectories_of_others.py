"""Trajectories of other libraries as demonstrations, without importing those libraries.

imitation's `Trajectory` has the arrays `obs` (n+1), `acts` (n), and the flag `terminal`; its `rollout.flatten` is not
needed. stable-baselines3 records rollouts of a fixed length in a buffer: `observations` and `actions`, `[T, n]` for n
environments side by side, and `episode_starts`.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from robustirl._runtime import one_line, short_repr
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import require_unmasked


def from_trajectories(trajectories: Iterable[Any]) -> Demonstrations:
    """Return imitation's trajectories as demonstrations.

    Args:
        trajectories: Objects with `obs`, `acts` and `terminal`; observations and actions are whole numbers (spaces
            of the kind `Discrete`).

    Example:
        >>> import types
        >>> walk = types.SimpleNamespace(obs=np.array([0, 1, 2]), acts=np.array([1, 1]), terminal=True)
        >>> from_trajectories([walk, walk])
        Demonstrations(2 episodes, 4 transitions, with actions, 2 terminated)
    """
    if not isinstance(trajectories, Iterable):
        raise InvalidInputError(
            f"the trajectories are of type {type(trajectories).__name__}, but a list of objects with obs, acts and"
            " terminal is needed, as imitation's Trajectory."
        )
    walks = list(trajectories)
    for number, walk in enumerate(walks):
        missing = [name for name in ("obs", "acts", "terminal") if not hasattr(walk, name)]
        if missing:
            raise InvalidInputError(
                f"trajectory {number} is a {type(walk).__name__} without {missing[0]!r}; give objects with obs, acts"
                " and terminal, as imitation's Trajectory."
            )
    states = [_discrete(f"the observations of trajectory {number}", walk.obs) for number, walk in enumerate(walks)]
    actions = [_discrete(f"the actions of trajectory {number}", walk.acts) for number, walk in enumerate(walks)]
    for number, walk in enumerate(walks):
        if not isinstance(walk.terminal, bool | np.bool_):
            raise InvalidInputError(
                f"the flag 'terminal' of trajectory {number} is {short_repr(walk.terminal)}, but True or False is"
                " needed."
            )
    return Demonstrations.from_arrays(states, actions, terminated=[bool(walk.terminal) for walk in walks])


def from_rollout_buffer(buffer: Any) -> Demonstrations:
    """Return the rollouts in a buffer of stable-baselines3 as demonstrations.

    An episode ends where the next one starts. The buffer does not hold the state that an episode ended in, nor why it
    ended: the last recorded state is the last one of the episode, its action is dropped, and ends are unknown (they
    are read off a world where one is given). To keep ends, record with `rollout_gymnasium(env, policy)` instead.

    Args:
        buffer: An object with `observations` and `actions`, `[T, n]` or `[T, n, 1]`, and `episode_starts`, `[T, n]`.

    Example:
        >>> import types
        >>> buffer = types.SimpleNamespace(
        ...     observations=np.array([[0], [1], [2], [0], [1]]),
        ...     actions=np.array([[1], [1], [0], [1], [0]]),
        ...     episode_starts=np.array([[1], [0], [0], [1], [0]]),
        ... )
        >>> [episode.states.tolist() for episode in from_rollout_buffer(buffer)]
        [[0, 1, 2], [0, 1]]
    """
    columns = []
    for name in ("observations", "actions", "episode_starts"):
        if not hasattr(buffer, name):
            raise InvalidInputError(
                f"the rollout buffer is a {type(buffer).__name__} without {name!r}; give the rollout_buffer of a"
                " stable-baselines3 algorithm."
            )
        column = _as_array(f"the buffer's {name}", getattr(buffer, name))
        columns.append(column[..., 0] if column.ndim == 3 and column.shape[-1] == 1 else column)
    observations, actions, starts = columns
    if starts.ndim == 2 and starts.size > starts.shape[0]:
        # Training flattens observations and actions, one environment after another, and leaves the starts as they are.
        flat, (steps, count) = (starts.size, 1), starts.shape
        observations, actions = (x.reshape(count, steps).T if x.shape == flat else x for x in (observations, actions))
    if observations.ndim != 2 or not observations.shape == actions.shape == starts.shape:
        shapes = ", ".join(str(np.shape(column)) for column in columns)
        raise InvalidInputError(
            f"the buffer's observations, actions and episode starts have the shapes {shapes}, but one row a step and"
            " one column an environment are needed; only spaces of the kind Discrete can be read."
        )
    if starts.dtype.kind not in "biuf" or not np.isin(starts, (0, 1)).all():
        raise InvalidInputError(
            f"the buffer's episode_starts are {short_repr(starts.tolist())}, but 1 where an episode starts and 0"
            " elsewhere is needed."
        )
    states, moves = [], []
    for place in range(observations.shape[1]):
        cuts = np.flatnonzero(starts[:, place] > 0)
        cuts = cuts[cuts > 0]
        states += np.split(_discrete("the buffer's observations", observations[:, place]), cuts)
        moves += [part[:-1] for part in np.split(_discrete("the buffer's actions", actions[:, place]), cuts)]
    return Demonstrations.from_arrays(states, moves)


def _as_array(what: str, values: Any) -> np.ndarray:
    require_unmasked(what, values)
    try:
        return np.asarray(values)
    except ValueError:  # Rows of several lengths.
        raise InvalidInputError(f"{what} are {short_repr(values)}, whose rows have several lengths.") from None
    except MemoryError:
        raise
    except Exception as error:  # Objects that claim to be arrays raise what they like.
        raise InvalidInputError(f"{what} cannot be read as an array ({one_line(error)}).") from None


def _discrete(what: str, values: Any) -> np.ndarray:
    """Return numbers of states or actions.

    Recorders often write them as floats, or with an axis of length 1.
    """
    array = _as_array(what, values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.dtype.kind == "f" and array.size and np.all((array == np.round(array)) & (np.abs(array) < 2**53)):
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{what} are {short_repr(array.tolist())} of shape {array.shape}, but whole numbers in one row are needed:"
            " the spaces must be Discrete; use relative entropy (fit_relative_entropy) for continuous ones."
        )
    return array
