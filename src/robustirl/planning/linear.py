"""(I - γ P_π), the matrix of the whole subject: solving with it evaluates a policy, and solving with its
transpose gives the discounted occupancy.

`solve_policy` and `solve_policy_transpose` solve once. `AbstractInverse` is for methods that solve with many
slightly different policies. Small worlds keep the inverse for one of them as a matrix, which corrects the others'
residuals at the price of a matrix-vector product and beats factoring anew by a factor of the size. Large ones on
lists of successors never write down an S x S matrix: they solve by GMRES (Saad and Schultz, 1986), which needs P_π
only as a function, and unlike BiCGStab never breaks down. Every use corrects a residual that is itself computed
exactly, so what a solver leaves undone costs steps, not accuracy; where there is nobody to notice, `solve_policy`
answers with NaN rather than with an unconverged solution.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import lu_factor, lu_solve
from jax.scipy.sparse.linalg import gmres
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import MDP, DenseKernel


def policy_system(mdp: MDP, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
    """I - γ P_π. Its inverse has norm at most 1/(1-γ), so it is never singular."""
    chain = mdp.kernel.policy_matrix(policy)
    return jnp.eye(mdp.num_states, dtype=chain.dtype) - mdp.discount * chain


def solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_π)⁻¹ b: the value of collecting b in every state."""
    if not writes_matrices(mdp):
        return _krylov(_forward(mdp, policy), right, _TIGHT * float(jnp.finfo(right.dtype).eps))
    return lu_solve(lu_factor(policy_system(mdp, policy)), right)


def solve_policy_transpose(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_πᵀ)⁻¹ b: the discounted visits that start from b."""
    if not writes_matrices(mdp):
        return _krylov(_backward(mdp, policy), right, _TIGHT * float(jnp.finfo(right.dtype).eps))
    return lu_solve(lu_factor(policy_system(mdp, policy)), right, trans=1)


LARGEST_MATRIX = 1000  # States; a matrix of lists is worth writing down only for small worlds.
FORCING = 1e-2  # How far one Krylov solve brings a residual down; the steps around it do the rest.
SUBSPACE = 20  # Vectors that GMRES keeps before it starts again.
MOST_ITERATIONS = 100  # Of that many vectors each.
MOST_RESTARTS = 20
_TIGHT = 16  # Times eps, relative to right-hand side and solution, in the 2-norm.


def writes_matrices(mdp: MDP) -> bool:
    """Whether this world is solved with S x S matrices: if its kernel is an array anyway, or if it is small."""
    return isinstance(mdp.kernel, DenseKernel) or mdp.num_states <= LARGEST_MATRIX


Operator = Callable[[Float[Array, " S"]], Float[Array, " S"]]


def _forward(mdp: MDP, policy: Float[Array, "S A"]) -> Operator:
    return lambda value: value - mdp.discount * (policy * mdp.kernel.expect(value)).sum(-1)


def _backward(mdp: MDP, policy: Float[Array, "S A"]) -> Operator:
    return lambda measure: measure - mdp.discount * mdp.kernel.push(measure[:, None] * policy)


def _gmres(operator: Operator, right: Float[Array, " S"], tolerance: float) -> Float[Array, " S"]:
    return gmres(
        operator,
        right,
        tol=tolerance,
        restart=SUBSPACE,
        maxiter=MOST_ITERATIONS,
        solve_method="batched",
    )[0]


def _krylov(operator: Operator, right: Float[Array, " S"], tolerance: float) -> Float[Array, " S"]:
    """Solve to a relative tolerance by GMRES, restarted from its own answer; NaN where that does not do it."""

    def solved(solution: Float[Array, " S"]) -> Bool[Array, ""]:
        # Rounding leaves a residual of some eps times what goes into it, the solution as well as the right-hand side.
        sizes = jnp.linalg.norm(right) + jnp.linalg.norm(solution)
        return jnp.linalg.norm(right - operator(solution)) <= tolerance * sizes

    def restart(state: tuple[Float[Array, " S"], Int[Array, ""]]) -> tuple[Float[Array, " S"], Int[Array, ""]]:
        solution, count = state
        rest = right - operator(solution)
        return solution + _gmres(operator, rest, 1e-8), count + 1

    def unfinished(state: tuple[Float[Array, " S"], Int[Array, ""]]) -> Bool[Array, ""]:
        return ~solved(state[0]) & (state[1] < MOST_RESTARTS)

    solution, _ = jax.lax.while_loop(unfinished, restart, (jnp.zeros_like(right), jnp.asarray(0)))
    return jnp.where(solved(solution), solution, jnp.nan)


class AbstractInverse(eqx.Module):
    """(I - γ P_π)⁻¹ of one policy, to correct residuals of that policy and of its neighbours."""

    @property
    @abc.abstractmethod
    def free(self) -> bool:
        """Whether one for another policy comes at no cost, so that there is no point in keeping this one."""

    @abc.abstractmethod
    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of a value whose Bellman equation is off by `residual`."""

    @abc.abstractmethod
    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of an occupancy whose flow equation is off by `residual`."""


class PolicyInverse(AbstractInverse):
    """The inverse as a matrix."""

    matrix: Float[Array, "S S"]

    @property
    def free(self) -> bool:
        return False

    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.matrix @ residual

    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        return residual @ self.matrix


class KrylovInverse(AbstractInverse):
    """The inverse as what GMRES makes of it, to a fixed share of the residual."""

    mdp: MDP
    policy: Float[Array, "S A"]

    @property
    def free(self) -> bool:
        return True

    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        return _gmres(_forward(self.mdp, self.policy), residual, FORCING)

    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        return _gmres(_backward(self.mdp, self.policy), residual, FORCING)


def invert_policy(mdp: MDP, policy: Float[Array, "S A"]) -> AbstractInverse:
    """The inverse for a policy."""
    if writes_matrices(mdp):
        return PolicyInverse(jnp.linalg.inv(policy_system(mdp, policy)))
    return KrylovInverse(mdp, policy)


def refine_occupancy(
    mdp: MDP,
    policy: Float[Array, "S A"],
    inverse: AbstractInverse,
    start: Float[Array, " S"],
    tolerance: Float[Array, ""],
) -> tuple[Float[Array, " S"], AbstractInverse, Bool[Array, ""]]:
    """The occupancy of a policy, from a guess and the inverse for a neighbouring policy.

    Every correction must at least halve the defect of the flow equation ρ = (1-γ) P₀ + γ P_πᵀ ρ; when one does not,
    the inverse is renewed for this very policy. Also returns the inverse in use at the end, and whether
    the error ‖ρ - ρ*‖₁ <= defect / (1-γ) is within the tolerance.
    """
    # An array is gone through once for all corrections; lists are short enough to go through every time.
    chain = mdp.kernel.policy_matrix(policy) if isinstance(mdp.kernel, DenseKernel) else None

    def defect(occupancy: Float[Array, " S"]) -> Float[Array, " S"]:
        arriving = mdp.kernel.push(occupancy[:, None] * policy) if chain is None else occupancy @ chain
        return (1 - mdp.discount) * mdp.initial + mdp.discount * arriving - occupancy

    def size(fault: Float[Array, " S"]) -> Float[Array, ""]:
        return jnp.abs(fault).sum()

    goal = tolerance * (1 - mdp.discount)

    def correct(state, inverse: AbstractInverse):
        occupancy, fault, _ = state
        trial = occupancy + inverse.apply_transpose(fault)
        left = defect(trial)
        better = size(left) <= size(fault) / 2
        return jnp.where(better, trial, occupancy), jnp.where(better, left, fault), better

    def corrected(state, inverse: AbstractInverse):
        return jax.lax.while_loop(lambda s: s[2] & (size(s[1]) > goal), lambda s: correct(s, inverse), state)

    if inverse.free:
        inverse = invert_policy(mdp, policy)
    occupancy, fault, _ = corrected((start, defect(start), jnp.asarray(True)), inverse)
    if inverse.free:
        return jnp.maximum(occupancy, 0), inverse, size(fault) <= goal
    inverse = jax.lax.cond(size(fault) > goal, lambda: invert_policy(mdp, policy), lambda: inverse)
    occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), inverse)
    return jnp.maximum(occupancy, 0), inverse, size(fault) <= goal
