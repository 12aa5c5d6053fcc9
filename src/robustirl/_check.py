"""Check what enters a public function, each check with one sentence that names the first culprit."""

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from robustirl.errors import InvalidInputError

Kind = TypeVar("Kind")
AXES = ("state", "action", "successor")
MOST = 10**9
"""The largest count that is taken unless another is named: what is counted is kept in arrays."""


def concrete(*arrays: object) -> bool:
    """Return whether the arrays hold numbers that this process can read.

    Inside `jit` or `vmap` they do not, and were checked outside. Parts of an array that other processes hold, under
    `jax.distributed`, cannot be read here.
    """
    leaves = jax.tree.leaves(arrays)
    return not any(
        isinstance(leaf, Tracer) or (isinstance(leaf, jax.Array) and not leaf.is_fully_addressable) for leaf in leaves
    )


def in_host_memory(*arrays: object) -> bool:
    """Return whether NumPy can compute with these arrays where they are.

    NumPy needs no compiled program for each size.
    """
    if not concrete(*arrays) or jax.default_backend() != "cpu":
        return False
    leaves = jax.tree.leaves(arrays)
    return all(len(leaf.sharding.device_set) == 1 for leaf in leaves if isinstance(leaf, jax.Array))


def place(index: tuple[int, ...], axes: tuple[str, ...] = AXES) -> str:
    """Return the indices of an entry in words: `state 3`, or `state 3, action 1`."""
    return ", ".join(f"{name} {i}" for name, i in zip(axes, index, strict=False))


def _first(bad: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def one_line(error: BaseException) -> str:
    r"""Return the first sentence of an error without its period, for use in another sentence.

    Example:
        >>> one_line(ValueError("no.\nReally not.")), one_line(MemoryError())
        ('no', 'MemoryError')
    """
    first = error.args[0] if len(error.args) > 1 and isinstance(error.args[0], str) else str(error)
    first = re.split(r"\n|\.\s", first.strip())[0].rstrip(". ")
    return re.sub(r" at 0x\w+", "", first) or type(error).__name__


def short_repr(value: object, most: int = 40) -> str:
    """Return a value as Python writes it, cut where it gets long.

    Example:
        >>> short_repr("1" * 5000, 10)
        "'111111111..."
    """
    try:
        text = repr(value)
    except Exception:  # A number of more digits than Python prints, or somebody's object.
        text = f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= most else f"{text[:most]}..."


def printable(text: str, most: int = 20_000) -> str:
    r"""Return a text with its control characters written out, cut to what a terminal can show.

    Example:
        >>> print(printable("state\x1b[31m"))
        state\x1b[31m
    """
    shown = "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text[: most + 1])
    return shown if len(text) <= most else f"{shown[:most]}..."


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
    except (TypeError, ValueError) as error:
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
            index = _first(bad)
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
        index = _first(bad)
        where = f" at {place(index)}" if index else ""
        raise InvalidInputError(
            f"{name}{where} sums to {float(sums[index])!r} instead of 1; divide it by its sum if it holds weights."
        )


def sum_tolerance(dtype: np.dtype) -> float:
    """Return how far from one the entries of a distribution given in this type may sum."""
    return 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-10


def require_finite(name: str, array: np.ndarray, axes: tuple[str, ...] = AXES) -> None:
    """Refuse NaN and infinite entries."""
    bad = ~np.isfinite(array)
    if bad.any():
        index = _first(bad)
        raise InvalidInputError(
            f"{name} is not finite at {place(index, axes)}: {float(array[index])!r}; replace it by a finite number."
        )


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
    """Refuse a NumPy masked array with a masked entry: computations would use the value that it hides."""
    if isinstance(array, np.ma.MaskedArray) and (mask := np.ma.getmaskarray(array)).any():
        raise InvalidInputError(
            f"{name} is a masked array, and its entry {list(_first(mask))} is masked; fill it with `.filled(value)`."
        )


def as_floats(name: str, array: object) -> np.ndarray:
    """Return `array` as a NumPy float array, or refuse it in a sentence."""
    require_unmasked(name, array)
    try:
        out = np.asarray(array)
        if out.dtype.kind not in "fbiu":
            raise TypeError(f"it holds {out.dtype}")
        return out if out.dtype.kind == "f" else out.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not a rectangular array of real numbers ({one_line(error)}).") from None


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


def as_number(name: str, value: object) -> float:
    """Return `value` as a float: NaN if it is no real number, infinite if it is too large.

    Example:
        >>> as_number("α", 1), as_number("α", "1"), as_number("α", 1 + 0j), as_number("α", 10**400)
        (1.0, nan, nan, inf)
    """
    require_unmasked(name, value)
    not_real = str | bytes | bool | np.bool_ | complex  # Python and NumPy read numbers out of the first four.
    if isinstance(value, not_real) or getattr(getattr(value, "dtype", None), "kind", "f") not in "fiu":
        return float("nan")
    try:
        return float(value) if np.ndim(value) == 0 else float("nan")  # pyright: ignore
    except OverflowError:
        return float("inf")
    except (TypeError, ValueError):
        return float("nan")


def as_positive(name: str, value: object) -> float:
    """Return `value` as a finite number above zero, or refuse it in a sentence."""
    number = as_number(name, value)
    if not 0 < number < float("inf"):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a finite number above 0 is needed.")
    return number


def as_number_between(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return `value` as a number from `low` to `high`, or refuse it.

    Ends that are open are excluded.

    Example:
        >>> as_number_between("a chance", 0.5, 0, 1)
        0.5
        >>> as_number_between("a chance", True, 0, 1, open_high=True)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: a chance is True, but a number from 0 to below 1 is needed.
    """
    number = as_number(name, value)
    above = low < number if open_low else low <= number
    below = number < high if open_high else number <= high
    if not (above and below):
        first = f"above {low:g}" if open_low else f"from {low:g}"
        last = f"below {high:g}" if open_high else f"{high:g}"
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a number {first} to {last} is needed.")
    return number


def as_number_within(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> Any:
    """Return a number, traced or not, as an array; refuse one for which the rule does not hold."""
    require_shape(name, value, (), "a single number")
    if concrete(value) and not holds(as_number(name, value)):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a number with {rule} is needed.")
    from robustirl._jax import as_float  # `_jax` needs the names above.

    return as_float(value)


def require_kind(name: str, value: object, kind: type[Kind], needed: str) -> Kind:
    """Return `value` if it is of a kind, or refuse it.

    Example:
        >>> require_kind("the name", 5, str, "a text")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the name is 5, but a text is needed.
    """
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")
    return value


def require_callable(name: str, value: object, needed: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")


def as_list(name: str, value: object, needed: str) -> list[Any]:
    """Return the items of a sequence as a list; refuse what has none, such as a number or text.

    Example:
        >>> as_list("the worlds", 5, "a sequence of worlds")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the worlds is 5, but a sequence of worlds is needed.
    """
    no_items = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", None) == 0
    if no_items or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")
    return list(value)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse what this machine's free memory cannot hold, where the system tells.

    Args:
        needed: Bytes that the work takes, roughly.
        what: Who asks for them.
        remedy: What to do instead.

    Example:
        >>> require_memory(2.0**60, "this grid", "use a smaller one")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: this grid needs about 1,073,741,824 GiB of memory, but ...
    """
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        available = stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    else:
        try:
            lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
            available = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) * 1024
        except (OSError, StopIteration, ValueError):
            return
    if needed > available:
        raise InvalidInputError(
            f"{what} needs about {needed / 2**30:,.0f} GiB of memory, but {available / 2**30:.1f} GiB are available;"
            f" {remedy}."
        )


def as_path(path: object) -> Path:
    """Return what names a file or a folder as a path, or refuse it.

    Example:
        >>> as_path(5)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: 5 is no path; give text or a pathlib.Path.
    """
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str) and "\0" not in os.fspath(path):
        return Path(path)  # pyright: ignore[reportArgumentType]
    raise InvalidInputError(f"{short_repr(path)} is no path; give text or a pathlib.Path.")
