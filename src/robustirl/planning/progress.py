"""Run a solver with a bar: in stretches of steps where it can go on from a value, else with a clock.

The residual of a solver falls geometrically, so that the bar shows the share of its digits that are there: from the
first residual down to the one at which the error bound meets the tolerance.
"""

import math
import time

import equinox as eqx
import jax
import jax.numpy as jnp

from robustirl._runtime import progress_bar
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.solvers.value_iteration import ValueIteration, most_sweeps
from robustirl.planning.verdict import Solution

TARGET_SECONDS = 0.4  # Of a stretch; Ctrl-C is seen between two of them.
MAX_GROWTH = 100


def run_with_progress(solver: AbstractSolver, states: int, problem: PlanningProblem, max_steps: int | None) -> Solution:
    """Solve as `solver.run` does, and show how far it has come.

    `states` is the number of states of the world before padding.
    """
    title = f"{solver.description}, {states} states"
    if not isinstance(solver, ValueIteration):
        # Newton steps are few, and their solvers keep a state between steps, so they are not run in stretches.
        with progress_bar(title, None) as report:
            report(0, "")
            return jax.block_until_ready(solver.run(problem, max_steps))
    with progress_bar(title, 1.0) as report:
        solution, taken, length = solver.run(problem, 1), 1, 1
        first = float(solution.verdict.residual)
        limit = int(most_sweeps(problem.rule, solution.verdict.residual)) + 1 if max_steps is None else max_steps
        while not bool(solution.verdict.converged) and taken < limit:
            began = time.monotonic()
            onward = eqx.tree_at(lambda p: p.start, problem, solution.value)
            solution = jax.block_until_ready(solver.run(onward, min(length, limit - taken)))
            if (more := int(solution.verdict.iterations)) == 0:
                break  # Rounding lets no sweep get further, or the numbers are not finite.
            taken += more
            seconds = max(time.monotonic() - began, 1e-6)
            length = max(1, min(MAX_GROWTH * length, int(length * TARGET_SECONDS / seconds)))
            now, goal = float(solution.verdict.residual), _last_residual(problem, solution)
            report(_share(first, now, goal), f"{taken} sweeps, residual {now:.2g}")
        return eqx.tree_at(lambda s: s.verdict.iterations, solution, jnp.asarray(taken))


def _last_residual(problem: PlanningProblem, solution: Solution) -> float:
    """Return the residual at which the error bound would meet the tolerance, rounding aside."""
    rule = problem.rule
    return float(rule.tolerance * rule.scale(solution.value) * (1 - rule.discount))


def _share(first: float, now: float, goal: float) -> float:
    """Return the share of the way from the first residual to the last, in digits.

    Example:
        >>> _share(1.0, 1e-3, 1e-6)
        0.5
        >>> _share(1.0, 1e-9, 1e-6), _share(1e-9, 1e-9, 1e-6), _share(1.0, float("nan"), 1e-6), _share(1.0, 0.0, 1e-6)
        (1.0, 0.0, 0.0, 0.0)
    """
    if not goal < first or not 0 < now < math.inf:
        return 0.0
    return min(1.0, max(0.0, math.log(first / now) / math.log(first / goal)))
