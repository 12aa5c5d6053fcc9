"""Policies π(a|s), rewards and occupancies as arrays, the mixture of two policies, and the paper's two distances."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._check import (
    as_floats,
    concrete,
    in_host_memory,
    normalized,
    require_distributions,
    require_finite,
    require_probabilities,
    require_shape,
    shape_of,
    short_repr,
)
from robustirl._jax import as_float, sum_tolerance, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import MDP, as_world
from robustirl.types import AnyArray, ArrayLike


@working_precision
def as_policy(policy: ArrayLike, mdp: MDP) -> Float[Array, "S A"]:
    """Return a checked policy of `mdp`: a distribution over the available actions of each state."""
    require_shape("the policy", policy, mdp.mask.shape, "states, actions")
    if concrete(policy, mdp.mask):
        array = as_floats("the policy", policy)
        require_distributions("the policy", array)
        outside = (array > 0) & ~np.asarray(mdp.mask)
        if outside.any():
            state, action = (int(i) for i in np.argwhere(outside)[0])
            raise InvalidInputError(
                f"the policy gives probability {float(array[state, action])!r} to action {action} in state {state},"
                " where that action is not available; give it 0."
            )
        policy = normalized(array)
    return as_float(policy)


@working_precision
def as_reward(reward: ArrayLike, mdp: MDP, name: str = "the reward") -> Float[Array, " S"]:
    """Return a checked reward R(s), or another vector by that name: one finite number per state."""
    require_shape(name, reward, (as_world(mdp).num_states,), "states")
    if concrete(reward):
        reward = as_floats(name, reward)
        require_finite(name, reward)
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
    if len(shape_of("the reward", reward)) != 2:
        return as_reward(reward, mdp)
    require_shape("the reward", reward, as_world(mdp).mask.shape, "states, actions")
    if concrete(reward, mdp.mask):
        array = np.where(np.asarray(mdp.mask), as_floats("the reward", reward), 0)
        require_finite("the reward", array)
        return as_float(array)
    return jnp.where(mdp.mask, as_float(reward), 0)


@working_precision
def as_occupancy(occupancy: ArrayLike, mdp: MDP) -> Float[Array, " S"]:
    """Return a checked state occupancy ρ(s).

    It sums to one, or to less where a leaky world loses mass.
    """
    require_shape("the occupancy", occupancy, (as_world(mdp).num_states,), "states")
    if concrete(occupancy):
        array = as_floats("the occupancy", occupancy)
        tolerance = sum_tolerance(array.dtype)
        array = np.where((array < 0) & (array >= -tolerance), 0, array)  # Rounding errors of the caller.
        if mdp.kernel.leaky:
            require_probabilities("the occupancy", array)
            if not 0 < (total := float(array.sum())) <= 1 + tolerance:
                raise InvalidInputError(f"the occupancy sums to {total!r}, but a sum in (0, 1] is needed.")
        else:
            require_distributions("the occupancy", array)
        occupancy = array
    return as_float(occupancy)


@working_precision
def uniform_policy(mask: Bool[Array, "S A"]) -> Float[Array, "S A"]:
    """Return the policy that takes every available action with the same probability.

    Example:
        >>> uniform_policy(jnp.array([[True, True], [True, False]])).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    if in_host_memory(mask):
        array = as_floats("the action mask", mask)
        sums = array.sum(-1, keepdims=True) if array.ndim > 1 else np.zeros(1)
        if not (array.size and np.isfinite(sums).all() and (sums > 0).all() and (array >= 0).all()):
            raise InvalidInputError(
                f"the action mask is {short_repr(mask)}, but truth values of states and actions are needed, one of them"
                " true in every state, as the `mask` of a world."
            )
        return as_float(array / sums)
    weights = as_float(mask)
    return weights / weights.sum(-1, keepdims=True)


@working_precision
def mixture(
    player: Float[AnyArray, "*batch S A"],
    opponent: Float[AnyArray, "*batch S A"],
    alpha: Float[AnyArray, "*batch"] | Float[AnyArray, "*batch S A"] | float,
) -> Float[Array, "*batch S A"]:
    """Return α π_pl + (1-α) π_op, the policy that an observer of the game sees acting.

    Where α differs by state and action it is α(s,a) π_pl(a|s) + Σ_b (1-α(s,b)) π_pl(b|s) · π_op(a|s).

    Example:
        >>> mixture(jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 1.0]]), 0.75).tolist()
        [[0.75, 0.25]]
        >>> mixture(jnp.array([[0.5, 0.5]]), jnp.array([[0.0, 1.0]]), jnp.array([[0.5, 1.0]])).tolist()
        [[0.25, 0.75]]
    """
    weight = jnp.asarray(alpha)
    if weight.ndim and weight.ndim == jnp.ndim(player):
        return weight * player + ((1 - weight) * player).sum(-1, keepdims=True) * opponent
    weight = weight[..., None, None]
    return weight * player + (1 - weight) * opponent


def opposed(
    values: Float[Array, "S A *rest"], against: Float[Array, " S *rest"], alpha: Float[Array, "S A"]
) -> Float[Array, "S A *rest"]:
    """Return α(s,a) q(s,a) + (1-α(s,a)) m(s).

    This is what an action is worth if otherwise the opponent leaves m(s).

    Example:
        >>> opposed(jnp.array([[4.0, 2.0]]), jnp.array([0.0]), jnp.array([[0.5, 1.0]])).tolist()
        [[2.0, 2.0]]
    """
    weight = alpha.reshape(alpha.shape + (1,) * (values.ndim - 2))
    return weight * values + (1 - weight) * against[:, None]


@working_precision
def dynamics_distance(first: MDP, second: MDP) -> Float[Array, ""]:
    """Return d_dyn(T, T') = max_{s,a} ‖T(·|s,a) - T'(·|s,a)‖₁ (Section 3.1).

    The maximum is over pairs available in either world.

    Example:
        >>> still, restless = (MDP([[[1 - e, e]], [[0.0, 1.0]]], discount=0.5) for e in (0.0, 0.25))
        >>> dynamics_distance(still, restless).item()
        0.5
    """
    first, second = as_world(first), as_world(second)
    rows = first.kernel.row_distances(second.kernel)
    if in_host_memory(rows, first.mask, second.mask):
        either = np.asarray(first.mask) | np.asarray(second.mask)
        return jax.device_put(np.max(np.asarray(rows), where=either, initial=0))
    return jnp.max(jnp.where(first.mask | second.mask, rows, 0))


@working_precision
def policy_distance(first: Float[Array, "S A"], second: Float[Array, "S A"]) -> Float[Array, ""]:
    """d_pol(π, π') = max_s ‖π(·|s) - π'(·|s)‖₁ (Section 3.1).

    Example:
        >>> policy_distance(jnp.array([[1.0, 0.0]]), jnp.array([[0.5, 0.5]])).item()
        1.0
    """
    require_shape("the second policy", second, first.shape, "states, actions, as in the first")
    return jnp.max(jnp.abs(first - second).sum(-1))
