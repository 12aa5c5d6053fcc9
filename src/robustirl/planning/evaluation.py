"""What a policy achieves in a known world: value, occupancy, returns. Exact unless named otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from robustirl._runtime import BoundedJit, as_float, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_action_reward, as_count, as_policy, as_world, concrete, in_host_memory
from robustirl.planning.linear.dense import solve_policy, solve_policy_transpose
from robustirl.planning.padding import PLANNING_SIZES, extended, pad_policy, pad_world, padded_states
from robustirl.types import ArrayLike


@working_precision
def policy_value(mdp: MDP, policy: ArrayLike, reward: ArrayLike) -> Float[Array, " S"]:
    """Return V^π(s) = E[Σ γ^t R(s_t) | s_0 = s], by one linear solve.

    The reward is R(s), `[S]`, or R(s,a), `[S, A]`.

    Example:
        >>> policy_value(MDP([[[1.0]]], discount=0.5), [[1.0]], [3.0]).tolist()
        [6.0]
    """
    require_sound(mdp)
    policy = as_policy(policy, mdp)
    return solve_policy(mdp, policy, policy_reward(mdp, policy, reward))


@working_precision
def state_occupancy(mdp: MDP, policy: ArrayLike) -> Float[Array, " S"]:
    """ρ(s) = (1-γ) Σ_t γ^t P(s_t = s), the normalized discounted state occupancy (Section 2.2).

    Example:
        >>> walk = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> state_occupancy(walk, [[1.0], [1.0]]).tolist()
        [0.5, 0.5]
    """
    visits = solve_policy_transpose(mdp, as_policy(policy, as_world(mdp)), mdp.initial)
    # Rounding can leave an unvisited state slightly below zero.
    if concrete(visits):  # On the host, without a program for every size of world.
        return as_float((1 - np.asarray(mdp.discount)) * np.maximum(np.asarray(visits), 0))
    return (1 - mdp.discount) * jnp.maximum(visits, 0)


@working_precision
def state_action_occupancy(mdp: MDP, policy: ArrayLike) -> Float[Array, "S A"]:
    """ρ(s,a) = ρ(s) π(a|s).

    Example:
        >>> walk = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> state_action_occupancy(walk, [[1.0], [1.0]]).tolist()
        [[0.5], [0.5]]
    """
    visits, policy = state_occupancy(mdp, policy), as_policy(policy, mdp)
    if in_host_memory(visits, policy):
        return as_float(np.asarray(visits)[:, None] * np.asarray(policy))
    return visits[:, None] * policy


@working_precision
def discounted_return(mdp: MDP, policy: ArrayLike, reward: ArrayLike) -> Float[Array, ""]:
    """V^π = E[Σ γ^t R(s_t)] from the initial distribution: ⟨ρ, R⟩ / (1-γ) (Section 2.2).

    Example:
        >>> discounted_return(MDP([[[1.0]]], discount=0.5), [[1.0]], [3.0]).item()
        6.0
    """
    return _dot(mdp.initial, policy_value(mdp, policy, reward))


@working_precision
def total_return(mdp: MDP, policy: ArrayLike, reward: ArrayLike, *, horizon: int = 1000) -> Float[Array, ""]:
    """Return E[Σ_{t=0}^{horizon} R(s_t)], undiscounted.

    The sum has the start state's reward and at most `horizon` steps more. This is what the paper's figures show. Some
    learned policies never reach the goal, so the cap is part of the definition. Computed by moving the state
    distribution forward, not by sampling. A reward of states and actions, `[S, A]`, counts in the last state too, so
    that `horizon` + 1 actions are paid for.

    Example:
        >>> total_return(MDP([[[1.0]]], discount=0.5), [[1.0]], [-1.0], horizon=9).item()
        -10.0
    """
    require_sound(mdp)
    horizon = as_count("the horizon", horizon)
    policy = as_policy(policy, mdp)
    collected = policy_reward(mdp, policy, reward)
    world = pad_world(mdp, PLANNING_SIZES) if concrete(policy, collected) else mdp
    if world is not mdp:
        policy, collected = pad_policy(policy, world), extended(collected, world.mask.shape[:1])
    return _total_return(world, policy, collected, horizon)


@BoundedJit
def _total_return(mdp: MDP, policy: Float[Array, "S A"], reward: Float[Array, " S"], horizon: int) -> Float[Array, ""]:
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])

    def step(_: Int[Array, ""], state: tuple[Float[Array, " S"], Float[Array, ""]]):
        distribution, total = state
        distribution = chain.push(distribution)
        return distribution, total + distribution @ reward

    _, total = jax.lax.fori_loop(0, horizon, step, (mdp.initial, mdp.initial @ reward))
    return total


@working_precision
def policy_reward(mdp: MDP, policy: Float[Array, "S A"], reward: ArrayLike) -> Float[Array, " S"]:
    """Return what a checked policy collects in each state: R(s) as it is, or Σ_a π(a|s) R(s,a).

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> policy_reward(world, jnp.array([[0.25, 0.75]]), [[4.0, 0.0]]).tolist()
        [1.0]
    """
    checked = as_action_reward(reward, mdp)
    if checked.ndim == 1:
        return checked
    if in_host_memory(policy, checked):
        return as_float((np.asarray(policy) * np.asarray(checked)).sum(-1))
    return (policy * checked).sum(-1)


def _dot(one: Float[Array, " S"], other: Float[Array, " S"]) -> Float[Array, ""]:
    """Return the inner product, of vectors of a common length where that can be."""
    size = (padded_states(one.shape[0], PLANNING_SIZES),)
    return extended(one, size) @ extended(other, size) if concrete(one, other) else one @ other


def require_sound(mdp: MDP) -> None:
    """Refuse to measure returns where probability leaks.

    The returns would count the lost mass as zero reward.
    """
    if as_world(mdp).kernel.leaky:
        raise InvalidInputError(
            "returns cannot be measured in a leaky world, whose rows sum to less than 1;"
            " use the environment's evaluation_mdp instead."
        )
