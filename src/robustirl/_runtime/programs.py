"""Compiled programs with a bound on how many are kept.

`jax.jit` and `eqx.filter_jit` keep a program for every combination of shapes they have seen, for the life of the
process. A program of a fit takes some 10 MB and 300 memory maps, one of imitation 1,800, and Linux gives a process
65,530 maps; without a free one it ends. A `BoundedJit` releases the program that was not used for the longest time.
Once most maps are taken, the older half of the programs of all functions is released.
"""

import collections
import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np

MAX_PROGRAMS = 48
"""Programs kept for one function."""
CROWDED = 0.6
"""The share of the system's memory maps above which programs of all functions are released."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


class BoundedJit(Generic[_P, _R]):
    """Compile a function as `eqx.filter_jit` does, and keep a bounded number of programs.

    Arrays are traced, and the rest is static. Arguments are positional. Whatever is not an array must be hashable.

    Example:
        >>> import jax.numpy as jnp
        >>> double = BoundedJit(lambda x: 2 * x, max_programs=2)
        >>> [double(jnp.ones(n)).shape for n in (1, 2, 3)], len(double)
        ([(1,), (2,), (3,)], 2)
    """

    def __init__(self, function: Callable[_P, _R], *, max_programs: int = MAX_PROGRAMS):
        self._function = function
        self._max_programs = max_programs
        self._programs: collections.OrderedDict[Hashable, _Program] = collections.OrderedDict()
        self._lock = threading.Lock()
        _FUNCTIONS.add(self)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if kwargs:
            raise TypeError("give the arguments of a compiled function by position")
        leaves, structure = jax.tree.flatten(args)
        traced = [_is_array(leaf) for leaf in leaves]
        kinds = tuple(_kind(leaf) if is_array else leaf for leaf, is_array in zip(leaves, traced, strict=True))
        key = (structure, kinds)
        if key not in self._programs and count_maps() > CROWDED * _most_maps():
            _release_older_half()
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                program = self._programs[key] = _Program(self._function, structure, leaves, traced)
            program.used = next(_CLOCK)
            self._programs.move_to_end(key)
            while len(self._programs) > self._max_programs:
                self._programs.popitem(last=False)  # Its memory is released with the last reference to it.
        return program([leaf for leaf, is_array in zip(leaves, traced, strict=True) if is_array])

    def __len__(self) -> int:
        return len(self._programs)

    def clear(self) -> None:
        """Release all programs."""
        with self._lock:
            self._programs.clear()

    def times_of_use(self) -> list[int]:
        """Return when each program was used last, in calls of compiled functions."""
        with self._lock:
            return [program.used for program in self._programs.values()]

    def release_unused_since(self, time: int) -> None:
        """Release the programs that were not used since a call."""
        with self._lock:
            for key in [key for key, program in self._programs.items() if program.used < time]:
                del self._programs[key]


_FUNCTIONS: "weakref.WeakSet[BoundedJit[..., Any]]" = weakref.WeakSet()
_CLOCK = itertools.count()


def _release_older_half() -> None:
    """Release those programs of all functions, half of them, that were used the longest ago."""
    functions = list(_FUNCTIONS)
    times = sorted(time for function in functions for time in function.times_of_use())
    if times:
        for function in functions:
            function.release_unused_since(times[len(times) // 2])


def count_maps() -> int:
    """Return how many memory maps this process has; 0 where the system does not say."""
    maps = Path("/proc/self/maps")
    return maps.read_bytes().count(b"\n") if maps.exists() else 0


@functools.cache
def _most_maps() -> int:
    limit = Path("/proc/sys/vm/max_map_count")
    return int(limit.read_text(encoding="ascii")) if limit.exists() else 65_530


class _Program:
    """A function compiled for one structure of arguments.

    It has a `jax.jit` of its own: the programs of a shared one could not be released one by one.
    """

    def __init__(self, function: Callable, structure: Any, leaves: list, traced: list[bool]):
        static = [None if is_array else leaf for leaf, is_array in zip(leaves, traced, strict=True)]
        # A list of its own: if `run` knew this object, only the garbage collector could release the program.
        fixed: list[Any] = [None]

        def run(arrays: list) -> Any:
            given = iter(arrays)
            merged = [next(given) if is_array else leaf for leaf, is_array in zip(static, traced, strict=True)]
            out = function(*jax.tree.unflatten(structure, merged))
            changing, fixed[0] = eqx.partition(out, eqx.is_array)
            return changing

        run.__name__ = getattr(function, "__name__", run.__name__)  # What JAX calls the program in its logs.
        self._fixed, self._run, self.used = fixed, jax.jit(run), 0

    def __call__(self, arrays: list) -> Any:
        return eqx.combine(self._run(arrays), self._fixed[0])


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _kind(leaf: Any) -> Hashable:
    return np.shape(leaf), leaf.dtype, getattr(leaf, "weak_type", False)
