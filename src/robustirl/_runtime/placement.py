"""Where small arrays are made: beside an accelerator, so that single operations do not wait for it."""

import contextlib
from contextlib import AbstractContextManager

import jax


def on_host() -> AbstractContextManager[object]:
    """Make arrays in the memory of the CPU while the context lasts.

    A batch of hundreds of problems is put together by thousands of small operations, each of which costs an accelerator
    as much as a large one. Put the finished batch where it is computed with `jnp.asarray` after the context.

    Example:
        >>> with on_host():
        ...     jax.numpy.ones(2).devices().pop().platform
        'cpu'
    """
    if jax.default_backend() == "cpu":
        return contextlib.nullcontext()
    try:
        return jax.default_device(jax.local_devices(backend="cpu")[0])
    except RuntimeError:  # Only the accelerator is visible to JAX.
        return contextlib.nullcontext()
