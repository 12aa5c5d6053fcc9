"""Call functions of NumPy arrays from compiled programs."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental.buffer_callback import buffer_callback
from jaxtyping import Array


def call_on_host(function: Callable[..., np.ndarray], result: jax.ShapeDtypeStruct, *arrays: Array) -> Array:
    """Return what a function of NumPy arrays returns, in a compiled program.

    Under `jax.vmap` the function is called once, with one more axis in front of every array and of its result.

    On a CPU the function reads the program's own memory. `jax.pure_callback` would make JAX arrays of it first, by a
    thread that may be the one which waits for the function: with one thread (`NPROC=1`) a training of MuJoCo's worlds
    stood still after some minutes.

    Args:
        function: What to call; it should be the same object each time. Steps outside of compiled programs then use
            one program, and each would otherwise make another that stays in memory.
        result: The shape and the type of what it returns.
        arrays: What it is given.

    Example:
        >>> import jax.numpy as jnp
        >>> halves = lambda x: call_on_host(lambda x: x / 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        >>> jax.jit(jax.vmap(halves))(jnp.array([[2.0, 4.0]])).tolist()
        [[1.0, 2.0]]
    """
    if jax.default_backend() != "cpu":  # Its memory is not the host's.
        return jax.pure_callback(_OfArrays(function), result, *arrays, vmap_method="broadcast_all")
    return buffer_callback(_IntoBuffer(function), result, vmap_method="broadcast_all")(*arrays)


@dataclasses.dataclass(frozen=True)
class _OfArrays:
    """A function of NumPy arrays as one of whatever JAX gives.

    JAX keeps its programs by this object, and those of one function are equal.
    """

    function: Callable[..., np.ndarray]

    def __call__(self, *given: Any) -> np.ndarray:
        return self.function(*map(np.asarray, given))


@dataclasses.dataclass(frozen=True)
class _IntoBuffer:
    """The same, which writes its result into the program's memory."""

    function: Callable[..., np.ndarray]

    def __call__(self, context: object, out: Any, *given: Any) -> None:
        del context
        np.asarray(out)[...] = self.function(*map(np.asarray, given))
