"""A world whose states are spread over several devices.

Every array with an axis of states is cut along it. Programs compiled for such a world run on all its devices, each on
its own states, and exchange what crosses the borders: where the kernel is one of diagonals, a few rows of a grid, and
where it is one of lists whose moves lead no further than the next device, a strip of states (`halo.py`).
"""

import logging
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.arguments import as_list, require_kind
from robustirl.mdp.extension import extend_states
from robustirl.mdp.halo import AXIS, HaloKernel, farthest_move, local_places
from robustirl.mdp.kernel import AbstractKernel, DenseKernel
from robustirl.mdp.mdp import MDP, as_world, replace_parts
from robustirl.mdp.ragged import RaggedKernel
from robustirl.mdp.successors import SuccessorKernel
from robustirl.mdp.whole_worlds import without_halves

_log = logging.getLogger("robustirl")


@working_precision
def shard_states(mdp: MDP, devices: Sequence[Any] | None = None) -> MDP:
    """Return the same world with its states spread evenly over the devices.

    If `devices` is omitted, all devices are used. Solve and learn with the world as with any other; vectors that go
    with it (rewards, occupancies) are cut the same way as soon as they meet it. Where the states cannot be spread
    evenly, a few are added at the end that nothing reaches (`extend_states`); `extend_array` gives rewards and
    occupancies as many rows.

    Lists of successors are read from whole vectors, which every device then receives for every product, unless no move
    leads further than the states of the next device. `renumber_states` finds an order of states in which that is so.

    Example:
        >>> from robustirl.envs import GridWorld
        >>> world = GridWorld("large", rewards=np.zeros((40, 40))).mdp(0.1)
        >>> shard_states(world, jax.devices()[:1]).num_states
        1600
    """
    devices = jax.devices() if devices is None else as_list("devices", devices, "a sequence of devices of JAX")
    for device in devices:
        require_kind("a device", device, jax.Device, "a device of JAX")
    if not devices:
        raise InvalidInputError("there are no devices to spread the states over; give one at least.")
    size = as_world(mdp).num_states
    if isinstance(mdp.kernel, DenseKernel | RaggedKernel):
        stored = "an array" if isinstance(mdp.kernel, DenseKernel) else "entries"
        raise InvalidInputError(
            f"a world stored as {stored} is not spread over devices; build it from diagonals or lists."
        )
    if size % len(devices):
        mdp = extend_states(mdp, -(-size // len(devices)) * len(devices))
        _log.info(
            f"{size} states cannot be spread evenly over {len(devices)} devices; the world now has {mdp.num_states},"
            " and mdp.extend_array gives vectors as many."
        )
        size = mdp.num_states
    mesh = Mesh(np.array(devices), (AXIS,))
    mdp = replace_parts(mdp, kernel=_with_halo(mdp.kernel, mesh))

    def place(leaf: jax.Array) -> jax.Array:
        cut = [AXIS if length == size else None for length in leaf.shape]
        # One axis only: where two are as long as there are states, the last is the one that is gone through in order.
        first = max((i for i, name in enumerate(cut) if name), default=None)
        spec = PartitionSpec(*(AXIS if i == first else None for i in range(leaf.ndim)))
        host = np.asarray(leaf)  # Each process hands over the parts of its own devices.
        return jax.make_array_from_callback(leaf.shape, NamedSharding(mesh, spec), lambda index: host[index])

    return jax.tree.map(place, mdp)


def _with_halo(kernel: AbstractKernel, mesh: Mesh) -> AbstractKernel:
    """Return the kernel with its lists in the numbers of each device.

    It has no halves of the states (`halves.py`) any more: each of them has states of every device. Lists in which a
    move leads beyond the next device stay as they are.
    """

    def localized(part: Any) -> Any:
        if not isinstance(part, SuccessorKernel) or part.num_states != kernel.num_states:
            return part
        places, weights = np.asarray(part.places), np.asarray(part.weights)
        size, strip = part.num_states // mesh.size, int(farthest_move(places, weights))
        if strip > size:
            _log.info(
                f"a move leads {strip} states away, beyond the {size} states of the next device, so that devices send"
                " each other whole vectors; mdp.renumber_states may bring neighbors closer together."
            )
            return part
        first = np.arange(part.num_states) // size * size
        numbers: Any = local_places(places, first, size, strip)
        return HaloKernel(places=numbers, weights=part.weights, strip=strip, mesh=mesh, leaky=part.leaky)

    if mesh.size == 1:
        return kernel
    return jax.tree.map(localized, without_halves(kernel), is_leaf=lambda part: isinstance(part, SuccessorKernel))
