r"""Number the states of a large world so that neighbors lie close together in memory.

A gather is as fast as its indices are close: a million states in random order take fifteen times as long a product as
the same states in the order of reverse Cuthill and McKee on a CPU, and on an H200 a solve of 10⁵ states takes twice as
long, though they fit into its cache. Solvers and fits work in that order and give their results back in the world's
own, so that users do not see it. The order of a kernel is computed once and kept as long as the kernel exists.
`renumber_states` is for users who spread a world over devices.
"""

import weakref
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.mdp import MDP, replace_parts
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

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

    @working_precision
    def into(self, array: ArrayLike) -> Array:
        """Return an array `[S, ...]` in this order."""
        return jnp.asarray(array)[self.order]

    @working_precision
    def back(self, array: ArrayLike) -> Array:
        """Return an array `[S, ...]` of this order in the world's own."""
        return jnp.asarray(array)[self.rank]


_known: dict[int, tuple[AbstractKernel, Order] | None] = {}
"""What was found for a kernel, by the identity of one of its arrays; removed together with that array."""


@working_precision
def renumbered(mdp: MDP) -> tuple[MDP, Order] | None:
    """Return the world in an order whose neighbors are close, and the order.

    The result is None if the world's own order is good enough.

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
    return _with_kernel(mdp, *found), found[1]


@working_precision
def renumber_states(mdp: MDP) -> tuple[MDP, Order]:
    """Return the world in the order of reverse Cuthill and McKee, and that order.

    Neighbors are close in this order. Solvers and fits find such an order by themselves. Use this before
    `shard_states`, so that devices exchange strips of states instead of whole vectors: `order.into(reward)` goes with
    the world, and `order.back(value)` gives results in the first order.

    Example:
        >>> from robustirl.envs import from_graph
        >>> ring = from_graph([[0, 3], [3, 1], [1, 4], [4, 2], [2, 0]]).mdp(0.1)
        >>> world, order = renumber_states(ring)
        >>> order.back(order.into([10.0, 11.0, 12.0, 13.0, 14.0])).tolist()
        [10.0, 11.0, 12.0, 13.0, 14.0]
    """
    kernel = mdp.kernel
    if kernel.order_key() is None:
        raise InvalidInputError(
            f"a {type(kernel).__name__} has a fixed order of states; only worlds of successor lists are renumbered."
        )
    order = _cuthill_mckee(kernel.neighbors())
    return _with_kernel(mdp, kernel.reordered(*order), _as_order(*order)), _as_order(*order)


def _with_kernel(mdp: MDP, kernel: AbstractKernel, order: Order) -> MDP:
    return replace_parts(mdp, kernel=kernel, mask=order.into(mdp.mask), initial=order.into(mdp.initial))


def _reorder(kernel: AbstractKernel) -> tuple[AbstractKernel, Order] | None:
    pattern = kernel.neighbors()
    before = _distance(pattern, np.arange(kernel.num_states))
    if before <= FAR:
        return None
    order, rank = _cuthill_mckee(pattern)
    if _distance(pattern, rank) * LEAST_GAIN > before:
        return None
    return kernel.reordered(order, rank), _as_order(order, rank)


def _cuthill_mckee(pattern: "scipy.sparse.csr_array") -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " S"]]:
    import scipy.sparse.csgraph  # Here, so that `import robustirl` stays light.

    order = scipy.sparse.csgraph.reverse_cuthill_mckee(scipy.sparse.csr_array(pattern + pattern.T), True)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    return order, rank


def _as_order(order: Int[np.ndarray, " S"], rank: Int[np.ndarray, " S"]) -> Order:
    return Order(jnp.asarray(order), jnp.asarray(rank))


def _distance(pattern, rank: np.ndarray) -> float:
    """Return the mean distance in memory between a state and its successors."""
    rows = np.repeat(rank, np.diff(pattern.indptr))
    return float(np.abs(rows - rank[pattern.indices]).mean()) if rows.size else 0.0
