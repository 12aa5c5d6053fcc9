r"""Number the states of a large world so that neighbors lie close together in memory; users never see it.

A gather is as fast as its indices are close: a million states in random order take fifteen times as long a product as
the same states in the order of reverse Cuthill and McKee on a CPU, and on an H200 a solve of 10⁵ states takes twice as
long, though they fit into its cache. Solvers and fits work in that order and give their results
back in the world's own. The order of a kernel is computed once and kept as long as the kernel lives.
"""

import weakref
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from robustirl._runtime import working_precision
from robustirl.mdp import checks
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.mdp import MDP, replace_parts
from robustirl.types import AnyArray

LEAST_STATES = 30_000  # Vectors of fewer states lie in the fastest caches, in any order.
FAR = 4096  # A mean distance between neighbors above which another order is worth looking for.
LEAST_GAIN = 4  # Times closer; else the order stays.


class Order(NamedTuple):
    """An order of states.

    Attributes:
        order: `[S]`, the state at each place.
        rank: `[S]`, the place of each state.
    """

    order: Int[Array, " S"]
    rank: Int[Array, " S"]

    def into(self, array: AnyArray) -> Array:
        """Return an array `[S, ...]` in this order."""
        return jnp.asarray(array)[self.order]

    def back(self, array: AnyArray) -> Array:
        """Return an array `[S, ...]` of this order in the world's own."""
        return jnp.asarray(array)[self.rank]


_known: dict[int, tuple[AbstractKernel, Order] | None] = {}
"""What was found for a kernel, by the identity of one of its arrays; removed together with that array."""


@working_precision
def renumbered(mdp: MDP) -> tuple[MDP, Order] | None:
    """Return the world in an order whose neighbors are close, and the order; None if its own is good enough.

    Example:
        >>> renumbered(MDP([[[1.0]]], discount=0.5)) is None
        True
    """
    kernel = mdp.kernel
    if mdp.num_states < LEAST_STATES or not checks.concrete(mdp):
        return None
    key = kernel.order_key()
    if key is None or len(key.sharding.device_set) > 1:
        return None
    if id(key) not in _known:
        _known[id(key)] = _reorder(kernel)
        weakref.finalize(key, _known.pop, id(key), None)
    found = _known[id(key)]
    if found is None:
        return None
    inner, order = found
    world = replace_parts(mdp, kernel=inner, mask=order.into(mdp.mask), initial=order.into(mdp.initial))
    return world, order


def _reorder(kernel: AbstractKernel) -> tuple[AbstractKernel, Order] | None:
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    pattern = kernel.neighbors()
    before = _distance(pattern, np.arange(kernel.num_states))
    if before <= FAR:
        return None
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(scipy.sparse.csr_array(pattern + pattern.T), True)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    if _distance(pattern, rank) * LEAST_GAIN > before:
        return None
    return kernel.reordered(order, rank), Order(jnp.asarray(order), jnp.asarray(rank))


def _distance(pattern, rank: np.ndarray) -> float:
    """Return the mean distance in memory between a state and its successors."""
    rows = np.repeat(rank, np.diff(pattern.indptr))
    return float(np.abs(rows - rank[pattern.indices]).mean()) if rows.size else 0.0
