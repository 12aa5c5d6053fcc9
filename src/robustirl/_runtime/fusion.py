"""Keep XLA from computing an intermediate result again for every place that reads it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def unfused(certain: Bool[Array, ""], function: Callable[..., Any], *given: Any) -> Any:
    """Return `function(*given)` as arrays that are computed once and lie in memory.

    Use it inside compiled code. On a CPU XLA writes a cheap function of vectors into each of its readers, so that a
    gather of a sum of gathers takes as many gathers as the product of both. It does so across
    `jax.lax.optimization_barrier`, too, but not across a branch. Elsewhere a barrier serves.

    Args:
        certain: True, in a form that the compiler cannot know to be true, such as a discount being at least zero.
        function: What to compute.
        given: Its arguments.

    Example:
        >>> unfused(jnp.asarray(0.5) >= 0, lambda x: 2 * x, jnp.array([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """
    if jax.default_backend() != "cpu":
        return jax.lax.optimization_barrier(function(*given))
    shapes = jax.eval_shape(function, *given)

    def never(*_: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return jax.lax.cond(certain, lambda *given: function(*given), never, *given)  # Methods of modules have no hash.
