r"""Newton's method for worlds too large for a matrix: the steps of `newton.py`, with what large worlds need besides.

- **Systems are solved without matrices** (`krylov.py`), to a share of the residual: an inexact Newton method.
- **Sweeps in between.** From far away a Newton step is a policy evaluation, and the policy it evaluates is wrong
  beyond some front that moves by about one state a step. A sweep of value iteration moves it as far for a hundredth of
  the price, so that a cold start takes a few of them after every step (modified policy iteration; Puterman and Shin,
  1978), and more the longer nothing is gained.
- **Two precisions.** A cold start runs in float32 until that has no more to give, and only then, close to the solution,
  in full. Every residual that decides, and so the verdict, is computed in full.

Far away, residuals may rise before they fall, so that steps are not turned down one by one. The best iterate is kept,
and when many steps in a row have not halved its residual, value iteration goes on from there to the end: the method
cannot diverge, and at worst does the work of value iteration.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import AbstractChain, MarkovGame
from robustirl.planning.columns import Column, ColumnGame, column_game
from robustirl.planning.linear.krylov import correction
from robustirl.planning.operators import Reward, Temperatures, two_player_backup
from robustirl.planning.solvers.value_iteration import most_sweeps, sweep
from robustirl.planning.verdict import Solution, StoppingRule, Verdict

SWEEPS = 10  # Between the steps of a cold start; twice as many for every few steps without progress.
ROUGH = 0.1  # The share of the residual that a system's solution may leave then,
MOST_INNER = 250  # and the iterations after which it is left as it is: float32 does not get further with more.
CLOSE = 1e-5  # Relative residual at which float32 hands over.
NEAR = 0.03  # The share left then: further digits would be those of a chain that the next step replaces.
PATIENCE = 24  # Steps that may pass before the best residual is halved.
DOUBLING = 4  # Of those steps, after which sweeps double.


class _Iterate(eqx.Module):
    value: Column
    backup: Column
    chain: AbstractChain
    residual: Float[Array, ""]
    best: Column
    milestone: Float[Array, ""]  # The residual to halve,
    waiting: Int[Array, ""]  # and for how many steps nobody has.
    steps: Int[Array, ""]


def newton_krylov_steps(
    game: MarkovGame,
    reward: Reward,
    start: Float[Array, " S"],
    rule: StoppingRule,
    temperatures: Temperatures,
    max_steps: int,
    *,
    cold: bool,
) -> Solution:
    """The method itself, for use inside compiled code; `cold` says that `start` is no better than any other value."""
    columns = column_game(game, reward, temperatures)
    steps = jnp.asarray(0)
    if cold:
        start, steps = approach(columns.lowered(), start.astype(jnp.float32), max_steps)
        start = start.astype(rule.unit.dtype)
    near = _close_in(columns, start, rule, steps, max_steps, polish=cold)
    # Where Newton's method got no further, sweeps do; from a solution they do not even begin.
    cap = jnp.where(near.steps < max_steps, most_sweeps(rule, near.residual), 0)
    value, residual, swept = sweep(columns, near.value, rule, cap)
    backup = two_player_backup(game, reward, value, temperatures)
    verdict = Verdict(rule.satisfied(residual, value), near.steps + swept, residual, rule.error_bound(residual, value))
    return Solution(value, backup.player, backup.opponent, game.alpha, verdict)


def _look(columns: ColumnGame, value: Column, before: _Iterate | None) -> _Iterate:
    backup, chain = columns.backup(value)
    residual = jnp.max(jnp.abs(backup - value))
    if before is None:
        return _Iterate(value, backup, chain, residual, value, residual, jnp.asarray(0), jnp.asarray(0))
    halved = residual <= before.milestone / 2
    return _Iterate(
        value,
        backup,
        chain,
        residual,
        jnp.where(halved, value, before.best),
        jnp.where(halved, residual, before.milestone),
        jnp.where(halved, 0, before.waiting + 1),
        before.steps + 1,
    )


def _sweeps(columns: ColumnGame, value: Column, waiting: Int[Array, ""], always: bool) -> Column:
    """Sweeps after a step: the more, the longer there was no progress."""
    count = jnp.where(always | (waiting > 0), SWEEPS * 2 ** (waiting // DOUBLING), 0)
    return jax.lax.fori_loop(0, count, lambda _, v: columns.values(v), value)


def approach(columns: ColumnGame, start: Column, max_steps: int) -> tuple[Column, Int[Array, ""]]:
    """From anywhere to where float32 ends: steps and sweeps in turn."""

    def unfinished(now: _Iterate) -> Bool[Array, ""]:
        far = now.residual > CLOSE * jnp.maximum(1, jnp.max(jnp.abs(now.value)))
        going = (now.waiting < PATIENCE) & (now.steps < max_steps)
        return far & going & jnp.isfinite(now.residual)

    def step(now: _Iterate) -> _Iterate:
        fault = now.backup - now.value
        change = correction(now.chain, columns.discount, fault, reduction=ROUGH, most=MOST_INNER)
        return _look(columns, _sweeps(columns, now.value + change, now.waiting, True), now)

    now = jax.lax.while_loop(unfinished, step, _look(columns, _sweeps(columns, start, jnp.asarray(0), True), None))
    # The milestone's iterate, unless the last is better than it or it is all there is.
    better = now.residual <= now.milestone
    return jnp.where(better, now.value, now.best), now.steps


def _close_in(
    columns: ColumnGame, start: Column, rule: StoppingRule, steps: Int[Array, ""], max_steps: int, *, polish: bool
) -> _Iterate:
    """From nearby to the solution: steps, and sweeps after a step that did not help."""

    def unfinished(now: _Iterate) -> Bool[Array, ""]:
        going = (now.waiting < PATIENCE) & (now.steps < max_steps) & jnp.isfinite(now.residual)
        return ~rule.satisfied(now.residual, now.value) & going

    def step(now: _Iterate) -> _Iterate:
        change = correction(now.chain, columns.discount, now.backup - now.value, reduction=NEAR)
        return _look(columns, _sweeps(columns, now.value + change, now.waiting, False), now)

    first = eqx.tree_at(lambda it: it.steps, _look(columns, start, None), steps)
    now = jax.lax.while_loop(unfinished, step, first)
    if polish:
        # One step beyond what was asked for: ties are shared by a finer measure than values are.
        finer = step(now)
        now = jax.tree.map(lambda new, old: jnp.where(finer.residual < now.residual, new, old), finer, now)
    value = jnp.where(now.residual <= now.milestone, now.value, now.best)
    return eqx.tree_at(lambda it: (it.value, it.residual), now, (value, jnp.minimum(now.residual, now.milestone)))
