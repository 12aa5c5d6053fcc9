r"""The gradient theorem (appendix: worst-case predictive log-loss).

The cost of a reward R_θ is the discounted log-loss of its soft-optimal policy π_θ, under the actions of any
policy π̃ that matches the expert's occupancy ρ in the learner's world,

    c(θ) = (1-γ) E[Σ_t -γ^t log π_θ(a_t|s_t) | π̃, M^L] = (1-γ) P₀ᵀ V_θ - ρᵀ R_θ,

and its gradient is Σ_s (ρ_θ(s) - ρ(s)) ∇R_θ(s), ρ_θ the occupancy of π_θ: it does not depend on which
matching policy is taken. (The paper states it for the cost without the factor 1-γ, with normalized
occupancies; the two differ by that factor.)
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl._runtime import BoundedJit, working_precision
from robustirl.mdp import MDP, MarkovGame, as_policy, as_reward
from robustirl.planning import soft_backup, solve, solve_policy, state_action_occupancy, state_occupancy
from robustirl.types import ArrayLike


@working_precision
def log_loss(mdp: MDP, reward: ArrayLike, matching_policy: ArrayLike) -> Float[Array, ""]:
    """Return c(θ), the normalized discounted log-loss of the soft-optimal policy.

    It is differentiable in the reward.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.9)
        >>> round(log_loss(world, [0.0], [[0.5, 0.5]]).item(), 6)  # log 2, the entropy of a coin
        0.693147
    """
    weights = state_action_occupancy(mdp, matching_policy)
    value = soft_value(mdp, as_reward(reward, mdp))
    q = as_reward(reward, mdp)[:, None] + mdp.discount * mdp.kernel.expect(value)
    return jnp.sum(weights * jnp.where(mdp.mask, value[:, None] - q, 0))


@working_precision
def log_loss_gradient(mdp: MDP, reward: ArrayLike, matching_policy: ArrayLike) -> Float[Array, " S"]:
    """∇c in the reward, by the theorem: ρ_θ - ρ."""
    soft = solve(MarkovGame(mdp), reward).player
    return state_occupancy(mdp, soft) - state_occupancy(mdp, as_policy(matching_policy, mdp))


@working_precision
def soft_value(mdp: MDP, reward: Float[Array, " S"]) -> Float[Array, " S"]:
    """V^soft, differentiable in the reward by the implicit function theorem.

    One Newton step from the solution changes nothing but carries the derivative: with V held fixed,
    d{V + (I - γP)⁻¹ (B(V) - V)} = (I - γP)⁻¹ dR.
    """
    fixed = jax.lax.stop_gradient(reward)
    solved = jax.lax.stop_gradient(_solved(mdp, fixed))
    updated, policy = soft_backup(mdp, reward, solved)
    return solved + solve_policy(mdp, jax.lax.stop_gradient(policy), updated - solved)


@BoundedJit
def _solved(mdp: MDP, reward: Float[Array, " S"]) -> Float[Array, " S"]:
    return solve(MarkovGame(mdp), reward).value
