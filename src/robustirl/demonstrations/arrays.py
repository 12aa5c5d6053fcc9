"""Check whole numbers, flags and names where they enter; make runs of indices."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from robustirl._runtime import one_line, require_memory, short_repr
from robustirl.errors import InvalidInputError
from robustirl.mdp import require_unmasked
from robustirl.types import ArrayLike


def ranges(starts: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """Return the whole numbers from each start on, `lengths` many each, one run after another.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1])) + np.repeat(starts - ends + lengths, lengths)


FEW = 10**6
"""Numbers up to this count are not looked at: they fit."""


def require_room(name: str, values: object) -> None:
    """Refuse more numbers than memory holds as an array of 8 bytes each.

    Where they are they may take nothing: a range, or one number that is repeated.
    """
    try:
        count = values.size if isinstance(values, np.ndarray) else len(values)  # pyright: ignore[reportArgumentType]
    except Exception:  # It has no length, or cannot tell it; making an array of it says what is wrong.
        return
    if count > FEW:
        require_memory(8.0 * count, f"{name}, of {count} numbers or rows,", "give fewer")


def as_array(name: str, values: object, needed: str) -> np.ndarray:
    """Return `values` as an array; refuse what NumPy cannot take, and what is masked."""
    require_unmasked(name, values)
    require_room(name, values)
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # Lists of several lengths, and whatever objects that claim to be arrays raise.
        raise InvalidInputError(f"{name} cannot be read as {needed} ({one_line(error)}).") from None


def as_whole_numbers(name: str, values: ArrayLike) -> Int[np.ndarray, " n"]:
    """Return `values` as an immutable int64 vector; refuse all but whole numbers of at least 0."""
    array = as_array(name, values, "numbers")
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
    """Return one immutable answer for each episode, from one for all of them or one for each."""
    array = as_array("`terminated`", terminated, "answers")
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


def as_names(kind: str, names: Sequence[str] | None, numbers: Int[np.ndarray, " n"] | None) -> tuple[str, ...] | None:
    """Return names of states or actions, one per number that occurs, or None if there are none."""
    if names is None:
        return None
    listed = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
    if not listed or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"the {kind} names are {short_repr(names, 80)}, but a list of words is needed.")
    found = tuple(str(name) for name in names)
    for name in found:
        if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
            raise InvalidInputError(f"the {kind} name {short_repr(name)} is not text in UTF-8; give it another name.")
        if "\0" in name:  # Arrays of words, as .npz files hold them, lose those at the end.
            raise InvalidInputError(f"the {kind} name {short_repr(name)} has a zero byte; give it another name.")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InvalidInputError(
            f"the {kind} name {short_repr(twice)} occurs more than once; give each {kind} its own name."
        )
    if numbers is not None and numbers.size and numbers.max() >= len(found):
        raise InvalidInputError(
            f"{kind} {int(numbers.max())} occurs, but there are {len(found)} {kind} names; name every {kind}."
        )
    return found
