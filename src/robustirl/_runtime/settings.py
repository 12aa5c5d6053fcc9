"""Settings of JAX under which code is refused that is sound without them: what a user has chosen for code of their own.

`jax_numpy_rank_promotion`, `jax_numpy_dtype_promotion` and the guards of transfers refuse what the library does in many
places: adding a vector to a matrix, an integer to a float, a NumPy array to one on a device. Public functions therefore
compute with JAX's own defaults of these, and leave the user's as they are.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

_GUARDS = ("host_to_device", "device_to_device", "device_to_host")


def unusual_settings() -> list[contextlib.AbstractContextManager[Any]]:
    """Return contexts that restore the usual settings; none if these are in force already.

    They nearly always are.

    Example:
        >>> unusual_settings()
        []
        >>> with jax.numpy_rank_promotion("raise"):
        ...     len(unusual_settings())
        1
    """
    now: Any = jax.config
    found: list[contextlib.AbstractContextManager[Any]] = []
    if now.jax_numpy_rank_promotion != "allow":
        found.append(jax.numpy_rank_promotion("allow"))
    if now.jax_numpy_dtype_promotion != "standard":
        found.append(jax.numpy_dtype_promotion("standard"))
    if any(getattr(now, f"jax_transfer_guard_{direction}") not in (None, "allow") for direction in _GUARDS):
        found.append(jax.transfer_guard("allow"))
    return found


@contextlib.contextmanager
def usual_settings() -> Iterator[None]:
    """Compute with the usual settings inside of this context.

    Example:
        >>> with jax.numpy_rank_promotion("raise"), usual_settings():
        ...     jax.numpy.add(jax.numpy.ones((2, 1)), jax.numpy.ones(1)).shape
        (2, 1)
    """
    with contextlib.ExitStack() as stack:
        for scope in unusual_settings():
            stack.enter_context(scope)
        yield
