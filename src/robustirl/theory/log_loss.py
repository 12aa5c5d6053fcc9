r"""The log-loss of predicting one policy by another: its saddle point, and its gradient in the reward.

For a policy π of the learner's world with entropies H(π(·|s)) and occupancy ρ_π,

    V_soft^π(s) = E[Σ_t γ^t {R(s_t) + H(π(·|s_t))} | s_0 = s],      largest for the soft-optimal policy,
    H(π)        = (1-γ) E[Σ_t -γ^t log π(a_t|s_t)] = Σ_s ρ_π(s) H(π(·|s)),
    ℓ(π̄, π)     = (1-γ) E[Σ_t -γ^t log π̄(a_t|s_t) | π] >= H(π),    with equality for π̄ = π where π goes.

The appendix on the worst-case log-loss says that over the policies Π̃ that match an occupancy, all of ρ_π = ρ,

    max_π H(π) = max_π min_π̄ ℓ(π̄, π) = min_π̄ max_π ℓ(π̄, π).

Proof that (π*, π*) is a saddle point, π* the matching policy of largest entropy. ℓ(·, π*) is smallest at π*. On Π̃ the
occupancy is ρ, so that Π̃ is convex, H(π) = Σ_s ρ(s) H(π(·|s)) is concave, and ℓ(π̄, ·) is linear. Moving from π* towards
any other π of Π̃ changes H at the rate ℓ(π*, π) - ℓ(π*, π*), which cannot be positive: ℓ(π*, ·) is largest at π*.
If π* is soft-optimal for a reward, as MCE IRL finds it, ℓ(π*, π) is even the same for every π of Π̃.

**The gradient theorem** (appendix: worst-case predictive log-loss).

The cost of a reward R_θ is the discounted log-loss of its soft-optimal policy π_θ, under the actions of any
policy π̃ that matches the expert's occupancy ρ in the learner's world,

    c(θ) = (1-γ) E[Σ_t -γ^t log π_θ(a_t|s_t) | π̃, M^L] = (1-γ) P₀ᵀ V_θ - ρᵀ R_θ,

and its gradient is Σ_s (ρ_θ(s) - ρ(s)) ∇R_θ(s), ρ_θ the occupancy of π_θ: it does not depend on which
matching policy is taken. (The paper states it for the cost without the factor 1-γ, with normalized
occupancies; the two differ by that factor.)
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float

from robustirl._jax import jit, working_precision
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.policy import as_policy, as_reward
from robustirl.planning import solve, state_occupancy
from robustirl.planning.evaluation import solve_policy, state_action_occupancy
from robustirl.planning.operators import soft_backup
from robustirl.types import ArrayLike


@working_precision
def soft_policy_value(mdp: MDP, policy: ArrayLike, reward: ArrayLike) -> Float[Array, " S"]:
    """Return V_soft^π, the discounted reward and entropy a policy collects from every state.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> soft_policy_value(world, [[0.5, 0.5]], [1.0]).round(6).tolist()  # (1 + log 2) / (1 - γ)
        [3.386294]
        >>> soft_policy_value(world, [[1.0, 0.0]], [1.0]).tolist()
        [2.0]
    """
    return _value(mdp, as_policy(policy, mdp), as_reward(reward, mdp))


@jit
def _value(mdp: MDP, policy: Float[Array, "S A"], reward: Float[Array, " S"]) -> Float[Array, " S"]:
    return solve_policy(mdp, policy, reward + entr(policy).sum(-1))


@working_precision
def causal_entropy(mdp: MDP, policy: ArrayLike) -> Float[Array, ""]:
    """Return H(π), the normalized discounted causal entropy of a policy.

    It is the objective of MCE IRL.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.9)
        >>> round(causal_entropy(world, [[0.5, 0.5]]).item(), 6)
        0.693147
    """
    checked = as_policy(policy, mdp)
    return state_occupancy(mdp, checked) @ entr(checked).sum(-1)


@working_precision
def predictive_log_loss(mdp: MDP, predictor: ArrayLike, policy: ArrayLike) -> Float[Array, ""]:
    """Return ℓ(π̄, π), the log-loss of predicting a policy's actions by another's.

    It is infinite if one of the actions was ruled out.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.9)
        >>> round(predictive_log_loss(world, [[0.25, 0.75]], [[1.0, 0.0]]).item(), 6)  # log 4
        1.386294
    """
    weights = state_action_occupancy(mdp, as_policy(policy, mdp))
    losses = -jnp.log(as_policy(predictor, mdp))
    return jnp.sum(jnp.where(weights > 0, weights * losses, 0))


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


@jit
def _solved(mdp: MDP, reward: Float[Array, " S"]) -> Float[Array, " S"]:
    return solve(MarkovGame(mdp), reward).value
