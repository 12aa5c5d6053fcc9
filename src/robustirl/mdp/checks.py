"""Checks made where data enters, each with one sentence that names the first culprit."""

import operator
from collections.abc import Callable

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from robustirl._runtime import as_float, one_line, require_memory, short_repr, sum_tolerance
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike


def concrete(*arrays: object) -> bool:
    """Return whether the arrays hold numbers that this process can read.

    Inside `jit` or `vmap` they do not, and were checked outside. Parts of an array that other processes hold, under
    `jax.distributed`, cannot be read here.
    """
    try:
        leaves = jax.tree.leaves(arrays)
    except (RecursionError, SystemError):  # JAX goes as deep as Python does.
        raise _too_deep("an argument") from None
    return all(_readable(leaf) for leaf in leaves)


def _too_deep(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name} is lists in lists too deep to be an array; give a rectangular one.")


def _readable(leaf: object) -> bool:
    return not isinstance(leaf, Tracer) and (not isinstance(leaf, jax.Array) or leaf.is_fully_addressable)


def in_host_memory(*arrays: object) -> bool:
    """Return whether NumPy can compute with these arrays where they are.

    NumPy needs no compiled program for each size.
    """
    if not concrete(*arrays) or jax.default_backend() != "cpu":
        return False
    leaves = jax.tree.leaves(arrays)
    return all(len(leaf.sharding.device_set) == 1 for leaf in leaves if isinstance(leaf, jax.Array))


AXES = ("state", "action", "successor")


def place(index: tuple[int, ...], axes: tuple[str, ...] = AXES) -> str:
    """Return the indices of an entry in words: `state 3`, or `state 3, action 1`."""
    return ", ".join(f"{name} {i}" for name, i in zip(axes, index, strict=False))


def shape_of(name: str, array: object) -> tuple[int, ...]:
    """Return the shape of an array, traced or not, or of lists; refuse what has none.

    Example:
        >>> shape_of("the reward", [[1, 2], [3]])
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the reward is not a rectangular array (setting an array element with a
        sequence).
    """
    try:
        return np.shape(array)  # pyright: ignore[reportCallIssue, reportArgumentType]
    except MemoryError:
        raise
    except Exception as error:  # Objects that claim to be arrays raise what they like.
        raise InvalidInputError(f"{name} is not a rectangular array ({one_line(error)}).") from None


def require_shape(name: str, array: object, shape: tuple[int, ...], axes: str) -> None:
    """Refuse an array whose shape is not `shape`; `axes` names the axes in the message."""
    found = shape_of(name, array)
    if found != shape:
        raise InvalidInputError(
            f"{name} has shape {found}, but {shape} ({axes}) is needed; reshape it or build the world to match."
        )


def require_probabilities(name: str, array: np.ndarray, axes: tuple[str, ...] = AXES) -> None:
    """Refuse NaN, infinite and negative entries."""
    for fault, bad in (("not finite", ~np.isfinite(array)), ("negative", array < 0)):
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"{name} is {fault} at {place(index, axes)}: {float(array[index])!r};"
                " probabilities must be finite numbers of at least 0."
            )


def require_distributions(name: str, array: np.ndarray) -> None:
    """Refuse arrays whose last axis is not a probability distribution."""
    require_probabilities(name, array)
    sums = array.sum(-1)
    bad = np.abs(sums - 1) > sum_tolerance(array.dtype)
    if np.any(bad):
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" at {place(index)}" if index else ""
        raise InvalidInputError(
            f"{name}{where} sums to {float(sums[index])!r} instead of 1; divide it by its sum if it holds weights."
        )


def require_finite(name: str, array: np.ndarray, axes: tuple[str, ...] = AXES) -> None:
    """Refuse NaN and infinite entries."""
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"{name} is not finite at {place(index, axes)}: {float(array[index])!r}; replace it by a finite number."
        )


def require_squares(name: str, array: np.ndarray, dtype: np.dtype, axes: tuple[str, ...] = AXES) -> None:
    """Refuse numbers so large that sums of their squares are infinite in a precision."""
    # A power of ten, 1e15 for float32, with room for a hundred million squares.
    largest = 10.0 ** (int(np.log10(float(np.finfo(dtype).max))) // 2 - 4)
    bad = ~(np.abs(array) <= largest)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"{name} is {float(array[index]):g} at {place(index, axes)}, but training in {dtype} needs numbers of at"
            f" most {largest:g} in size; scale it."
        )


MOST = 10**9
"""The largest count that is taken unless another is named: what is counted is kept in arrays."""


def as_count(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """Return `value` as a whole number from `least` to `most`, or refuse it in a sentence."""
    try:
        # Refuse booleans given as numbers.
        count = None if isinstance(value, bool | np.bool_) else operator.index(value)  # pyright: ignore
    except TypeError:
        count = None
    if count is None or count < least:
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a whole number of at least {least} is needed.")
    if count > most:
        raise InvalidInputError(f"{name} is {short_repr(value)}, but at most {most:,} is possible.")
    return count


def as_seed(name: str, value: object) -> int:
    """Return `value` as a seed, a whole number from 0 to 2⁶³ - 1, or refuse it in a sentence."""
    return as_count(name, value, 0, 2**63 - 1)


def as_positive(name: str, value: object) -> float:
    """Return `value` as a finite number above zero, or refuse it in a sentence."""
    number = as_number(name, value)
    if not 0 < number < float("inf"):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a finite number above 0 is needed.")
    return number


def as_number(name: str, value: object) -> float:
    """Return `value` as a float: NaN if it is no real number, infinite if it is too large.

    Example:
        >>> as_number("α", 1), as_number("α", "1"), as_number("α", 1 + 0j), as_number("α", 10**400)
        (1.0, nan, nan, inf)
    """
    require_unmasked(name, value)
    if is_complex(value):  # NumPy drops the imaginary part, with no more than a warning.
        return float("nan")
    if isinstance(value, str | bytes | bytearray | bool | np.bool_):  # Python reads numbers out of all of these.
        return float("nan")
    try:
        return float(value) if np.ndim(value) == 0 else float("nan")  # pyright: ignore
    except OverflowError:
        return float("inf")
    except Exception:  # Objects that claim to be numbers raise what they like.
        return float("nan")


def is_complex(value: object) -> bool:
    """Return whether a number or an array, traced or not, is of a complex type."""
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", None) == "c"


def as_number_within(name: str, value: ArrayLike, rule: str, holds: Callable[[float], bool]) -> Float[Array, ""]:
    """Return a number, traced or not, as an array; refuse one for which the rule does not hold."""
    require_shape(name, value, (), "a single number")
    require_unmasked(name, value)
    if concrete(value) or is_complex(value):
        number = as_number(name, value)
        if not holds(number):
            shown = short_repr(value) if np.isnan(number) and not isinstance(value, float) else repr(number)
            raise InvalidInputError(f"{name} is {shown}, but a number with {rule} is needed.")
    return as_float(value)


def normalized(array: np.ndarray) -> np.ndarray:
    """Return distributions along the last axis without the rounding that a check tolerates.

    Rows of zeros stay. A row that sums to 1 + 1e-10 would make the bounds that divide by 1 - γ false where γ is near
    enough to one.
    """
    array = array.astype(np.float64)
    sums = array.sum(-1, keepdims=True)
    as_good_as_one = np.abs(sums - 1) <= 8 * np.finfo(np.float64).eps
    return array / np.where((sums == 0) | as_good_as_one, 1, sums)


def require_unmasked(name: str, array: object) -> None:
    """Refuse a NumPy masked array with a masked entry.

    Computations would use the hidden value of that entry.
    """
    try:
        index = _first_masked(array)
    except RecursionError:
        raise _too_deep(name) from None
    if index is not None:
        where = f"entry {list(index)} of it is masked" if index else "it is masked"
        raise InvalidInputError(
            f"{name} is a masked array, and {where}; fill it with `.filled(value)`, or remove what is masked."
        )


def _first_masked(array: object) -> tuple[int, ...] | None:
    """Return where the first masked entry stands, in an array or in lists of arrays, or None."""
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        return tuple(int(i) for i in np.argwhere(mask)[0]) if mask.any() else None
    if isinstance(array, list | tuple):
        for i, item in enumerate(array):
            inner = _first_masked(item)
            if inner is not None:
                return (i, *inner)
    return None


_LARGE = 10**7
"""From this many entries on, memory is looked at before an array is converted."""


def as_floats(name: str, array: object) -> np.ndarray:
    """Return `array` as a NumPy float array, or refuse it in a sentence."""
    require_unmasked(name, array)
    try:
        out = np.asarray(array)
        if out.dtype.kind == "f":
            return out
        if out.dtype.kind in "biu":
            if out.size > _LARGE:
                require_memory(8.0 * out.size, f"{name} in double precision", "give a smaller array")
            return out.astype(np.float64)
        raise TypeError(f"it holds {out.dtype}")
    except (InvalidInputError, MemoryError):
        raise
    except Exception as error:  # Objects that claim to be arrays raise what they like.
        raise InvalidInputError(f"{name} is not a rectangular array of real numbers ({one_line(error)}).") from None
