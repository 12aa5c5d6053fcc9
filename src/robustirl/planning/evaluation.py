"""Evaluate a policy in a known world: value, occupancy, returns. Exact unless named otherwise.

Small worlds are evaluated on the host, where LAPACK needs no compiled program for every size; larger ones, and all
inside a caller's compiled code, by JAX.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._check import as_count, concrete, in_host_memory, require_memory
from robustirl._jax import as_float, jit, working_dtype, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import as_world
from robustirl.mdp.policy import as_action_reward, as_policy, as_reward
from robustirl.planning.krylov import system
from robustirl.planning.problem import Vector
from robustirl.types import ArrayLike

MOST_ON_HOST = 1000
"""States up to which a policy is evaluated by a dense solve, or step by step, on the host."""
MOST_DENSE = 3000
"""States up to which compiled code solves with a matrix."""


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
    visits = solve_policy(mdp, as_policy(policy, as_world(mdp)), mdp.initial, transposed=True)
    # Rounding can leave an unvisited state slightly below zero.
    if concrete(visits):
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
    value = policy_value(mdp, policy, reward)
    return _dot(mdp.initial, value)


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
    if not _on_host(mdp, policy, collected):
        return _total_return(mdp, policy, collected, jnp.asarray(horizon))
    forward = mdp.kernel.chain(policy).to_sparse().T.tocsr()
    payments, distribution = np.asarray(collected), np.asarray(mdp.initial)
    total = distribution @ payments
    for _ in range(horizon):
        distribution = forward @ distribution
        total += distribution @ payments
    return as_float(total)


@jit
def _total_return(mdp: MDP, policy: Float[Array, "S A"], reward: Vector, horizon: Int[Array, ""]) -> Float[Array, ""]:
    chain = mdp.kernel.chain(policy)

    def step(_: Int[Array, ""], state: tuple[Vector, Float[Array, ""]]):
        distribution, total = state
        distribution = chain.push(distribution)
        return distribution, total + distribution @ reward

    return jax.lax.fori_loop(0, horizon, step, (mdp.initial, mdp.initial @ reward))[1]


class SampledReturn(NamedTuple):
    """Mean and standard deviation over repetitions of the start-weighted return."""

    mean: Float[Array, ""]
    deviation: Float[Array, ""]


@working_precision
def sampled_total_return(
    mdp: MDP,
    policy: ArrayLike,
    reward: ArrayLike,
    *,
    key: PRNGKeyArray,
    repetitions: int = 1000,
    horizon: int = 1000,
) -> SampledReturn:
    """Estimate `total_return` as the paper does: from `repetitions` trajectories per start state.

    The mean and the standard deviation over the repetitions are the numbers and the bands of the paper's figures.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5)
        >>> estimate = sampled_total_return(world, [[1.0], [1.0]], [-1.0, 0.0], key=jax.random.key(0))
        >>> estimate.mean.item(), estimate.deviation.item()
        (-0.5, 0.0)
    """
    require_sound(mdp)
    horizon, repetitions = as_count("the horizon", horizon), as_count("repetitions", repetitions, 2)
    policy, reward = as_policy(policy, mdp), as_reward(reward, mdp)
    # A state, a total, a uniform number and the next state of every trajectory, and the chain.
    needed = working_dtype().itemsize * float(mdp.num_states) * (4.0 * repetitions + 2 * mdp.num_states)
    require_memory(needed, f"{repetitions} repetitions from each of {mdp.num_states} states", "take fewer")
    return _sampled(mdp, policy, reward, key, repetitions, horizon)


@jit
def _sampled(
    mdp: MDP, policy: Float[Array, "S A"], reward: Vector, key: PRNGKeyArray, repetitions: int, horizon: int
) -> SampledReturn:
    chain = mdp.kernel.chain(policy).dense()
    cumulative = jnp.cumsum(chain, axis=-1)
    # A state that keeps itself and pays nothing ends the trajectory: nothing more can happen there.
    over = (jnp.diagonal(chain) >= 1) & (reward == 0)
    starts = jnp.broadcast_to(jnp.arange(mdp.num_states), (repetitions, mdp.num_states))

    def unfinished(state) -> jax.Array:
        _, states, _, steps = state
        return (steps < horizon) & ~jnp.all(over[states])

    def step(state):
        key, states, totals, steps = state
        key, draw = jax.random.split(key)
        states = _successors(cumulative, states, jax.random.uniform(draw, states.shape, cumulative.dtype))
        return key, states, totals + reward[states], steps + 1

    _, _, totals, _ = jax.lax.while_loop(unfinished, step, (key, starts, reward[starts], 0))
    means = totals @ mdp.initial
    return SampledReturn(means.mean(), means.std(ddof=1))


def _successors(
    cumulative: Float[Array, "S S"], states: Int[Array, "n S"], uniforms: Float[Array, "n S"]
) -> Int[Array, "n S"]:
    """Sample by inverse transform and bisection.

    The sample is the first successor whose cumulative probability exceeds u.
    """
    size = cumulative.shape[0]
    target = uniforms * cumulative[states, -1]  # The last entry is one up to rounding.

    def halve(_: Int[Array, ""], bounds: tuple[Int[Array, "n S"], Int[Array, "n S"]]):
        low, high = bounds
        middle = (low + high) // 2
        beyond = cumulative[states, middle] > target
        return jnp.where(beyond, low, middle + 1), jnp.where(beyond, middle, high)

    ends = (jnp.zeros_like(states), jnp.full_like(states, size - 1))
    return jax.lax.fori_loop(0, max(size - 1, 1).bit_length(), halve, ends)[0]


@working_precision
def solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Vector, *, transposed: bool = False) -> Vector:
    """Return (I - γ P_π)⁻¹ b, the value of collecting b; transposed, the discounted visits that start from b.

    The result is NaN where the system could not be solved to rounding.
    """
    if not _on_host(mdp, policy, right):
        return _solve_policy(mdp, policy, right, transposed)
    chain = mdp.kernel.chain(policy).to_sparse().toarray()
    matrix = np.eye(mdp.num_states) - np.asarray(mdp.discount) * chain
    return as_float(np.linalg.solve(matrix.T if transposed else matrix, np.asarray(right)))


@jit
def _solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Vector, transposed: bool) -> Vector:
    if mdp.num_states <= MOST_DENSE:
        chain = mdp.kernel.chain(policy).dense()
        matrix = jnp.eye(mdp.num_states, dtype=chain.dtype) - mdp.discount * chain
        return jnp.linalg.solve(matrix.T if transposed else matrix, right)
    solution, _, solved = system(mdp, policy, transposed=transposed).solve(right, right)
    return jnp.where(solved, solution, jnp.nan)


def _on_host(mdp: MDP, *arrays: object) -> bool:
    return mdp.num_states <= MOST_ON_HOST and in_host_memory(mdp, *arrays)


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


def _dot(one: Vector, other: Vector) -> Float[Array, ""]:
    """Return the inner product, on the host where that needs no program for every size."""
    return as_float(np.asarray(one) @ np.asarray(other)) if in_host_memory(one, other) else one @ other


def require_sound(mdp: MDP) -> None:
    """Refuse to measure returns where probability leaks.

    The returns would count the lost mass as zero reward.
    """
    if as_world(mdp).kernel.leaky:
        raise InvalidInputError(
            "returns cannot be measured in a leaky world, whose rows sum to less than 1;"
            " use the environment's evaluation_mdp instead."
        )
