r"""Newton's method for worlds too large for a matrix: the steps of `newton.py`, with what large worlds need besides.

- **Systems are solved without matrices** (`linear/krylov.py`), to a share of the residual: an inexact Newton method.
- **Sweeps in between.** From far away a Newton step is a policy evaluation, and the policy it evaluates is wrong
  beyond some front that moves by about one state a step. A sweep of value iteration moves it as far for a hundredth of
  the price, so that a cold start takes a few of them after every step (modified policy iteration; Puterman and Shin,
  1978), and more the longer nothing is gained.
- **Two precisions.** A cold start runs in float32 until that has no more to give, and only then, close to the solution,
  in full. Every residual that decides, and so the verdict, is computed in full.

Far away, residuals may rise before they fall, so that single steps are not undone. The best iterate is kept, and when
many steps in a row have not halved its residual, value iteration goes on from there to the end: the method cannot
diverge, and at worst does the work of value iteration.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from robustirl._runtime import BoundedJit
from robustirl.planning.columns import Column, ColumnGame, column_game
from robustirl.planning.iterates import Iterate, Progress, choose, iterate
from robustirl.planning.linear.krylov import correction
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.base import NEWTON_MAX_STEPS, AbstractSolver
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep_to_solution
from robustirl.planning.sweeping import Sweep, plain_sweeper, sweeper
from robustirl.planning.verdict import Solution, StoppingRule

CPU_SWEEPS = 30  # On 10⁵ states of a grid at γ = 0.99 a solve takes 0.6 of the time it takes with 10.
GPU_SWEEPS = 10  # There 30 take 1.2 times as long.

State = tuple[Iterate, Progress]


class NewtonKrylov(AbstractSolver):
    """Take Newton steps whose systems are solved by BiCGStab or sweeps, without a matrix.

    This is for large worlds.

    Attributes:
        sweeps: Value-iteration sweeps between the steps of a cold start. None decides by device: 30 on a CPU, 10 on a
            GPU, where systems are solved by sweeps anyway.
        doubling: The number of steps without progress after which these sweeps double.
        inner_tol: The share of the residual that the solution of a system may leave in a cold start.
        max_inner: The iterations after which such a system is left as it is: float32 does not get further with more.
        f32_tol: The relative residual at which a cold start changes from float32 to full precision.
        f64_inner_tol: The share left then. Further digits would be those of a chain that the next step replaces.
        patience: Steps that may pass before the best residual is halved; after them sweeps take over.

    Example:
        >>> from robustirl.mdp import MDP
        >>> from robustirl.planning import solve
        >>> round(solve(MDP([[[1.0]]], discount=0.5), [1.0], solver=NewtonKrylov()).value.item(), 6)
        2.0
    """

    sweeps: int | None = None
    doubling: int = 4
    inner_tol: float = 0.1
    max_inner: int = 250
    f32_tol: float = 1e-5
    f64_inner_tol: float = 0.03
    patience: int = 24
    description: ClassVar[str] = "Newton's method with BiCGStab"

    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        return _run(self, problem, jnp.asarray(NEWTON_MAX_STEPS if max_steps is None else max_steps))

    def steps(self, problem: PlanningProblem, max_steps: Int[Array, ""] | int) -> Solution:
        """Solve inside compiled code."""
        rule, start, steps = problem.rule, problem.start, jnp.asarray(0)
        columns = column_game(problem.game, problem.reward, problem.temperatures)
        if problem.cold:
            start, steps = self.approach(columns.lowered(), start.astype(jnp.float32), max_steps)
            start = start.astype(rule.unit.dtype)
        near = self._close_in(columns, start, rule, steps, max_steps, polish=problem.cold)
        # Where Newton's method got no further, sweeps do; from a solution they do not even begin.
        cap = jnp.where(near.steps < max_steps, most_sweeps(rule, near.residual), 0)
        return sweep_to_solution(problem, columns, near.value, near.steps, cap)

    def approach(
        self,
        columns: ColumnGame,
        start: Column,
        max_steps: Int[Array, ""] | int,
    ) -> tuple[Column, Int[Array, ""]]:
        """Iterate from any start to the limit of float32, by steps and sweeps in turn.

        Return the value and the number of steps.
        """
        sweep = sweeper(columns)

        def unfinished(state: State) -> Bool[Array, ""]:
            now, progress = state
            far = now.residual > self.f32_tol * jnp.maximum(1, jnp.max(jnp.abs(now.value)))
            going = (progress.waiting < self.patience) & (now.steps < max_steps)
            return far & going & jnp.isfinite(now.residual)

        def step(state: State) -> State:
            now, progress = state
            inner = {"reduction": self.inner_tol, "most": self.max_inner}
            change = correction(now.attained, columns.discount, now.fault, **inner)
            return _next(columns, self._sweep(sweep, now.value + change, progress.waiting, True), state)

        first = look(columns, self._sweep(sweep, start, jnp.asarray(0), True), jnp.asarray(0))
        now, progress = jax.lax.while_loop(unfinished, step, (first, Progress.begin(first)))
        return progress.better_of(now), now.steps

    def _close_in(
        self,
        columns: ColumnGame,
        start: Column,
        rule: StoppingRule,
        steps: Int[Array, ""],
        max_steps: Int[Array, ""] | int,
        *,
        polish: bool,
    ) -> Iterate:
        """Go from nearby to the solution, by steps, and sweeps after a step that did not help."""
        sweep = plain_sweeper(columns)

        def unfinished(state: State) -> Bool[Array, ""]:
            now, progress = state
            going = (progress.waiting < self.patience) & (now.steps < max_steps) & jnp.isfinite(now.residual)
            return ~rule.satisfied(now.residual, now.value) & going

        def step(state: State) -> State:
            now, progress = state
            change = correction(now.attained, columns.discount, now.fault, reduction=self.f64_inner_tol)
            return _next(columns, self._sweep(sweep, now.value + change, progress.waiting, False), state)

        first = look(columns, start, steps)
        state = jax.lax.while_loop(unfinished, step, (first, Progress.begin(first)))
        if polish:
            # One step beyond what was asked for: ties are shared by a finer measure than values are.
            finer = step(state)
            state = choose(finer[0].residual < state[0].residual, finer, state)
        now, progress = state
        residual = jnp.minimum(now.residual, progress.milestone)
        return eqx.tree_at(lambda it: (it.value, it.residual), now, (progress.better_of(now), residual))

    @property
    def sweeps_here(self) -> int:
        """The sweeps between the steps of a cold start on this device."""
        if self.sweeps is not None:
            return self.sweeps
        return CPU_SWEEPS if jax.default_backend() == "cpu" else GPU_SWEEPS

    def _sweep(self, sweep: Sweep, value: Column, waiting: Int[Array, ""], always: bool) -> Column:
        """Sweep after a step: the more, the longer there was no progress."""
        return sweep(jnp.where(always | (waiting > 0), self.sweeps_here * 2 ** (waiting // self.doubling), 0), value)


def look(columns: ColumnGame, value: Column, steps: Int[Array, ""]) -> Iterate:
    """Return the iterate of a value, with the chain that attains its backup."""
    return iterate(value, *columns.backup(value), steps)


def _next(columns: ColumnGame, value: Column, before: State) -> State:
    now = look(columns, value, before[0].steps + 1)
    return now, before[1].after(now)


@BoundedJit
def _run(solver: NewtonKrylov, problem: PlanningProblem, max_steps: Int[Array, ""]) -> Solution:
    return solver.steps(problem, max_steps)
