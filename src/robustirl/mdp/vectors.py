"""Rewards and occupancies as arrays: checked against the world that they are of."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float, sum_tolerance, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.mdp import MDP, as_world
from robustirl.types import ArrayLike


@working_precision
def as_reward(reward: ArrayLike, mdp: MDP, name: str = "the reward") -> Float[Array, " S"]:
    """Return a checked reward R(s), or another vector by that name: one finite number per state."""
    checks.require_shape(name, reward, (as_world(mdp).num_states,), "states")
    if checks.concrete(reward):
        reward = checks.as_floats(name, reward)
        checks.require_finite(name, reward)
    return as_float(reward)


@working_precision
def as_action_reward(reward: ArrayLike, mdp: MDP) -> Float[Array, " S"] | Float[Array, "S A"]:
    """Return a checked reward of states R(s), `[S]`, or of states and actions R(s,a), `[S, A]`.

    Whatever an `[S, A]` array holds for actions that are not available, NaN and infinity included, is replaced by
    zero: no one can collect it.

    Example:
        >>> world = MDP([[[1.0], [0.0]]], discount=0.5)  # One state; the second of its two actions does not exist.
        >>> as_action_reward([[3.0, float("nan")]], world).tolist()
        [[3.0, 0.0]]
    """
    if len(checks.shape_of("the reward", reward)) != 2:
        return as_reward(reward, mdp)
    checks.require_shape("the reward", reward, as_world(mdp).mask.shape, "states, actions")
    if checks.concrete(reward, mdp.mask):
        array = np.where(np.asarray(mdp.mask), checks.as_floats("the reward", reward), 0)
        checks.require_finite("the reward", array)
        return as_float(array)
    return jnp.where(mdp.mask, as_float(reward), 0)


@working_precision
def as_occupancy(occupancy: ArrayLike, mdp: MDP) -> Float[Array, " S"]:
    """Return a checked state occupancy ρ(s).

    It sums to one, or to less where a leaky world loses mass.
    """
    checks.require_shape("the occupancy", occupancy, (as_world(mdp).num_states,), "states")
    if checks.concrete(occupancy):
        array = checks.as_floats("the occupancy", occupancy)
        tolerance = sum_tolerance(array.dtype)
        array = np.where((array < 0) & (array >= -tolerance), 0, array)  # Rounding errors of the caller.
        if mdp.kernel.leaky:
            checks.require_probabilities("the occupancy", array)
            if not 0 < (total := float(array.sum())) <= 1 + tolerance:
                raise InvalidInputError(f"the occupancy sums to {total!r}, but a sum in (0, 1] is needed.")
        else:
            checks.require_distributions("the occupancy", array)
        occupancy = array
    return as_float(occupancy)
