"""Call functions of NumPy arrays from compiled programs."""

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
        function: What to call.
        result: The shape and the type of what it returns.
        arrays: What it is given.

    Example:
        >>> import jax.numpy as jnp
        >>> halves = lambda x: call_on_host(lambda x: x / 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        >>> jax.jit(jax.vmap(halves))(jnp.array([[2.0, 4.0]])).tolist()
        [[1.0, 2.0]]
    """
    if jax.default_backend() != "cpu":  # Its memory is not the host's.
        plain = lambda *given: function(*map(np.asarray, given))  # noqa: E731
        return jax.pure_callback(plain, result, *arrays, vmap_method="broadcast_all")

    def write(context: object, out: Any, *given: Any) -> None:
        del context
        np.asarray(out)[...] = function(*map(np.asarray, given))

    return buffer_callback(write, result, vmap_method="broadcast_all")(*arrays)
