r"""Newton's method for the game's fixed point V = B(V), with a safeguard.

The derivative of B at V is γ P_mix, the chain of the mixture α π_pl + (1-α) π_op of the policies that
attain the backup, so a Newton step is a policy evaluation,

    V⁺ = V + (I - γ P_mix)⁻¹ (B(V) - V).

For one player this is policy iteration. With an opponent B is neither convex nor concave and has kinks
where the opponent is indifferent (the method is semismooth), so the plain iteration may cycle. The
safeguard accepts a step only if it halves the residual, and otherwise takes value-iteration sweeps until
they have. Sweeps contract, so every step at least halves the residual: the method cannot diverge, and at
worst does the work of value iteration.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import MarkovGame, as_reward, mixture
from robustirl.planning.linear import PolicyFactor, factor_policy
from robustirl.planning.operators import Backup, Temperatures, two_player_backup
from robustirl.planning.verdict import Solution, StoppingRule, Verdict, checked, stopping_rule

DEFAULT_MAX_STEPS = 200  # Each at least halves the residual, so this is out of reach in float64.


def newton(
    game: MarkovGame,
    reward: object,
    *,
    temperatures: Temperatures = Temperatures(),
    initial_value: object = None,
    tolerance: float | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    throw: bool = True,
) -> Solution:
    """Solve the game by safeguarded Newton steps; the arguments are those of `value_iteration`.

    Example:
        >>> from robustirl.mdp import MDP
        >>> game = MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=0.9)
        >>> solution = newton(game, [1.0])
        >>> bool(solution.verdict.converged), round(solution.value.item(), 6)
        (True, 3.386294)
    """
    reward = as_reward(reward, game.mdp)
    start = jnp.zeros_like(reward) if initial_value is None else as_reward(initial_value, game.mdp)
    rule = stopping_rule(game, reward, tolerance)
    solution, _ = _newton(game, reward, start, rule, temperatures, max_steps)
    return checked(solution, throw=throw, solver="Newton's method")


class _Iterate(eqx.Module):
    value: Float[Array, " S"]
    backup: Backup
    residual: Float[Array, ""]


def newton_steps(
    game: MarkovGame,
    reward: Float[Array, " S"],
    start: Float[Array, " S"],
    rule: StoppingRule,
    temperatures: Temperatures = Temperatures(),
    max_steps: int = DEFAULT_MAX_STEPS,
) -> tuple[Solution, PolicyFactor]:
    """The method itself, for use inside compiled code: no checks of the input, no exceptions.

    Also returns the factorisation of I - γ P_mix at the solution, which gives the mixture's occupancy and
    the solution's derivative with respect to the reward for the price of a triangular solve each.
    """

    def look(value: Float[Array, " S"]) -> _Iterate:
        backup = two_player_backup(game, reward, value, temperatures)
        return _Iterate(value, backup, jnp.max(jnp.abs(backup.value - value)))

    def factor(now: _Iterate) -> PolicyFactor:
        return factor_policy(game.mdp, mixture(now.backup.player, now.backup.opponent, game.alpha))

    def unfinished(state: tuple[_Iterate, Bool[Array, ""], PolicyFactor, Int[Array, ""]]) -> Bool[Array, ""]:
        return ~state[1]

    def step(
        state: tuple[_Iterate, Bool[Array, ""], PolicyFactor, Int[Array, ""]],
    ) -> tuple[_Iterate, Bool[Array, ""], PolicyFactor, Int[Array, ""]]:
        # One factorisation a pass: the last pass factors at the solution and takes no step.
        now, _, _, steps = state
        factored = factor(now)
        done = rule.satisfied(now.residual, now.value) | ~jnp.isfinite(now.residual) | (steps >= max_steps)

        def advance() -> _Iterate:
            trial = look(now.value + factored.solve(now.backup.value - now.value))
            return _sweep_unless(look, done, now, trial)

        after = jax.lax.cond(done, lambda: now, advance)
        return after, done, factored, steps + ~done

    first = look(start)
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(factor, first))
    now, _, factored, steps = jax.lax.while_loop(
        unfinished, step, (first, jnp.asarray(False), blank, jnp.asarray(0))
    )
    verdict = Verdict(
        rule.satisfied(now.residual, now.value), steps, now.residual, rule.error_bound(now.residual, now.value)
    )
    return Solution(now.value, now.backup.player, now.backup.opponent, game.alpha, verdict), factored


def _sweep_unless(look, done: Bool[Array, ""], now: _Iterate, trial: _Iterate) -> _Iterate:
    """`trial` if it halves the residual of `now`, else value iteration from `now` until that is halved.

    In exact arithmetic log 2 / -log γ sweeps suffice. Rounding can hold the residual just above the goal,
    so the sweeps also end when one no longer brings the residual down. `done` is for batches, where every
    member passes here until the slowest is finished: a finished one must not sweep.
    """
    goal = now.residual / 2
    accepted = trial.residual <= goal

    def unfinished(state: tuple[_Iterate, Bool[Array, ""]]) -> Bool[Array, ""]:
        iterate, stuck = state
        return ~(done | accepted | stuck) & (iterate.residual > goal)

    def sweep(state: tuple[_Iterate, Bool[Array, ""]]) -> tuple[_Iterate, Bool[Array, ""]]:
        iterate, _ = state
        after = look(iterate.backup.value)
        return after, ~(after.residual < iterate.residual)

    swept, _ = jax.lax.while_loop(unfinished, sweep, (now, jnp.asarray(False)))
    return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), trial, swept)


_newton = eqx.filter_jit(newton_steps)
