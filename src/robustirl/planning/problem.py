"""State what is solved, and what every solver offers: a plan, an occupancy, and products with (I - γ P_mix)⁻¹."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.game import as_game
from robustirl.mdp.policy import as_action_reward
from robustirl.planning.operators import (
    Backup,
    Reward,
    Temperatures,
    as_temperatures,
    traced_temperatures,
    two_player_backup,
)
from robustirl.planning.verdict import Solution, StoppingRule, as_start, stopping_rule
from robustirl.types import ArrayLike

UNLIMITED = -1
"""For the number of steps: as many as the method can need. A number, so that limits need no program of their own."""
NEWTON_MAX_STEPS = 500
"""Each step halves the residual, so that float64 does not need as many."""
Memory = Any
"""What one solution leaves to the next one: an inverse, or nothing."""
Vector = Float[Array, " S"]
Operator = Callable[[Vector], Vector]


class PlanningProblem(eqx.Module):
    """The fixed point V = B(V) of a game, to a tolerance.

    Attributes:
        game: The world and α.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`.
        start: `[S]`, the value to start from.
        rule: When to stop.
        temperatures: Entropy weights of player and opponent. Zero is a Python number, and so part of the program.
        cold: Whether the start is no better than any other value, and the result is to be as exact as rounding allows:
            ties between actions are shared by a finer measure than values are asked for.
    """

    game: MarkovGame
    reward: Reward
    start: Float[Array, " S"]
    rule: StoppingRule
    temperatures: Temperatures
    cold: bool = eqx.field(static=True)

    def backup(self, value: Float[Array, " S"]) -> Backup:
        """Return B(V) and the policies that attain it."""
        return two_player_backup(self.game, self.reward, value, self.temperatures)

    def solution(self, value: Float[Array, " S"], backup: Backup, steps: Int[Array, ""]) -> Solution:
        """Return a value and its backup as a solution with a verdict."""
        residual = jnp.max(jnp.abs(backup.value - value))
        verdict = self.rule.verdict(residual, value, steps)
        return Solution(value, backup.player, backup.opponent, self.game.alpha, verdict)


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


class AbstractSolver(eqx.Module):
    """A method for the fixed point of a game, for single plans and for the thousands of plans of a fit.

    Its fields are its tuning numbers: they change the time, not the answer. A solver keeps the tolerance of the problem
    or says in its verdict that it did not.
    """

    description: ClassVar[str] = "the solver"
    """What messages call it."""

    def __repr__(self) -> str:
        """Show the numbers that are not the default ones."""
        fields = ((field.name, getattr(self, field.name), field.default) for field in dataclasses.fields(self))
        changed = (f"{name}={value!r}" for name, value, default in fields if value != default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def begin(self, game: MarkovGame) -> Memory:
        """Return the memory of a solver that has solved nothing yet."""
        del game
        return None

    @abc.abstractmethod
    def steps(self, problem: PlanningProblem, memory: Memory, max_steps: Int[Array, ""]) -> tuple[Solution, Memory]:
        """Solve inside compiled code, from the memory of an earlier solution; check nothing.

        A negative number of steps stands for as many as the method can need.
        """

    @abc.abstractmethod
    def occupancy(
        self, mdp: MDP, policy: Float[Array, "S A"], start: Vector, tolerance: Float[Array, ""], memory: Memory
    ) -> tuple[Vector, Bool[Array, ""], Memory]:
        """Return ρ_π from a guess, and whether ‖ρ - ρ*‖₁ is within the tolerance."""

    @abc.abstractmethod
    def products(self, mdp: MDP, policy: Float[Array, "S A"], memory: Memory) -> tuple[Operator, Operator]:
        """Return x ↦ (I - γ P_π)⁻¹ x and x ↦ (I - γ P_πᵀ)⁻¹ x, roughly: what directions of steps need."""
