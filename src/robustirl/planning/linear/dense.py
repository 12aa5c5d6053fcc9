"""Systems with I - γ P_π: solving with it evaluates a policy, with its transpose gives the discounted occupancy.

`solve_policy` and `solve_policy_transpose` solve once. `PolicyInverse` is for methods that solve with many
slightly different policies: small worlds keep the inverse for one of them as a matrix, which corrects the others'
residuals for the price of a matrix-vector product. Large worlds never allocate an S x S matrix. They keep nothing, and
solve anew by a Krylov method (`krylov.py`).

Every use corrects a residual that is itself computed exactly, so that an inexact inverse costs steps, not accuracy.
`solve_policy` returns NaN rather than an unconverged solution.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve
from jaxtyping import Array, Bool, Float

from robustirl._runtime import BoundedJit, working_precision
from robustirl.mdp import MDP, concrete, in_host_memory
from robustirl.planning.linear.krylov import solve_chain
from robustirl.planning.padding import PLANNING_SIZES, cut, extended, pad_policy, pad_world

LARGEST_MATRIX = 200  # States. Beyond, an inverse costs more than it saves.


def policy_system(mdp: MDP, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
    """Return I - γ P_π. Its inverse has norm at most 1/(1-γ), so it is never singular."""
    chain = mdp.kernel.policy_matrix(policy)
    if concrete(chain, mdp.discount) and jax.default_backend() == "cpu":  # Without five programs for every size.
        system = np.eye(mdp.num_states, dtype=chain.dtype) - np.asarray(mdp.discount) * np.asarray(chain)
        return jax.device_put(system)
    return jnp.eye(mdp.num_states, dtype=chain.dtype) - mdp.discount * chain


@working_precision
def solve_policy(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """Return (I - γ P_π)⁻¹ b: the value of collecting b in every state."""
    return _solve_once(mdp, policy, right, transposed=False)


def solve_policy_transpose(mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"]) -> Float[Array, " S"]:
    """Return (I - γ P_πᵀ)⁻¹ b: the discounted visits that start from b."""
    return _solve_once(mdp, policy, right, transposed=True)


def _solve_once(
    mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"], *, transposed: bool
) -> Float[Array, " S"]:
    """Solve in a world of a common shape, so that worlds of many sizes are few programs."""
    if concrete(mdp, policy, right):
        world = pad_world(mdp, PLANNING_SIZES)
        if world is not mdp:
            further = extended(right, world.mask.shape[:1])
            return cut(_solve_once(world, pad_policy(policy, world), further, transposed=transposed), right.shape)
    if not writes_matrices(mdp):
        return _solve_large(mdp, policy, right, transposed)
    system = policy_system(mdp, policy)
    if in_host_memory(system, right):
        return jax.device_put(_solve_on_host(np.asarray(system), np.asarray(right), transposed))
    return lu_solve(lu_factor(system), right, trans=int(transposed))


def _solve_on_host(
    system: Float[np.ndarray, "S S"], right: Float[np.ndarray, " S"], transposed: bool
) -> Float[np.ndarray, " S"]:
    """Solve by the calls of LAPACK and BLAS that JAX makes on a CPU.

    The result has the same bits. It needs no compiled program for each size.
    """
    import scipy.linalg  # Here, so that `import robustirl` stays light.

    factors, swaps = scipy.linalg.lu_factor(system, check_finite=False)
    order = np.arange(len(right))
    for row, other in enumerate(swaps):
        order[[row, other]] = order[[other, row]]
    (solve_triangle,) = scipy.linalg.get_blas_funcs(("trsm",), (factors,))
    lower, upper = {"lower": 1, "diag": 1}, {"lower": 0, "diag": 0}
    if not transposed:
        found = solve_triangle(1.0, factors, right[order, None], **lower)
        return solve_triangle(1.0, factors, found, **upper)[:, 0]
    found = solve_triangle(1.0, factors, right[:, None], trans_a=1, **upper)
    found = solve_triangle(1.0, factors, found, trans_a=1, **lower)[:, 0]
    return found[np.argsort(order)]


def writes_matrices(mdp: MDP) -> bool:
    """Return whether this world is small enough to be solved with the inverse of a matrix."""
    return mdp.num_states <= LARGEST_MATRIX


@BoundedJit
def _solve_large(
    mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"], transposed: bool
) -> Float[Array, " S"]:
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])
    solution, _, solved = solve_chain(chain, mdp.discount, right, right, transposed=transposed)
    return jnp.where(solved, solution, jnp.nan)


def solve_policy_roughly(
    mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"], share: float, *, transposed: bool = False
) -> Float[Array, " S"]:
    """Solve with (I - γ P_π), or its transpose, up to a share of b; exactly in small worlds.

    This is for compiled code. The share is that of the largest entry of b, or for the transpose of the sum of its
    magnitudes.
    """
    if writes_matrices(mdp):
        return _solve_once(mdp, policy, right, transposed=transposed)
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])
    goal = share * (jnp.sum if transposed else jnp.max)(jnp.abs(right))
    return solve_chain(chain, mdp.discount, right, right, goal, transposed=transposed)[0]


class PolicyInverse(eqx.Module):
    """The inverse (I - γ P_π)⁻¹ of one policy as a matrix.

    It corrects residuals of that policy and of its neighbors.
    """

    matrix: Float[Array, "S S"]

    def apply(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return the correction of a value whose Bellman equation is off by `residual`."""
        return self.matrix @ residual

    def apply_transpose(self, residual: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return the correction of an occupancy whose flow equation is off by `residual`."""
        return residual @ self.matrix


@working_precision
def invert_policy(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyInverse | None:
    """Return the inverse for a policy, or None in a world that is too large for one."""
    return invert_matrix(mdp, policy) if writes_matrices(mdp) else None


def invert_matrix(mdp: MDP, policy: Float[Array, "S A"]) -> PolicyInverse:
    """Return the inverse for a policy, whatever the size of the world."""
    return PolicyInverse(jnp.linalg.inv(policy_system(mdp, policy)))


STRAIGHT = 2  # Steps taken before the first test whether they were enough, on devices that update by products.
UPDATE_MAX_ERROR = 0.5  # The largest ‖I - A X‖ of an old inverse X that is updated, as a share of that of X = 0.


def use_matmul_updates() -> bool:
    """Return whether this device multiplies small matrices much faster than it factors them.

    GPUs do.
    """
    return jax.default_backend() != "cpu"


def renew_inverse(
    mdp: MDP, policy: Float[Array, "S A"], old: PolicyInverse | None, *, matmul_updates: bool | None = None
) -> PolicyInverse:
    """Return the inverse for a policy, perhaps from that of a neighboring one.

    A GPU multiplies many small matrices in less time than it takes to start factoring them. There an old inverse X is
    updated to X + X (I - A X), which squares its error (Schulz, 1933), and matrices are factored only when it is too
    far off; in a batch, when any member's is.

    Args:
        mdp: The world.
        policy: π.
        old: The inverse to start from, if there is one.
        matmul_updates: Whether to try products first. If omitted, on all devices but CPUs.
    """
    if old is None or not (use_matmul_updates() if matmul_updates is None else matmul_updates):
        return invert_matrix(mdp, policy)
    fresher, close, system = newton_schulz_update(mdp, policy, old)
    # A loop, not a condition: in a batch both sides of a condition are computed, but a loop may not run at all.
    _, matrix = jax.lax.while_loop(
        lambda state: ~state[0], lambda _: (jnp.asarray(True), jnp.linalg.inv(system)), (close, fresher.matrix)
    )
    return PolicyInverse(matrix)


def newton_schulz_update(
    mdp: MDP, policy: Float[Array, "S A"], old: PolicyInverse
) -> tuple[PolicyInverse, Bool[Array, ""], Float[Array, "S S"]]:
    """Return X + X (I - A X), whether the old inverse X was close enough to try that, and A.

    The update may be worse than X, where some direction is off by more than itself. A step made with it then fails to
    bring a residual down, and is not taken.
    """
    system = policy_system(mdp, policy)
    fault = jnp.eye(mdp.num_states, dtype=system.dtype) - system @ old.matrix
    close = jnp.linalg.norm(fault) <= UPDATE_MAX_ERROR * mdp.num_states**0.5
    return PolicyInverse(old.matrix + old.matrix @ fault), close, system


@working_precision
def refine_occupancy(
    mdp: MDP,
    policy: Float[Array, "S A"],
    inverse: PolicyInverse | None,
    start: Float[Array, " S"],
    tolerance: Float[Array, ""],
    matmul_updates: bool | None = None,
    rough: bool = False,
) -> tuple[Float[Array, " S"], PolicyInverse | None, Bool[Array, ""]]:
    """Return the occupancy of a policy, from a guess and the inverse for a neighboring policy.

    The inverse may be None. Every correction must at least halve the defect of the flow equation
    ρ = (1-γ) P₀ + γ P_πᵀ ρ; when one does not, the inverse is renewed for this policy. Also returns the inverse in use
    at the end, and whether the error ‖ρ - ρ*‖₁ <= defect / (1-γ) is within the tolerance.

    With `matmul_updates` (by device if omitted) the first corrections are made without a test: to decide
    whether a loop goes on, a GPU must wait for the host, which takes longer than a correction. `rough` says that the
    tolerance is one of few digits; it counts where there is no inverse.
    """
    by_products = use_matmul_updates() if matmul_updates is None else matmul_updates
    goal = tolerance * (1 - mdp.discount)
    chain = mdp.kernel.chain([policy[:, a] for a in range(mdp.num_actions)])
    source = (1 - mdp.discount) * mdp.initial
    if inverse is None:
        occupancy, left, _ = solve_chain(chain, mdp.discount, source, start, goal, transposed=True, rough=rough)
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

    def renewed(state, matmul_updates: bool):
        """Make a better inverse and its corrections, where they are needed.

        This is a loop for the sake of batches.
        """

        def attempt(state):
            (occupancy, fault), inverse, _ = state
            newest = renew_inverse(mdp, policy, inverse, matmul_updates=matmul_updates)
            occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), newest)
            return (occupancy, fault), newest, jnp.asarray(False)

        needed = size(state[0][1]) > goal
        found, newest, _ = jax.lax.while_loop(lambda s: s[2], attempt, (*state, needed))
        return found, newest

    state = start, defect(start), jnp.asarray(True)
    if not by_products:
        occupancy, fault, _ = corrected(state, inverse)
        (occupancy, fault), newest = renewed(((occupancy, fault), inverse), matmul_updates=False)
        return jnp.maximum(occupancy, 0), newest, size(fault) <= goal
    for _ in range(STRAIGHT):
        state = correct(state, inverse)

    def refine_until_converged(state):
        """Correct further, then with a better inverse, then with an exact one, as far as needed."""
        (occupancy, fault), inverse, _ = state
        occupancy, fault, _ = corrected((occupancy, fault, jnp.asarray(True)), inverse)
        found = renewed(renewed(((occupancy, fault), inverse), matmul_updates=True), matmul_updates=False)
        return *found, jnp.asarray(False)

    occupancy, fault, _ = state
    (occupancy, fault), newest, _ = jax.lax.while_loop(
        lambda s: s[2], refine_until_converged, ((occupancy, fault), inverse, size(fault) > goal)
    )
    return jnp.maximum(occupancy, 0), newest, size(fault) <= goal
