"""(I - γ P_π), the matrix of the whole subject, factored once and used often.

Solving with it evaluates a policy and takes a Newton step; solving with its transpose gives the
discounted occupancy. All three share one LU factorisation.
"""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Float, Int

from robustirl.mdp import MDP


class PolicyFactor(eqx.Module):
    """The LU factors of I - γ P_π. Its inverse has norm at most 1/(1-γ), so it is never singular."""

    lu: Float[Array, "S S"]
    pivots: Int[Array, " S"]

    def solve(self, right: Float[Array, " S"]) -> Float[Array, " S"]:
        """(I - γ P_π)⁻¹ b: the value of collecting b in every state."""
        return lu_solve((self.lu, self.pivots), right)

    def solve_transpose(self, right: Float[Array, " S"]) -> Float[Array, " S"]:
        """(I - γ P_πᵀ)⁻¹ b: the discounted visits that start from b."""
        return lu_solve((self.lu, self.pivots), right, trans=1)


def factor_policy(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyFactor:
    """Factor I - γ P_π of a policy in a world."""
    chain = mdp.kernel.policy_matrix(policy)
    identity = jnp.eye(mdp.num_states, dtype=chain.dtype)
    return PolicyFactor(*lu_factor(identity - mdp.discount * chain))
