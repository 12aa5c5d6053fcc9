"""Backward induction: the game over a finite horizon."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl._runtime import PlainModule, as_float, working_precision
from robustirl.mdp import MDP, MarkovGame, as_action_reward, as_count, as_game
from robustirl.planning.operators import Backup, Temperatures, as_temperatures, two_player_backup
from robustirl.planning.verdict import as_start
from robustirl.types import ArrayLike


class FiniteHorizonSolution(PlainModule):
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
    """Solve the game over `horizon` decisions exactly.

    This takes as many backups from the terminal value.

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
