"""Weighted sums of gathered vectors, Σ_j w_j(s) v(n_j(s)): what all products of list kernels and chains are."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from robustirl.types import AnyArray

MOST_UNROLLED = 64  # Gathers written out in one program; more of them are a loop, which compiles in less time.
UNROLL = 8  # Gathers in one round of that loop.

Rows = Sequence[Float[Array, " S"]] | Float[Array, "J *A S"]


def take(value: Float[AnyArray, " N"], places: Int[Array, "*n"]) -> Float[Array, "*n"]:
    """Return v(n(s)) for indices that were checked before."""
    return jnp.asarray(value).at[places].get(mode="promise_in_bounds")


def by_action(measure: Float[AnyArray, "S A"]) -> list[Float[Array, " S"]] | Float[Array, "A S"]:
    """Return one vector for each action, or one array if there are many actions.

    The program for an array does not grow with the number of actions.
    """
    if measure.shape[1] > MOST_UNROLLED:
        return jnp.asarray(measure).T
    return [jnp.asarray(measure[:, a]) for a in range(measure.shape[1])]


def gather_sum(places: Int[Array, "J *B S"], weights: Rows, value: Float[AnyArray, " N"]) -> Float[Array, "*A S"]:
    """Return Σ_j w_j(s) v(n_j(s)); with an axis of actions for all of them at once.

    Example:
        >>> gather_sum(jnp.array([[1, 0], [1, 1]]), jnp.array([[0.5, 1.0], [0.5, 1.0]]), jnp.array([1.0, 3.0])).tolist()
        [3.0, 4.0]
    """
    if len(places) <= MOST_UNROLLED:
        terms = [weight * take(value, place) for weight, place in zip(weights, places, strict=True)]
        return sum(terms[1:], terms[0])  # pyright: ignore[reportReturnType]
    stacked = weights if isinstance(weights, jax.Array) else jnp.stack(weights)  # pyright: ignore[reportArgumentType]

    def add(total: Float[Array, "*A S"], row: tuple) -> tuple[Float[Array, "*A S"], None]:
        place, weight = row
        return total + weight * take(value, place), None

    zero = jnp.zeros(stacked.shape[1:], jnp.result_type(stacked, value))
    return jax.lax.scan(add, zero, (places, stacked), unroll=UNROLL)[0]
