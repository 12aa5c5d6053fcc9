r"""Lists of successors over several devices that exchange strips of states with their neighbors, not whole vectors.

Let device d hold the states d·n to (d+1)·n - 1, and let no move lead further than h <= n states away, which an order
such as that of reverse Cuthill and McKee brings about. Then all that a device reads lies among its own states and the h
states before and after them. For a product it receives these two strips (a halo) and gathers from

    [ h states of device d-1 | n states of its own | h states of device d+1 ],

and where a measure flows, it scatters into such a block, sends the strips to their owners, and each adds what arrives.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl.mdp.chains import AbstractChain
from robustirl.mdp.gathers import MOST_UNROLLED, Rows, by_action, gather_sum
from robustirl.mdp.listed import ListedKernel
from robustirl.mdp.successors import SuccessorKernel
from robustirl.types import AnyArray

if TYPE_CHECKING:
    import scipy.sparse

AXIS = "states"
_ALONG = PartitionSpec(AXIS)
_ROWS = PartitionSpec(None, AXIS)


def _as_it_is(vector: Float[Array, " b"], strip: int) -> Float[Array, " b"]:
    del strip
    return vector


def _pass(array: Float[Array, " h"], by: int) -> Float[Array, " h"]:
    """Send an array to the next device (1) or the one before (-1); what no device sends is zero."""
    count = jax.lax.axis_size(AXIS)
    pairs = [(i, i + by) for i in range(count) if 0 <= i + by < count]
    return jax.lax.ppermute(array, AXIS, pairs)


def _block(value: Float[Array, " n"], strip: int) -> Float[Array, " b"]:
    """Return a device's values with the strips of its neighbors on both sides."""
    if strip == 0:
        return value
    return jnp.concatenate([_pass(value[-strip:], 1), value, _pass(value[:strip], -1)])


def _gathered(block: Float[Array, " b"], strip: int) -> Float[Array, " n"]:
    """Return a device's part of a measure: its own, and what its neighbors' strips have for it."""
    if strip == 0:
        return block
    own = block[strip:-strip]
    own = own.at[-strip:].add(_pass(block[:strip], -1))
    return own.at[:strip].add(_pass(block[-strip:], 1))


class HaloChain(AbstractChain):
    """A chain over successors within the halo of each device.

    Attributes:
        places: `[J, S]`, the successors, as numbers in the block of the device that holds the state.
        weights: Their probabilities, one vector for each j, or one array.
        strip: H, the states that a device receives from each of its neighbors.
        mesh: The devices, in the order of their states.
    """

    places: Int[Array, "J S"]
    weights: tuple[Float[Array, " S"], ...] | Float[Array, "J S"]
    strip: int = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self._product(gather_sum, value, before=_block)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        def scattered(places: Int[Array, "J n"], weights: Rows, measure: Float[Array, " n"]) -> Float[Array, " b"]:
            arriving = jnp.concatenate([weight * measure for weight in weights])
            return jax.ops.segment_sum(arriving, places.ravel(), num_segments=measure.shape[0] + 2 * self.strip)

        return self._product(scattered, measure, after=_gathered)

    def _product(
        self, work: Callable, vector: Float[Array, " S"], *, before: Callable = _as_it_is, after: Callable = _as_it_is
    ) -> Float[Array, " S"]:
        """Let every device work on its rows, with an exchange of strips before or after."""

        def local(places: Int[Array, "J n"], weights: Rows, own: Float[Array, " n"]) -> Float[Array, " n"]:
            return after(work(places, weights, before(own, self.strip)), self.strip)

        rows = (_ALONG,) * len(self.weights) if isinstance(self.weights, tuple) else _ROWS
        return _on_devices(local, self.mesh, (_ROWS, rows, _ALONG), _ALONG)(self.places, self.weights, vector)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        places = np.asarray(_global(self.places, self.strip, self.mesh))
        states = np.broadcast_to(np.arange(places.shape[1]), places.shape)
        weights = np.stack([np.asarray(weight) for weight in self.weights])
        content = (weights.ravel(), (states.ravel(), places.ravel()))
        matrix = scipy.sparse.csr_array(scipy.sparse.coo_array(content, shape=(places.shape[1],) * 2))
        matrix.eliminate_zeros()
        return matrix


class HaloKernel(ListedKernel):
    """A kernel of successor lists whose states are spread over devices.

    `shard_states` makes one.

    Attributes:
        places: `[K, B, S]`, the successors, as numbers in the block of the device that holds the state; B is |A|, or 1
            where all actions of a state share one list.
        weights: `[K, A, S]`, their probabilities.
        strip: H, the states that a device receives from each of its neighbors.
        mesh: The devices, in the order of their states.
        leaky: Whether rows may sum to less than one.
    """

    places: Int[Array, "K B S"]
    weights: Float[Array, "K A S"]
    strip: int = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    leaky: bool = eqx.field(static=True)

    @property
    def num_states(self) -> int:
        return self.weights.shape[2]

    @property
    def num_actions(self) -> int:
        return self.weights.shape[1]

    def columns(self, value: Float[AnyArray, " S"]) -> list[Float[Array, " S"]]:
        actions, lists = self.num_actions, self.places.shape[1]
        every = PartitionSpec(None, None, AXIS)

        def local(
            places: Int[Array, "K B n"], weights: Float[Array, "K A n"], value: Float[Array, " n"]
        ) -> list[Float[Array, " n"]]:
            block = _block(value, self.strip)
            return [gather_sum(places[:, a % lists], weights[:, a], block) for a in range(actions)]

        return _on_devices(local, self.mesh, (every, every, _ALONG), [_ALONG] * actions)(
            self.places, self.weights, value
        )

    def expect(self, value: Float[AnyArray, " S"]) -> Float[Array, "S A"]:
        return jnp.stack(self.columns(value), -1)

    def push(self, measure: Float[AnyArray, "S A"]) -> Float[Array, " S"]:
        return self.chain(by_action(measure)).push(jnp.ones_like(measure[:, 0]))

    def chain(self, shares: Sequence[Float[AnyArray, " S"]] | Float[Array, "A S"]) -> HaloChain:
        every = self.weights * jnp.stack(shares)
        shared = self.places.shape[1] < self.num_actions
        weights = every.sum(1) if shared else every.reshape(-1, self.num_states)
        rows = weights if len(weights) > MOST_UNROLLED else tuple(weights)
        return HaloChain(self.places.reshape(-1, self.num_states), rows, self.strip, self.mesh)

    def row_sums(self) -> Float[Array, "S A"]:
        return self.weights.sum(0).T

    def self_transitions(self) -> Float[Array, "S A"]:
        own = jnp.arange(self.num_states) % (self.num_states // self.mesh.size) + self.strip
        return jnp.where(self.places == own, self.weights, 0).sum(0).T

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        return self.to_lists().sample(states, actions, key=key)

    def to_lists(self) -> SuccessorKernel:
        """Return the same kernel as lists in the numbers of the world.

        Every device may read these lists anywhere.
        """
        places = _global(self.places, self.strip, self.mesh)
        lists = jnp.broadcast_to(places, self.weights.shape)
        return SuccessorKernel(*(jnp.transpose(array, (2, 1, 0)) for array in (lists, self.weights)), leaky=self.leaky)


def farthest_move(places: Int[AnyArray, "K B S"], weights: Float[AnyArray, "K A S"]) -> Int[AnyArray, ""] | np.integer:
    """Return the largest distance |s' - s| of a move, in numbers of states.

    Example:
        >>> farthest_move(np.array([[[2, 1, 0]]]), np.array([[[1.0, 1.0, 0.0]]])).item()  # The last is never taken.
        2
    """
    numpy = np if isinstance(places, np.ndarray) else jnp
    used = (weights > 0).any(1, keepdims=True) if places.shape[1] < weights.shape[1] else weights > 0
    return numpy.max(numpy.where(used, numpy.abs(places - numpy.arange(places.shape[-1])), 0))


def local_places(
    places: Int[AnyArray, "K B n"], first: int | Int[AnyArray, " n"], size: int, strip: int
) -> Int[AnyArray, "K B n"]:
    """Return the successors as numbers in the block of a device whose states begin at `first`.

    Unused successors are clipped.

    Example:
        >>> local_places(np.array([[[3, 4, 7]]]), 4, 3, 1).tolist()  # States 4, 5 and 6, and one on either side.
        [[[0, 1, 4]]]
    """
    numpy = np if isinstance(places, np.ndarray) else jnp
    return numpy.clip(places - first + strip, 0, size + 2 * strip - 1).astype(np.int32)


def _global(places: Int[Array, "*lists S"], strip: int, mesh: Mesh) -> Int[Array, "*lists S"]:
    states = places.shape[-1]
    size = states // mesh.size
    return jnp.clip(places + jnp.arange(states) // size * size - strip, 0, states - 1)


def _on_devices(function: Callable, mesh: Mesh, given: Any, found: Any) -> Callable:
    # Unchecked: the loop over long lists begins with zeros that are the same on all devices.
    return jax.shard_map(function, mesh=mesh, in_specs=given, out_specs=found, check_vma=False)
