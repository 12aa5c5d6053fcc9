r"""Value iteration for the two-player game (Algorithm 2).

V_{k+1} = B(V_k). B is a γ-contraction in the maximum norm, so the error of V_k is at most ‖B(V_k) - V_k‖ / (1-γ). The
sweeps stop when that guarantees the tolerance. They reach any tolerance above rounding within
log(tolerance (1-γ) / ‖first residual‖) / log γ sweeps, which is the default limit.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from robustirl._runtime import BoundedJit
from robustirl.planning.columns import ColumnGame, column_game
from robustirl.planning.operators import two_player_backup
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.verdict import Solution, StoppingRule

UNLIMITED = -1  # As many sweeps as the contraction can need; a number, so that limits need no program of their own.


class ValueIteration(AbstractSolver):
    """Repeat backups, about log(1/tolerance) / (1-γ) of which are needed.

    Each costs one product with the kernel.

    Example:
        >>> from robustirl.mdp import MDP
        >>> from robustirl.planning import solve
        >>> round(solve(MDP([[[1.0]]], discount=0.5), [1.0], solver=ValueIteration()).value.item(), 6)
        2.0
    """

    description: ClassVar[str] = "value iteration"

    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        return _iterate(problem, jnp.asarray(UNLIMITED if max_steps is None else max_steps))


@BoundedJit
def _iterate(problem: PlanningProblem, max_steps: Int[Array, ""]) -> Solution:
    columns = column_game(problem.game, problem.reward, problem.temperatures)
    first = jnp.max(jnp.abs(columns.values(problem.start) - problem.start))
    cap = jnp.where(max_steps == UNLIMITED, most_sweeps(problem.rule, first), max_steps)
    return sweep_to_solution(problem, columns, problem.start, jnp.asarray(0), cap)


def sweep_to_solution(
    problem: PlanningProblem,
    columns: ColumnGame,
    start: Float[Array, " S"],
    steps: Int[Array, ""],
    cap: Int[Array, ""],
) -> Solution:
    """Sweep at most `cap` times, and return the last value as a solution.

    The sweeps start from a value that `steps` steps led to.
    """
    value, residual, swept = sweep(columns, start, problem.rule, cap)
    backup = two_player_backup(problem.game, problem.reward, value, problem.temperatures)
    verdict = problem.rule.verdict(residual, value, steps + swept)
    return Solution(value, backup.player, backup.opponent, problem.game.alpha, verdict)


def sweep(
    columns: ColumnGame, start: Float[Array, " S"], rule: StoppingRule, cap: Int[Array, ""]
) -> tuple[Float[Array, " S"], Float[Array, ""], Int[Array, ""]]:
    """Back up from `start` until the rule is satisfied or `cap` backups are spent.

    Returns the last value, its residual, and the number of backups that led to it.
    """

    def look(value: Float[Array, " S"]) -> tuple[Float[Array, " S"], Float[Array, ""]]:
        after = columns.values(value)
        return after, jnp.max(jnp.abs(after - value))

    def unfinished(state) -> jax.Array:
        value, _, residual, steps = state
        return (steps < cap) & ~rule.satisfied(residual, value) & jnp.isfinite(residual)

    def step(state):
        _, after, _, steps = state
        return after, *look(after), steps + 1

    value, _, residual, steps = jax.lax.while_loop(unfinished, step, (start, *look(start), jnp.asarray(0)))
    return value, residual, steps


def most_sweeps(rule: StoppingRule, residual: Float[Array, ""]) -> Int[Array, ""]:
    """Return how many sweeps the contraction can need from this first residual.

    A tenth and ten more are added as a margin.
    """
    ratio = jnp.maximum(residual / (rule.tolerance * rule.unit * (1 - rule.discount)), 1)
    sweeps = jnp.log(ratio) / -jnp.log(jnp.maximum(rule.discount, 1e-3))
    return jnp.where(jnp.isfinite(sweeps), 1.1 * sweeps + 10, 0).astype(int)
