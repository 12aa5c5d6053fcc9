"""Weighted sums of shifted vectors, Σ_j w_j(s) v(s + d_j): what all products of banded kernels and chains are."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl.types import AnyArray


def shifted(
    value: Float[AnyArray, " N"], offsets: Sequence[int], size: int, *, rotate: bool = False
) -> list[Float[Array, " S"]]:
    """Return v(s + d) for the states s from 0 to `size` - 1 and each distance d.

    It is zero where s + d is no state. Slices of one vector with zeros at both ends: on a CPU a sum of them takes two
    thirds of the time that it takes of rotated vectors, in which every entry is looked for in two places. Of vectors
    that are spread over devices, slices would be sent from device to device once more than rotated ones are; `rotate`
    returns these, of N = S entries, which have others in place of zeros.

    Example:
        >>> [part.tolist() for part in shifted(jnp.array([1.0, 2.0, 3.0]), (-1, 1), 3)]
        [[0.0, 1.0, 2.0], [2.0, 3.0, 0.0]]
    """
    if rotate:
        return [jnp.roll(value, -offset) for offset in offsets]
    before = max(0, -min(offsets))
    after = max(0, max(offsets) + size - value.shape[0])
    longer = jnp.pad(value, (before, after))
    return [longer[before + offset : before + offset + size] for offset in offsets]


def shifted_sum(
    weights: Sequence[Float[Array, "*A S"]] | Float[Array, "J *A S"],
    offsets: Sequence[int],
    value: Float[AnyArray, " N"],
    *,
    rotate: bool = False,
) -> Float[Array, "*A S"]:
    """Return Σ_j w_j(s) v(s + d_j), for weights that are zero where s + d_j is no state.

    Example:
        >>> shifted_sum([jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5])], (0, 1), jnp.array([1.0, 3.0])).tolist()
        [2.0, 1.5]
    """
    parts = shifted(value, offsets, weights[0].shape[-1], rotate=rotate)
    return sum(weight * part for weight, part in zip(weights, parts, strict=True))  # pyright: ignore[reportReturnType]
