"""Policies π(a|s) as arrays `[S, A]`, the mixture of two, and the paper's two distances."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._runtime import as_float, short_repr, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.mdp import MDP, as_world
from robustirl.types import AnyArray, ArrayLike


@working_precision
def as_policy(policy: ArrayLike, mdp: MDP) -> Float[Array, "S A"]:
    """Return a checked policy of `mdp`: a distribution over the available actions of each state."""
    checks.require_shape("the policy", policy, mdp.mask.shape, "states, actions")
    if checks.concrete(policy, mdp.mask):
        array = checks.as_floats("the policy", policy)
        checks.require_distributions("the policy", array)
        outside = (array > 0) & ~np.asarray(mdp.mask)
        if outside.any():
            state, action = (int(i) for i in np.argwhere(outside)[0])
            raise InvalidInputError(
                f"the policy gives probability {float(array[state, action])!r} to action {action} in state {state},"
                " where that action is not available; give it 0."
            )
        policy = checks.normalized(array)
    return as_float(policy)


@working_precision
def uniform_policy(mask: Bool[Array, "S A"]) -> Float[Array, "S A"]:
    """Return the policy that takes every available action with the same probability.

    Example:
        >>> uniform_policy(jnp.array([[True, True], [True, False]])).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    if checks.in_host_memory(mask):
        array = checks.as_floats("the action mask", mask)
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
    if checks.in_host_memory(rows, first.mask, second.mask):
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
    checks.require_shape("the second policy", second, first.shape, "states, actions, as in the first")
    return jnp.max(jnp.abs(first - second).sum(-1))
