"""Compiled programs with a bound on how many are kept.

`jax.jit` and `eqx.filter_jit` keep a program for every combination of shapes they have seen, for the life of the
process. A program of a fit takes some 10 MB and 300 memory maps, and Linux gives a process 65,530 maps. A `BoundedJit`
releases the program that was not used for the longest time.
"""

import collections
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np

MAX_PROGRAMS = 48
"""Programs kept for one function."""

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

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if kwargs:
            raise TypeError("give the arguments of a compiled function by position")
        leaves, structure = jax.tree.flatten(args)
        traced = [_is_array(leaf) for leaf in leaves]
        kinds = tuple(_kind(leaf) if is_array else leaf for leaf, is_array in zip(leaves, traced, strict=True))
        key = (structure, kinds)
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                program = self._programs[key] = _Program(self._function, structure, leaves, traced)
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
        self._fixed, self._run = fixed, jax.jit(run)

    def __call__(self, arrays: list) -> Any:
        return eqx.combine(self._run(arrays), self._fixed[0])


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _kind(leaf: Any) -> Hashable:
    return np.shape(leaf), leaf.dtype, getattr(leaf, "weak_type", False)
