"""A world whose states are spread over several devices.

Every array with an axis of states is cut along it. Programs compiled for such a world run on all its devices, each on
its own states, and exchange what crosses the borders: where the kernel is one of diagonals, a few rows of a grid.
"""

import logging
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.extension import extend_states
from robustirl.mdp.kernel import DenseKernel
from robustirl.mdp.mdp import MDP

AXIS = "states"

_log = logging.getLogger("robustirl")


@working_precision
def shard_states(mdp: MDP, devices: Sequence[Any] | None = None) -> MDP:
    """Return the same world with its states spread evenly over the devices, all there are if omitted.

    Solve and learn with it as with any other; vectors that go with it (rewards, occupancies) are cut the same way as
    soon as they meet it. Where the states cannot be spread evenly, a few are added at the end that nothing reaches
    (`extend_states`); `extend_array` gives rewards and occupancies as many rows.

    Example:
        >>> from robustirl.envs import GridWorld
        >>> world = GridWorld("large", rewards=np.zeros((40, 40))).mdp(0.1)
        >>> shard_states(world, jax.devices()[:1]).num_states
        1600
    """
    devices = jax.devices() if devices is None else list(devices)
    size = mdp.num_states
    if isinstance(mdp.kernel, DenseKernel):
        raise InvalidInputError(
            "a world stored as an array is not spread over devices; build it from diagonals or lists."
        )
    if size % len(devices):
        mdp = extend_states(mdp, -(-size // len(devices)) * len(devices))
        _log.info(
            f"{size} states cannot be spread evenly over {len(devices)} devices; the world now has {mdp.num_states},"
            " and mdp.extend_array gives vectors as many."
        )
        size = mdp.num_states
    mesh = Mesh(np.array(devices), (AXIS,))

    def place(leaf: jax.Array) -> jax.Array:
        cut = [AXIS if length == size else None for length in leaf.shape]
        # One axis only: where two are as long as there are states, the last is the one that is gone through in order.
        first = max((i for i, name in enumerate(cut) if name), default=None)
        spec = PartitionSpec(*(AXIS if i == first else None for i in range(leaf.ndim)))
        host = np.asarray(leaf)  # Each process hands over the parts of its own devices.
        return jax.make_array_from_callback(leaf.shape, NamedSharding(mesh, spec), lambda index: host[index])

    return jax.tree.map(place, mdp)
