"""Whole numbers and flags, checked where they enter, and runs of indices."""

import numpy as np
from jaxtyping import Bool, Int

from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike


def ranges(starts: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """The whole numbers from each start on, `lengths` many each, one run after another.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1])) + np.repeat(starts - ends + lengths, lengths)


def as_whole_numbers(name: str, values: ArrayLike) -> Int[np.ndarray, " n"]:
    """`values` as a frozen int64 vector of numbers of at least 0, or a sentence about why they are none."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as numbers ({str(error).splitlines()[0]}).") from None
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has shape {array.shape}, but a list of whole numbers, (n,), is needed.")
    if array.dtype.kind not in ("iu" if array.size else "iuf"):  # An empty list becomes floats.
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = int(np.argmin(np.isfinite(array)))
            raise InvalidInputError(f"{name} holds {float(array[bad])!r} at step {bad}; whole numbers are needed.")
        raise InvalidInputError(
            f"{name} holds {array.dtype}, but whole numbers are needed: states and actions are numbered from 0"
            " (numbers that merely became floats go back with .astype(int))."
        )
    frozen = array.astype(np.int64)  # A copy, always: what is validated must not change afterwards.
    if (frozen < 0).any():
        bad = int(np.argmax(frozen < 0))
        raise InvalidInputError(
            f"{name} holds {int(array[bad])} at step {bad}, but numbers from 0 to {np.iinfo(np.int64).max} are needed."
        )
    frozen.setflags(write=False)
    return frozen


def as_flags(terminated: ArrayLike, episodes: int) -> Bool[np.ndarray, " E"]:
    """One frozen answer for each episode, from one for all of them or one for each."""
    try:
        array = np.asarray(terminated)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"`terminated` cannot be read as answers ({str(error).splitlines()[0]}).") from None
    if array.dtype != bool:
        raise InvalidInputError(f"`terminated` holds {array.dtype}, but True and False are needed.")
    if array.shape not in ((), (episodes,)):
        raise InvalidInputError(
            f"`terminated` has shape {array.shape}, but there are {episodes} episodes;"
            " give one answer for each, or a single one."
        )
    array = np.broadcast_to(array, (episodes,)).copy()
    array.setflags(write=False)
    return array
