"""A world from a function whose states are spread over devices as it is built: no host ever holds the whole."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int

from robustirl._runtime import working_dtype, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.functions import CHUNK, checked_answer
from robustirl.mdp.halo import AXIS, HaloKernel, farthest_move, local_places
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.mdp import MDP, replace_parts
from robustirl.mdp.successors import SuccessorKernel
from robustirl.types import ArrayLike


@working_precision
def shard_function(
    successors: Callable[..., Any],
    *,
    num_states: int,
    num_actions: int,
    num_successors: int,
    discount: ArrayLike,
    devices: Sequence[Any] | None = None,
    chunk_size: int = CHUNK,
) -> MDP:
    """Return the world of a function, its states spread evenly over the devices.

    The world has the uniform start. Where the states cannot be spread evenly, a few are added at the end that nothing
    reaches, as in `shard_states`.

    The function is asked for the states of one device after the other, in every process for its own devices alone, so
    that it also runs under `jax.distributed`. Nothing is renumbered and no predecessors are listed. Where no move leads
    further than the states of the next device, devices exchange strips of states, else whole vectors.

    Args:
        successors: A function of arrays `[N]` of states and actions that returns arrays `[N, K]` of successors and of
            their probabilities; see `from_function`.
        num_states: |S|, of the function; the world may have a few more.
        num_actions: |A|.
        num_successors: K.
        discount: γ.
        devices: All there are if omitted.
        chunk_size: How many pairs of state and action are asked for at a time.

    Example:
        >>> def walk(states, actions):
        ...     return ((states + actions) % 6)[:, None], np.ones((len(states), 1))
        >>> world = shard_function(walk, num_states=6, num_actions=2, num_successors=1, discount=0.9)
        >>> world.num_states, world.kernel.expect(np.arange(6.0))[5].tolist()
        (6, [5.0, 0.0])
    """
    places_on = jax.devices() if devices is None else list(devices)
    states, actions, width = (
        checks.as_count(name, number, 1)
        for name, number in (
            ("num_states", num_states),
            ("num_actions", num_actions),
            ("num_successors", num_successors),
        )
    )
    total = -(-states // len(places_on)) * len(places_on)
    mesh = Mesh(np.array(places_on), (AXIS,))
    asked: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def part(index: tuple[slice, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the lists of the states of one device, `[K, A, n]`."""
        first, last, _ = index[-1].indices(total)
        if (first, last) not in asked:
            asked.clear()  # One device's part at a time, and both of its arrays.
            asked[first, last] = _lists(successors, (first, last), (states, actions, width), chunk_size)
        return asked[first, last]

    def spread(shape: tuple[int, ...], content: Callable[[tuple[slice, ...]], np.ndarray]) -> Array:
        axes = (None,) * (len(shape) - 1)
        sharding = NamedSharding(mesh, PartitionSpec(*axes, AXIS))
        return jax.make_array_from_callback(shape, sharding, content)  # pyright: ignore[reportArgumentType]

    shape = (width, actions, total)
    places = spread(shape, lambda index: part(index)[0].astype(np.int32))
    weights = spread(shape, lambda index: part(index)[1].astype(working_dtype()))
    small = MDP(SuccessorKernel([[[0]]], [[[1.0]]]), discount=discount)  # Checks the discount.
    kernel = _kernel(places, weights, mesh)
    along = NamedSharding(mesh, PartitionSpec(AXIS))
    mask = jax.jit(lambda w: w.sum(0).T > 0, out_shardings=NamedSharding(mesh, PartitionSpec(AXIS, None)))(weights)
    start = jax.jit(lambda: (jnp.arange(total) < states).astype(working_dtype()) / states, out_shardings=along)()
    number = jax.make_array_from_callback(
        (), NamedSharding(mesh, PartitionSpec()), lambda _: np.asarray(small.discount)
    )
    return replace_parts(small, kernel=kernel, mask=mask, initial=start, discount=number)


def _kernel(places: Int[Array, "K A S"], weights: Float[Array, "K A S"], mesh: Mesh) -> AbstractKernel:
    """Return lists in the numbers of each device, if no move leads beyond the next device.

    Otherwise they are in the numbers of the world.
    """
    # One number for all, which every process can read.
    find = jax.jit(farthest_move, out_shardings=NamedSharding(mesh, PartitionSpec()))
    total, strip = places.shape[-1], int(find(places, weights))
    size = total // mesh.size
    if mesh.size == 1 or strip > size:
        one = SuccessorKernel([[[0]]], [[[1.0]]])
        return eqx.tree_at(lambda k: (k.places, k.weights), one, (places, weights))

    def local(places: Int[Array, "K A S"]) -> Int[Array, "K A S"]:
        return jnp.asarray(local_places(places, jnp.arange(total) // size * size, size, strip))

    numbers = jax.jit(local, out_shardings=places.sharding)(places)
    return HaloKernel(places=numbers, weights=weights, strip=strip, mesh=mesh, leaky=False)


def _lists(
    successors: Callable[..., Any], span: tuple[int, int], sizes: tuple[int, int, int], chunk: int
) -> tuple[np.ndarray, np.ndarray]:
    states, actions, width = sizes
    first, last = span
    places = np.broadcast_to(np.arange(first, last)[:, None, None], (last - first, actions, width)).copy()
    chances = np.zeros((last - first, actions, width))
    chances[max(states - first, 0) :, 0, 0] = 1  # States beyond those of the function are absorbing.
    rows = max(chunk // actions, 1)
    for begin in range(first, min(last, states), rows):
        here = np.arange(begin, min(begin + rows, last, states))
        state, action = np.repeat(here, actions), np.tile(np.arange(actions), here.size)
        found = checked_answer(successors(state, action), state, action, states)
        if found[0].shape[1] != width:
            raise InvalidInputError(
                f"the kernel function returned {found[0].shape[1]} successors from state {begin} on, but num_successors"
                f" is {width}; fill up with probability 0."
            )
        inside = slice(begin - first, begin - first + here.size)
        places[inside] = found[0].reshape(here.size, actions, width)
        chances[inside] = found[1].reshape(here.size, actions, width)
    return places.transpose(2, 1, 0), chances.transpose(2, 1, 0)
