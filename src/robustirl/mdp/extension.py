"""Worlds with further states that nothing reaches: for sizes that devices can share evenly."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.mdp import MDP, replace_parts
from robustirl.types import ArrayLike


@working_precision
def extend_states(mdp: MDP, num_states: int) -> MDP:
    """Return the world with further states after its own.

    No other state reaches the further states, and they are never left. Nothing changes for the other states: their
    values, policies and occupancies are those of the world itself.

    Args:
        mdp: The world.
        num_states: The number of states it shall have, at least its own.

    Example:
        >>> from robustirl.envs import GridWorld
        >>> extend_states(GridWorld("small", rewards=np.zeros((15, 15))).mdp(0.1), 232).num_states
        232
    """
    size, wanted = mdp.num_states, checks.as_count("num_states", num_states, 1)
    if wanted < size:
        raise InvalidInputError(f"num_states is {wanted}, but the world has {size} states already; give at least that.")
    if wanted == size:
        return mdp
    mask = np.zeros((wanted, mdp.num_actions), bool)
    mask[:size], mask[size:, 0] = mdp.mask, True
    return replace_parts(
        mdp,
        kernel=mdp.kernel.extended(wanted),
        mask=jnp.asarray(mask),
        initial=as_float(np.pad(np.asarray(mdp.initial), (0, wanted - size))),
    )


@working_precision
def extend_array(array: ArrayLike, mdp: MDP) -> Float[Array, "..."]:
    """Return an array `[S, ...]`, such as a reward, with zeros for the states added to a world.

    Example:
        >>> extend_array([1.0, 2.0], MDP(np.eye(3)[:, None], discount=0.5)).tolist()
        [1.0, 2.0, 0.0]
    """
    found = checks.as_floats("the array", array)
    further = mdp.num_states - (len(found) if found.ndim else 1)
    if found.ndim == 0 or further < 0:
        raise InvalidInputError(
            f"the array has shape {found.shape}, but at most {mdp.num_states} rows are needed, one for each state."
        )
    return as_float(np.pad(found, [(0, further)] + [(0, 0)] * (found.ndim - 1)))
