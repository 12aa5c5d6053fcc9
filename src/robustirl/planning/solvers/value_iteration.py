r"""Value iteration for the two-player game (Algorithm 2), and backward induction for a finite horizon.

V_{k+1} = B(V_k). B is a γ-contraction in the maximum norm, so the error of V_k is at most
‖B(V_k) - V_k‖ / (1-γ): the sweep stops when that guarantees the tolerance, and it reaches any tolerance
above rounding within log(tolerance (1-γ) / ‖first residual‖) / log γ sweeps, which is its default cap.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from robustirl._runtime import as_float, working_precision
from robustirl.mdp import MDP, MarkovGame, as_action_reward, as_count, as_game
from robustirl.planning.columns import ColumnGame, column_game
from robustirl.planning.operators import Backup, Reward, Temperatures, as_temperatures, two_player_backup
from robustirl.planning.verdict import Solution, StoppingRule, Verdict, as_start, checked, stopping_rule
from robustirl.types import ArrayLike


@working_precision
def value_iteration(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    *,
    temperatures: Temperatures = Temperatures(),
    initial_value: ArrayLike | None = None,
    tolerance: float | None = None,
    max_steps: int | None = None,
    throw: bool = True,
) -> Solution:
    """Solve the game by repeated backups.

    Args:
        game: The world and α; a world alone stands for α = 1.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`: the reward of the action that is executed, whoever chose it.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        initial_value: Where to start, `[S]`; zero by default.
        tolerance: The guaranteed ‖V - V*‖∞, relative to ‖V‖∞, or to the temperature where that is larger. By default
            1e-10 in float64.
        max_steps: The largest number of backups; by default as many as the contraction can need.
        throw: Raise `ConvergenceError` if the tolerance is not reached.

    Example:
        >>> from robustirl.mdp import MDP
        >>> game = MarkovGame(MDP([[[1.0]]], discount=0.5))
        >>> round(value_iteration(game, [1.0]).value.item(), 6)
        2.0
    """
    game, temperatures = as_game(game), as_temperatures(temperatures)
    reward, start = as_action_reward(reward, game.mdp), as_start(initial_value, game.mdp, "the initial value")
    rule = stopping_rule(game, reward, tolerance, temperatures)
    if max_steps is not None:
        max_steps = as_count("max_steps", max_steps, 1)
    solution = _value_iteration(game, reward, start, rule, temperatures, max_steps)
    return checked(solution, throw=throw, solver="value iteration")


@eqx.filter_jit
def _value_iteration(
    game: MarkovGame,
    reward: Reward,
    start: Float[Array, " S"],
    rule: StoppingRule,
    temperatures: Temperatures,
    max_steps: int | None,
) -> Solution:
    columns = column_game(game, reward, temperatures)
    first = jnp.max(jnp.abs(columns.values(start) - start))
    cap = most_sweeps(rule, first) if max_steps is None else jnp.asarray(max_steps)
    value, residual, steps = sweep(columns, start, rule, cap)
    backup = two_player_backup(game, reward, value, temperatures)
    verdict = Verdict(rule.satisfied(residual, value), steps, residual, rule.error_bound(residual, value))
    return Solution(value, backup.player, backup.opponent, game.alpha, verdict)


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
    """How many sweeps the contraction can need from this first residual, with a tenth to spare."""
    ratio = jnp.maximum(residual / (rule.tolerance * rule.unit * (1 - rule.discount)), 1)
    sweeps = jnp.log(ratio) / -jnp.log(jnp.maximum(rule.discount, 1e-3))
    return jnp.where(jnp.isfinite(sweeps), 1.1 * sweeps + 10, 0).astype(int)


class FiniteHorizonSolution(eqx.Module):
    """Values and policies by stage, first stage first.

    Attributes:
        value: `[H+1, S]`; the last row is the terminal value.
        player: `[H, S, A]`.
        opponent: `[H, S, A]`.
    """

    value: Float[Array, "H1 S"]
    player: Float[Array, "H S A"]
    opponent: Float[Array, "H S A"]


@working_precision
def backward_induction(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    horizon: int,
    *,
    temperatures: Temperatures = Temperatures(),
    terminal_value: ArrayLike | None = None,
) -> FiniteHorizonSolution:
    """Solve the game over `horizon` decisions, exactly, by as many backups from the terminal value.

    Example:
        >>> from robustirl.mdp import MDP
        >>> game = MarkovGame(MDP([[[1.0]]], discount=0.5))
        >>> backward_induction(game, [1.0], horizon=2).value[:, 0].tolist()
        [1.5, 1.0, 0.0]
    """
    horizon, temperatures = as_count("the horizon", horizon, 1), as_temperatures(temperatures)
    game = as_game(game)
    reward, last = as_action_reward(reward, game.mdp), as_start(terminal_value, game.mdp, "the terminal value")

    def stage(value: Float[Array, " S"], _: None) -> tuple[Float[Array, " S"], Backup]:
        backup = two_player_backup(game, reward, value, temperatures)
        return backup.value, backup

    _, stages = jax.lax.scan(stage, last, length=horizon, reverse=True)
    return FiniteHorizonSolution(jnp.concatenate([stages.value, as_float(last)[None]]), stages.player, stages.opponent)
