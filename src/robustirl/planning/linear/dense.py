"""(I - γ P_π), the matrix of the whole subject: solving with it evaluates a policy, and solving with its
transpose gives the discounted occupancy.

`solve_policy` and `solve_policy_transpose` solve once. `PolicyInverse` is for methods that solve with many
slightly different policies: small worlds keep the inverse for one of them as a matrix, which corrects the others'
residuals at the price of a matrix-vector product and beats factoring anew by a factor of the size. Large worlds never
write down an S x S matrix. They keep nothing, and solve anew by a Krylov method (`krylov.py`).

Every use corrects a residual that is itself computed exactly, so what a solver leaves undone costs steps, not accuracy;
where there is nobody to notice, `solve_policy` answers with NaN rather than with an unconverged solution.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Bool, Float

from robustirl._runtime import working_precision
from robustirl.mdp import MDP
from robustirl.planning.linear.krylov import solve_chain

LARGEST_MATRIX = 200  # States; beyond, an inverse costs more than it saves.


def policy_system(mdp: MDP, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
    """I - γ P_π. Its inverse has norm at most 1/(1-γ), so it is never singular."""
    chain = mdp.kernel.policy_matrix(policy)
    return jnp.eye(mdp.num_states, dtype=chain.dtype) - mdp.discount * chain


@working_precision
def solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_π)⁻¹ b: the value of collecting b in every state."""
    if not writes_matrices(mdp):
        return _solve_large(mdp, policy, right, transposed=False)
    return lu_solve(lu_factor(policy_system(mdp, policy)), right)


def solve_policy_transpose(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """(I - γ P_πᵀ)⁻¹ b: the discounted visits that start from b."""
    if not writes_matrices(mdp):
        return _solve_large(mdp, policy, right, transposed=True)
    return lu_solve(lu_factor(policy_system(mdp, policy)), right, trans=1)


def writes_matrices(mdp: MDP) -> bool:
    """Whether this world is solved with the inverse of a matrix: if it is small."""
    return mdp.num_states <= LARGEST_MATRIX


@eqx.filter_jit
def _solve_large(
    mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"], *, transposed: bool
) -> Float[Array, " S"]:
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])
    solution, _, solved = solve_chain(chain, mdp.discount, right, right, transposed=transposed)
    return jnp.where(solved, solution, jnp.nan)


class PolicyInverse(eqx.Module):
    """(I - γ P_π)⁻¹ of one policy as a matrix, to correct residuals of that policy and of its neighbours."""

    matrix: Float[Array, "S S"]

    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of a value whose Bellman equation is off by `residual`."""
        return self.matrix @ residual

    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """The correction of an occupancy whose flow equation is off by `residual`."""
        return residual @ self.matrix


@working_precision
def invert_policy(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyInverse | None:
    """The inverse for a policy; none in a world that is too large for one."""
    return invert_matrix(mdp, policy) if writes_matrices(mdp) else None


def invert_matrix(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyInverse:
    """The inverse for a policy, whatever the size of the world."""
    return PolicyInverse(jnp.linalg.inv(policy_system(mdp, policy)))


STRAIGHT = 2  # Steps a device that prefers products takes before it looks whether they were enough.
SQUARED = 0.5  # How far off an old inverse may be to be squared: ‖I - A X‖, as a share of what no inverse at all has.


def prefers_products() -> bool:
    """Whether this device multiplies small matrices much faster than it factors them, as GPUs do."""
    return jax.default_backend() != "cpu"


def renew_inverse(
    mdp: MDP, policy: Float[Array, "S A"], old: PolicyInverse | None, *, products: bool | None = None
) -> PolicyInverse:
    """The inverse for a policy, perhaps from that of a neighbouring one.

    A GPU multiplies many small matrices in less time than it takes to start factoring them. There an old inverse X is
    brought up to date by X + X (I - A X), which squares its error (Schulz, 1933), and matrices are factored only when
    it is too far off; in a batch, when any member's is.

    Args:
        mdp: The world.
        policy: π.
        old: The inverse to start from, if there is one.
        products: Whether to try products first; on anything but a processor, when left out.
    """
    if old is None or not (prefers_products() if products is None else products):
        return invert_matrix(mdp, policy)
    fresher, close, system = squared_inverse(mdp, policy, old)
    # A loop, not a condition: in a batch both sides of a condition are worked out, but a loop may not run at all.
    _, matrix = jax.lax.while_loop(
        lambda state: ~state[0], lambda _: (jnp.asarray(True), jnp.linalg.inv(system)), (close, fresher.matrix)
    )
    return PolicyInverse(matrix)


def squared_inverse(
    mdp: MDP, policy: Float[Array, "S A"], old: PolicyInverse
) -> tuple[PolicyInverse, Bool[Array, ""], Float[Array, "S S"]]:
    """Schulz's X + X (I - A X), whether the old inverse was close enough for that to be worth a try, and A itself.

    What is tried may be worse still, where some direction is off by more than itself. A step made with it then fails to
    bring a residual down, and is not taken.
    """
    system = policy_system(mdp, policy)
    fault = jnp.eye(mdp.num_states, dtype=system.dtype) - system @ old.matrix
    close = jnp.linalg.norm(fault) <= SQUARED * mdp.num_states**0.5
    return PolicyInverse(old.matrix + old.matrix @ fault), close, system


@working_precision
def refine_occupancy(
    mdp: MDP,
    policy: Float[Array, "S A"],
    inverse: PolicyInverse | None,
    start: Float[Array, " S"],
    tolerance: Float[Array, ""],
    products: bool | None = None,
) -> tuple[Float[Array, " S"], PolicyInverse | None, Bool[Array, ""]]:
    """The occupancy of a policy, from a guess and the inverse for a neighbouring policy, if there is one.

    Every correction must at least halve the defect of the flow equation ρ = (1-γ) P₀ + γ P_πᵀ ρ; when one does not,
    the inverse is renewed for this very policy. Also returns the inverse in use at the end, and whether
    the error ‖ρ - ρ*‖₁ <= defect / (1-γ) is within the tolerance.

    Where `products` are preferred (by device when left out) the first corrections are made without looking: to decide
    whether a loop goes on, a GPU must wait for the host, which takes longer than a correction.
    """
    products = prefers_products() if products is None else products
    goal = tolerance * (1 - mdp.discount)
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])
    source = (1 - mdp.discount) * mdp.initial
    if inverse is None:
        occupancy, left, _ = solve_chain(chain, mdp.discount, source, start, goal, transposed=True)
        return jnp.maximum(occupancy, 0), None, left <= goal

    def defect(occupancy: Float[Array, " S"]) -> Float[Array, " S"]:
        return source + mdp.discount * chain.push(occupancy) - occupancy

    def size(fault: Float[Array, " S"]) -> Float[Array, ""]:
        return jnp.abs(fault).sum()

    def correct(state, inverse: PolicyInverse):
        occupancy, fault, _ = state
        trial = occupancy + inverse.apply_transpose(fault)
        left = defect(trial)
        better = size(left) <= size(fault) / 2
        return jnp.where(better, trial, occupancy), jnp.where(better, left, fault), better

    def corrected(state, inverse: PolicyInverse):
        return jax.lax.while_loop(lambda s: s[2] & (size(s[1]) > goal), lambda s: correct(s, inverse), state)

    def renewed(state, products: bool):
        """A better inverse and its corrections, where they are needed; as a loop, for the sake of batches."""

        def attempt(state):
            (occupancy, fault), inverse, _ = state
            newest = renew_inverse(mdp, policy, inverse, products=products)
            occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), newest)
            return (occupancy, fault), newest, jnp.asarray(False)

        needed = size(state[0][1]) > goal
        found, newest, _ = jax.lax.while_loop(lambda s: s[2], attempt, (*state, needed))
        return found, newest

    state = start, defect(start), jnp.asarray(True)
    if not products:
        occupancy, fault, _ = corrected(state, inverse)
        (occupancy, fault), newest = renewed(((occupancy, fault), inverse), products=False)
        return jnp.maximum(occupancy, 0), newest, size(fault) <= goal
    for _ in range(STRAIGHT):
        state = correct(state, inverse)

    def thoroughly(state):
        """More of the same, then a better inverse, then an exact one; each only as far as the last did not suffice."""
        (occupancy, fault), inverse, _ = state
        occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), inverse)
        found = renewed(renewed(((occupancy, fault), inverse), products=True), products=False)
        return *found, jnp.asarray(False)

    occupancy, fault, _ = state
    (occupancy, fault), newest, _ = jax.lax.while_loop(
        lambda s: s[2], thoroughly, ((occupancy, fault), inverse, size(fault) > goal)
    )
    return jnp.maximum(occupancy, 0), newest, size(fault) <= goal
