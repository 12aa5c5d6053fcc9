"""Floating-point precision: which one is in use, and the tolerances that follow from it.

Everything tabular wants float64. JAX starts in float32; `enable_x64` is one call away, the command line
and the tests make it, and a library call in float32 says so once and loosens its tolerances openly.
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl.errors import PrecisionWarning
from robustirl.types import ArrayLike

_warned = False


def enable_x64() -> None:
    """Switch JAX to double precision; call it before the first array is made.

    Example:
        >>> import jax.numpy as jnp, robustirl
        >>> robustirl.enable_x64()
        >>> jnp.zeros(1).dtype
        dtype('float64')
    """
    jax.config.update("jax_enable_x64", True)


def as_float(array: ArrayLike) -> Float[Array, "..."]:
    """`array` in JAX's current default float type, with a single warning when that is float32."""
    global _warned
    out = jnp.asarray(array, dtype=float)
    if out.dtype == jnp.float32 and not _warned:
        _warned = True
        warnings.warn(
            "robustirl is computing in float32, so default tolerances are about 1e-4 instead of 1e-10;"
            " call robustirl.enable_x64() before creating arrays for double precision.",
            PrecisionWarning,
            stacklevel=3,
        )
    return out


def epsilon(array: Float[Array, "..."]) -> float:
    """Machine epsilon of the array's type."""
    return float(jnp.finfo(array.dtype).eps)


def solver_tolerance(array: Float[Array, "..."], discount: Float[Array, ""]) -> Float[Array, ""]:
    """The accuracy solvers aim at by default, relative to `max(1, ‖V‖)`.

    1e-10 in float64 and 1e-4 in float32, raised where the discount leaves rounding no room: a residual
    is known to a few units in the last place and the error bound divides it by 1 - γ.
    """
    eps = epsilon(array)
    goal = 1e-10 if eps < 1e-10 else 1e-4
    return jnp.maximum(goal, smallest_tolerance(array, discount))


def smallest_tolerance(array: Float[Array, "..."], discount: Float[Array, ""] | float) -> Float[Array, ""] | float:
    """The tightest accuracy that this type can certify at this discount."""
    return 16 * epsilon(array) / (1 - discount)


def tie_tolerance(array: Float[Array, "..."]) -> float:
    """How close two action values must be, relative to the largest, to count as tied: about 1e-12 in float64."""
    return 4096 * epsilon(array)


def sum_tolerance(dtype: np.dtype) -> float:
    """How far from one the entries of a distribution given in this type may sum."""
    return 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-10
