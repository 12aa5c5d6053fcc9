"""What every solver is given: a game, its reward, where to start and when to stop."""

import equinox as eqx
from jaxtyping import Array, Float

from robustirl.mdp import MDP, MarkovGame, as_action_reward, as_game
from robustirl.planning.operators import Reward, Temperatures, as_temperatures, traced_temperatures
from robustirl.planning.verdict import StoppingRule, as_start, stopping_rule
from robustirl.types import ArrayLike


class PlanningProblem(eqx.Module):
    """The fixed point V = B(V) of a game, to a tolerance.

    Attributes:
        game: The world and α.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`.
        start: `[S]`, the value to start from.
        rule: When to stop.
        temperatures: Entropy weights of player and opponent. Zero is a Python number, and so part of the program.
        cold: Whether the start is no better than any other value, so that a coarse first phase is worth its price.
    """

    game: MarkovGame
    reward: Reward
    start: Float[Array, " S"]
    rule: StoppingRule
    temperatures: Temperatures
    cold: bool = eqx.field(static=True)


def planning_problem(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    temperatures: Temperatures | tuple[float, float],
    initial_value: ArrayLike | None,
    tolerance: float | None,
) -> PlanningProblem:
    """Check the input of a planner and put it together."""
    game, checked = as_game(game), as_temperatures(temperatures)
    reward, start = as_action_reward(reward, game.mdp), as_start(initial_value, game.mdp, "the initial value")
    rule = stopping_rule(game, reward, tolerance, checked)
    return PlanningProblem(game, reward, start, rule, traced_temperatures(checked), initial_value is None)
