r"""The soft value of a policy, its causal entropy, and the log-loss of predicting one policy by another.

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
"""

import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float

from robustirl._runtime import BoundedJit, working_precision
from robustirl.mdp import MDP, as_policy, as_reward
from robustirl.planning import solve_policy, state_action_occupancy, state_occupancy
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


@BoundedJit
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
