r"""Follow a solution that moves little from one reward to the next, as exactly as is asked for in the mean.

Learning plans for hundreds of rewards, each close to the one before. As long as the occupancy is far from the expert's,
a few digits of a plan suffice, and they must be right where the player goes: residuals are measured as a weighted sum
Σ m(s) |B(V) - V|(s). The maximum over all states would be that of states which are hardly visited.

Steps are those of `newton_krylov.py`. How exactly a system is solved follows the last step: where that left a
share q of the residual, because the policies changed, the next system may leave q² (Eisenstat and Walker, 1996). Digits
beyond would be those of policies that are about to be replaced. Where steps fail, value iteration continues until the
maximum is small enough, as in `newton_krylov.py`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.planning.columns import column_game
from robustirl.planning.iterates import Iterate, Progress
from robustirl.planning.linear.krylov import AIM, MOST_LEFT, REDUCTION, correction
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.newton_krylov import NewtonKrylov, look
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep
from robustirl.planning.sweeping import Sweep, plain_sweeper
from robustirl.planning.verdict import Solution

SWEEPS = 2  # After a prediction or a step.
FIRST_SHARE = 0.1  # Of the residual: what the first system may leave.

State = tuple[Iterate, Progress, Float[Array, ""]]  # And the share that the next system may leave at least.


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
    """Solve inside compiled code, from a start close by.

    The verdict's bound is the one of the maximum, as always.
    """
    rule, solver = problem.rule, NewtonKrylov()
    columns = column_game(problem.game, problem.reward, problem.temperatures)
    sweep_more = plain_sweeper(columns)

    def seen(value: Float[Array, " S"], steps: Int[Array, ""]) -> Iterate:
        now = look(columns, value, steps)
        return eqx.tree_at(lambda it: it.residual, now, accuracy.measure @ jnp.abs(now.fault))

    def unfinished(state: State) -> Bool[Array, ""]:
        now, progress, _ = state
        going = (progress.waiting < solver.patience) & (now.steps < max_steps) & jnp.isfinite(now.residual)
        return (now.residual > accuracy.residual) & going

    def step(state: State) -> State:
        now, progress, forcing = state
        share = jnp.clip(jnp.maximum(AIM * accuracy.residual / now.residual, forcing), REDUCTION, MOST_LEFT)
        inner = {"reduction": share, "weights": accuracy.measure, "most": solver.max_inner}
        change = correction(now.attained, columns.discount, now.fault, **inner)
        after = seen(_sweep(sweep_more, now.value + change, progress.waiting), now.steps + 1)
        return after, progress.after(after), (after.residual / now.residual) ** 2

    first = seen(_sweep(sweep_more, problem.start, 0), jnp.asarray(0))
    begin = (first, Progress.begin(first), jnp.full_like(first.residual, FIRST_SHARE))
    now, *_ = jax.lax.while_loop(unfinished, step, begin)
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


def _sweep(sweep_more: Sweep, value: Float[Array, " S"], waiting: Int[Array, ""] | int) -> Float[Array, " S"]:
    """Sweep a few times, and more if nothing was gained.

    Sweeps repair what a prediction or a step did to single states.
    """
    return sweep_more(SWEEPS * (1 + waiting), value)
