r"""Follow a solution that moves little from one reward to the next, as exactly as is asked for in the mean.

Learning plans for hundreds of rewards, each close to the one before. As long as the occupancy is far from the expert's,
a few digits of a plan suffice, and they must be right where the player goes: residuals are measured as a weighted sum
Σ m(s) |B(V) - V|(s). The maximum over all states would be decided by states that nobody visits.

Steps are those of `newton_krylov.py`, with systems solved to a few digits. Where they fail, value
iteration goes on until the maximum is small enough, as there.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.planning.columns import ColumnGame, column_game
from robustirl.planning.iterates import Iterate, Progress
from robustirl.planning.linear.krylov import AIM, MOST_LEFT, REDUCTION, correction
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.newton_krylov import NewtonKrylov, look
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep
from robustirl.planning.verdict import Solution

SWEEPS = 2  # After a prediction or a step.


class MeanAccuracy(eqx.Module):
    """How exact a plan has to be, in the mean over states.

    Attributes:
        measure: `[S]`, the weights of the states.
        residual: The largest Σ m(s) |B(V) - V|(s).
        occupancy: The largest error of the occupancy, ‖ρ - ρ*‖₁.
    """

    measure: Float[Array, " S"]
    residual: Float[Array, ""]
    occupancy: Float[Array, ""]


def follow(problem: PlanningProblem, accuracy: MeanAccuracy, max_steps: Int[Array, ""] | int) -> Solution:
    """Solve inside compiled code, from a start close by; the verdict's bound is the one of the maximum, as always."""
    rule, solver = problem.rule, NewtonKrylov()
    columns = column_game(problem.game, problem.reward, problem.temperatures)

    def seen(value: Float[Array, " S"], steps: Int[Array, ""]) -> Iterate:
        now = look(columns, value, steps)
        return eqx.tree_at(lambda it: it.residual, now, accuracy.measure @ jnp.abs(now.fault))

    def unfinished(state: tuple[Iterate, Progress]) -> Bool[Array, ""]:
        now, progress = state
        going = (progress.waiting < solver.patience) & (now.steps < max_steps) & jnp.isfinite(now.residual)
        return (now.residual > accuracy.residual) & going

    def step(state: tuple[Iterate, Progress]) -> tuple[Iterate, Progress]:
        now, progress = state
        share = jnp.clip(AIM * accuracy.residual / now.residual, REDUCTION, MOST_LEFT)
        inner = {"reduction": share, "weights": accuracy.measure, "most": solver.max_inner}
        change = correction(now.attained, columns.discount, now.fault, **inner)
        after = seen(_sweep(columns, now.value + change, progress.waiting), now.steps + 1)
        return after, progress.after(after)

    first = seen(_sweep(columns, problem.start, 0), jnp.asarray(0))
    now, _ = jax.lax.while_loop(unfinished, step, (first, Progress.begin(first)))
    good = now.residual <= accuracy.residual
    largest = jnp.max(jnp.abs(now.fault))

    def swept() -> tuple[Float[Array, " S"], Float[Array, ""], Int[Array, ""]]:
        start = jnp.where(jnp.isfinite(now.residual), now.value, problem.start)
        return sweep(columns, start, rule, most_sweeps(rule, jnp.max(jnp.abs(columns.values(start) - start))))

    value, residual, sweeps = jax.lax.cond(good, lambda: (now.value, largest, jnp.zeros_like(now.steps)), swept)
    player, opponent = columns.policies(value)
    verdict = rule.verdict(residual, value, now.steps + sweeps)
    verdict = eqx.tree_at(lambda v: v.converged, verdict, verdict.converged | good)
    return Solution(value, player, opponent, problem.game.alpha, verdict)


def _sweep(columns: ColumnGame, value: Float[Array, " S"], waiting: Int[Array, ""] | int) -> Float[Array, " S"]:
    """Sweep a few times: that repairs what a prediction or a step did to single states. More, if nothing was gained."""
    return jax.lax.fori_loop(0, SWEEPS * (1 + waiting), lambda _, v: columns.values(v), value)
