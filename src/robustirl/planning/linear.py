"""(I - γ P_π), the matrix of the whole subject: solving with it evaluates a policy, and solving with its
transpose gives the discounted occupancy.

`solve_policy` and `solve_policy_transpose` are direct solves. `PolicyInverse` is for methods that solve
with many slightly different policies: the inverse for one of them, kept as a matrix, corrects the others'
residuals at the price of a matrix-vector product, which beats factoring anew by a factor of the size.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Bool, Float

from robustirl.mdp import MDP


def policy_system(mdp: MDP, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
    """I - γ P_π. Its inverse has norm at most 1/(1-γ), so it is never singular."""
    chain = mdp.kernel.policy_matrix(policy)
    return jnp.eye(mdp.num_states, dtype=chain.dtype) - mdp.discount * chain


def solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_π)⁻¹ b: the value of collecting b in every state."""
    return lu_solve(lu_factor(policy_system(mdp, policy)), right)


def solve_policy_transpose(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_πᵀ)⁻¹ b: the discounted visits that start from b."""
    return lu_solve(lu_factor(policy_system(mdp, policy)), right, trans=1)


class PolicyInverse(eqx.Module):
    """(I - γ P_π)⁻¹ of one policy, to correct residuals of that policy and of its neighbours."""

    matrix: Float[Array, "S S"]

    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of a value whose Bellman equation is off by `residual`."""
        return self.matrix @ residual

    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of an occupancy whose flow equation is off by `residual`."""
        return residual @ self.matrix


def invert_policy(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyInverse:
    """The inverse for a policy."""
    return PolicyInverse(jnp.linalg.inv(policy_system(mdp, policy)))


def refine_occupancy(
    mdp: MDP,
    policy: Float[Array, "S A"],
    inverse: PolicyInverse,
    start: Float[Array, " S"],
    tolerance: Float[Array, ""],
) -> tuple[Float[Array, " S"], PolicyInverse, Bool[Array, ""]]:
    """The occupancy of a policy, from a guess and the inverse for a neighbouring policy.

    Every correction must at least halve the defect of the flow equation ρ = (1-γ) P₀ + γ P_πᵀ ρ; when one does not,
    the inverse is renewed for this very policy. Also returns the inverse in use at the end, and whether
    the error ‖ρ - ρ*‖₁ <= defect / (1-γ) is within the tolerance.
    """
    chain = mdp.kernel.policy_matrix(policy)

    def defect(occupancy: Float[Array, " S"]) -> Float[Array, " S"]:
        arriving = occupancy @ chain
        return (1 - mdp.discount) * mdp.initial + mdp.discount * arriving - occupancy

    def size(fault: Float[Array, " S"]) -> Float[Array, ""]:
        return jnp.abs(fault).sum()

    goal = tolerance * (1 - mdp.discount)

    def correct(state, inverse: PolicyInverse):
        occupancy, fault, _ = state
        trial = occupancy + inverse.apply_transpose(fault)
        left = defect(trial)
        better = size(left) <= size(fault) / 2
        return jnp.where(better, trial, occupancy), jnp.where(better, left, fault), better

    def corrected(state, inverse: PolicyInverse):
        return jax.lax.while_loop(lambda s: s[2] & (size(s[1]) > goal), lambda s: correct(s, inverse), state)

    occupancy, fault, _ = corrected((start, defect(start), jnp.asarray(True)), inverse)
    inverse = jax.lax.cond(size(fault) > goal, lambda: invert_policy(mdp, policy), lambda: inverse)
    occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), inverse)
    return jnp.maximum(occupancy, 0), inverse, size(fault) <= goal
