"""A backtracking line search, which Newton steps (`descent.py`) and Fisher scoring (`scoring.py`) share."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

SUFFICIENT_DECREASE = 1e-4  # Of what the slope promises (Armijo).


def search_length(
    objective: Callable[[Float[Array, ""]], tuple[Float[Array, ""], Bool[Array, ""]]],
    value: Float[Array, ""],
    slope: Float[Array, ""],
    slack: Float[Array, ""],
    *,
    cut: float,
    most_cuts: int,
    skip: Bool[Array, ""],
) -> tuple[Float[Array, ""], Bool[Array, ""], Int[Array, ""]]:
    """Return the first length among 1, cut, cut², … that lowers the objective enough.

    Armijo's rule says what is enough.

    Args:
        objective: F at a length of the step, and whether it could be computed.
        value: F at length zero.
        slope: The derivative of F there, by the length.
        slack: What F may exceed the rule by: its rounding error.
        cut: The factor between lengths.
        most_cuts: How often a step is shortened at most.
        skip: True takes no step, and then all three answers are without meaning.

    Returns:
        The length, whether it lowers F enough, and how often the step was shortened.

    Example:
        >>> start = jnp.asarray(4.0)  # F(t) = (2 - 8 t)², with its minimum at t = 1/4.
        >>> found = search_length(
        ...     lambda t: ((2 - 8 * t) ** 2, jnp.asarray(True)), start, jnp.asarray(-32.0), jnp.asarray(0.0),
        ...     cut=0.5, most_cuts=10, skip=jnp.asarray(False),
        ... )
        >>> [number.item() for number in found]
        [0.25, True, 2]
    """

    def sufficient(length: Float[Array, ""]) -> Bool[Array, ""]:
        found, valid = objective(length)
        return valid & (found <= value + SUFFICIENT_DECREASE * length * slope + slack)

    def shorten(search):
        length, _, count = search
        shorter = cut * length
        return shorter, sufficient(shorter), count + 1

    # The first pass of the loop tries the whole step, so that the planner is compiled into one place.
    start = (jnp.full_like(slope, 1 / cut), skip, jnp.asarray(-1))
    return jax.lax.while_loop(lambda s: ~s[1] & (s[2] < most_cuts), shorten, start)
