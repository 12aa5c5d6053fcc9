r"""Newton's method with sparse factorizations, on the processor: for discounts very close to 1.

Near γ = 1 a Krylov method needs as many products as the world is long, and loses digits on the way. A factorization
of I - γ P does not depend on γ. SuperLU (through SciPy) is used where a world is nearly planar, as grids are, so that
the factors stay sparse. The loop runs in Python: SuperLU cannot be compiled into a JAX program.

Rank-one noise P = B + w uᵀ is not written out but added by the Sherman-Morrison formula.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import BoundedJit
from robustirl.errors import InvalidInputError
from robustirl.mdp import AbstractChain, concrete
from robustirl.planning.columns import ColumnGame, column_game
from robustirl.planning.iterates import Iterate, Progress
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.base import NEWTON_MAX_STEPS, AbstractSolver
from robustirl.planning.solvers.newton_krylov import NewtonKrylov, look
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep_to_solution
from robustirl.planning.verdict import Solution, StoppingRule


class NewtonSparse(AbstractSolver):
    """Take Newton steps with sparse factorizations on the host.

    This is for large grids with discounts close to 1. It does not run inside `jit`, and is not for worlds whose states
    are all connected: the factors would fill up.

    Attributes:
        sweeps: Value-iteration sweeps after a step that did not halve the best residual; they double with every
            further one.
        patience: Steps that may pass before the best residual is halved; after them sweeps take over.
        approach: Steps without factorizations at the beginning, in float32; more of them do not pay where they fail.

    Example:
        >>> from robustirl.mdp import MDP, SuccessorKernel
        >>> from robustirl.planning import solve
        >>> ring = SuccessorKernel([[[1]], [[0]]], [[[1.0]], [[1.0]]])
        >>> solve(MDP(ring, discount=0.5), [3.0, 0.0], solver=NewtonSparse()).value.round(6).tolist()
        [4.0, 2.0]
    """

    sweeps: int = 10
    patience: int = 30
    approach: int = 20
    description: ClassVar[str] = "Newton's method with sparse factorizations"

    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        if not concrete(problem):
            raise InvalidInputError("NewtonSparse cannot run inside jit; use Newton or NewtonKrylov there.")
        most = NEWTON_MAX_STEPS if max_steps is None else max_steps
        discount = float(problem.game.mdp.discount)
        columns = column_game(problem.game, problem.reward, problem.temperatures)
        value, steps = problem.start, 0
        if problem.cold:
            lower, done = _approach(columns, value, jnp.asarray(min(most, self.approach)))
            value, steps = lower.astype(value.dtype), int(done)
        now, satisfied = _look(columns, value, problem.rule, jnp.asarray(steps))
        progress = Progress.begin(now)
        while not satisfied and np.isfinite(now.residual) and now.steps < most and progress.waiting <= self.patience:
            change = solve_sparse(now.attained, discount, np.asarray(now.fault))
            value = now.value + jnp.asarray(change, now.value.dtype)
            if waiting := int(progress.waiting):
                value = _sweep(columns, value, jnp.asarray(self.sweeps * 2 ** min(waiting, 8)))
            now, satisfied = _look(columns, value, problem.rule, now.steps + 1)
            progress = progress.after(now)
        return _finish(problem, columns, now.value if satisfied else progress.best, now.steps)


def solve_sparse(chain: AbstractChain, discount: float, right: np.ndarray) -> np.ndarray:
    """Solve (I - γ P) x = b by SuperLU, refined once."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.
    import scipy.sparse.linalg

    matrix = scipy.sparse.csc_array(scipy.sparse.eye_array(len(right)) - discount * chain.sparse_part())
    # The pattern of I - γP is nearly symmetric and its diagonal never small, so that no pivots are needed.
    factors = scipy.sparse.linalg.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )

    def solve(b: np.ndarray) -> np.ndarray:
        x = factors.solve(b)
        return x + factors.solve(b - matrix @ x)

    noise = chain.rank_one()
    if noise is None:
        return solve(right)
    through, plain = solve(np.asarray(noise.weights)), solve(right)
    u = discount * np.asarray(noise.distribution)
    return plain + through * ((u @ plain) / (1 - u @ through))


@BoundedJit
def _approach(
    columns: ColumnGame, start: Float[Array, " S"], most: Int[Array, ""]
) -> tuple[Float[Array, " S"], Int[Array, ""]]:
    return NewtonKrylov().approach(columns.lowered(), start.astype(jnp.float32), most)


@BoundedJit
def _look(
    columns: ColumnGame, value: Float[Array, " S"], rule: StoppingRule, steps: Int[Array, ""]
) -> tuple[Iterate, Bool[Array, ""]]:
    now = look(columns, value, steps)
    return now, rule.satisfied(now.residual, value)


@BoundedJit
def _sweep(columns: ColumnGame, value: Float[Array, " S"], count: Int[Array, ""]) -> Float[Array, " S"]:
    return jax.lax.fori_loop(0, count, lambda _, v: columns.values(v), value)


@BoundedJit
def _finish(
    problem: PlanningProblem, columns: ColumnGame, value: Float[Array, " S"], steps: Int[Array, ""]
) -> Solution:
    residual = jnp.max(jnp.abs(columns.values(value) - value))
    return sweep_to_solution(problem, columns, value, steps, most_sweeps(problem.rule, residual))
