"""Learning rates over time. The number of steps is data, so that trainings of any length share a compiled program."""

import jax.numpy as jnp
import optax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int


def falling_rate(rate: float, final_rate: float, steps: Int[Array, ""] | Float[Array, ""]) -> optax.Schedule:
    """Return a rate that falls linearly over so many steps and stays there.

    This is `optax.linear_schedule`, whose number of steps must be known when a program is compiled.

    Args:
        rate: At the start.
        final_rate: At the end.
        steps: One at least.

    Example:
        >>> rate = falling_rate(1.0, 0.5, jnp.asarray(4))
        >>> [float(rate(jnp.asarray(count))) for count in (0, 2, 4, 5)]
        [1.0, 0.75, 0.5, 0.5]
    """

    def schedule(count: ArrayLike) -> Array:
        # By the reciprocal, as XLA divides by a constant: numbers are then those of optax to the last bit.
        share = 1 - jnp.clip(count, 0, steps) * (1 / steps)
        return (rate - final_rate) * share + final_rate

    return schedule
