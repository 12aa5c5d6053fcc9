"""A world whose arrays are spread over several devices, also under `jax.distributed`."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from robustirl._check import as_list, require_kind
from robustirl._jax import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import MDP, as_world

AXIS = "states"


@working_precision
def shard_states(mdp: MDP, devices: Sequence[Any] | None = None) -> MDP:
    """Return the same world with its arrays spread evenly over the devices.

    Solve and learn with it as with any other world: compiled programs then run on all devices, each on its own rows and
    states, and exchange the vectors that they read from. The last axis of an array that the devices divide is cut; an
    array without one, such as a vector over a number of states that they do not divide, is kept by every device. The
    columns of lists can be divided by up to 8 devices. Every process hands over the parts of its own devices.

    Args:
        mdp: The world; every process holds all of it.
        devices: All there are if omitted.

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
    mesh = Mesh(np.array(devices), (AXIS,))

    def place(leaf: jax.Array) -> jax.Array:
        cut = max((axis for axis, size in enumerate(leaf.shape) if size % len(devices) == 0), default=None)
        spec = PartitionSpec(*(AXIS if axis == cut else None for axis in range(leaf.ndim)))
        host = np.asarray(leaf)
        return jax.make_array_from_callback(leaf.shape, NamedSharding(mesh, spec), lambda index: host[index])

    return jax.tree.map(place, as_world(mdp))
