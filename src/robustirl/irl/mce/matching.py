r"""The objective of occupancy matching: the dual of maximum causal entropy IRL.

    c(θ) = (1-γ) P₀ᵀ V_θ - ⟨ρ, R_θ⟩,

with the gradient ρ_mix - ρ in the reward, by the envelope theorem. For a reward of states and actions both occupancies
are those of pairs, ρ_mix(s,a) = ρ_mix(s) π_mix(a|s): the executed action counts, of the player or the opponent.
"""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from robustirl.irl.mce.curvature import Curvature
from robustirl.irl.mce.landscape import Landscape, features_of, matching_gap
from robustirl.irl.mce.objective import AbstractObjective, Evaluation, Neighbor
from robustirl.planning import (
    MeanAccuracy,
    Solution,
    StoppingRule,
    newton_steps,
    refine_occupancy,
    solve_policy_transpose,
)
from robustirl.theory import AbstractUncertainty
from robustirl.theory.certify import robust_soft_solution
from robustirl.types import FloatTree

if TYPE_CHECKING:
    from robustirl.irl.mce.problem import Problem


class Matching(AbstractObjective):
    """Match the expert's occupancy ρ, of states `[S]` or of states and actions `[S, A]`."""

    def evaluate(
        self,
        problem: "Problem",
        parameters: FloatTree,
        near: Neighbor,
        rule: StoppingRule,
        accuracy: MeanAccuracy | None = None,
    ) -> tuple[Float[Array, ""], Evaluation]:
        """Return c(θ), written so that its gradient is that of the theorem.

        The planner is not differentiated.
        """
        mdp, expert = problem.game.mdp, problem.expert
        reward = problem.model(parameters)
        fixed = jax.lax.stop_gradient(reward)
        solution, here, exact = self._plan(problem, fixed, near, rule, accuracy)
        difference = as_matched(here.occupancy, solution.mixture, expert) - expert
        found = Evaluation(solution, here, exact, difference)
        value = (1 - mdp.discount) * mdp.initial @ solution.value - jnp.vdot(expert, fixed)
        return value + jnp.vdot(difference, reward - fixed), found

    def _plan(
        self,
        problem: "Problem",
        reward: Float[Array, "..."],
        near: Neighbor,
        rule: StoppingRule,
        accuracy: MeanAccuracy | None,
    ) -> tuple[Solution, Neighbor, Bool[Array, ""]]:
        """Return the saddle point for a reward, its occupancy, and whether that is exact."""
        if problem.uncertainty is not None:
            return plan_in_worst_world(problem.uncertainty, reward, near, rule, problem.temperatures.player)
        solution, inverse = newton_steps(
            problem.game,
            reward,
            near.value,
            near.inverse,
            for_reward(rule, reward),
            problem.temperatures,
            accuracy=accuracy,
        )
        error, rough = (rule.tolerance, False) if accuracy is None else (accuracy.occupancy, True)
        mdp = problem.game.mdp
        occupancy, inverse, exact = refine_occupancy(mdp, solution.mixture, inverse, near.occupancy, error, rough=rough)
        return solution, Neighbor(solution.value, occupancy, inverse, near.shift), exact

    def value(
        self, problem: "Problem", parameters: FloatTree, near: Neighbor, rule: StoppingRule
    ) -> tuple[Float[Array, ""], Solution]:
        mdp, reward = problem.game.mdp, problem.model(parameters)
        solution, _ = newton_steps(
            problem.game, reward, near.value, near.inverse, for_reward(rule, reward), problem.temperatures
        )
        return (1 - mdp.discount) * mdp.initial @ solution.value - jnp.vdot(problem.expert, reward), solution

    def landscape(
        self, problem: "Problem", parameters: FloatTree, solution: Solution, near: Neighbor, rule: StoppingRule
    ) -> Landscape:
        mdp, expert = problem.game.mdp, problem.expert
        earned = jnp.vdot(expert, jnp.abs(problem.model(parameters)))
        size = (1 - mdp.discount) * mdp.initial @ jnp.abs(solution.value) + earned
        curvature = Curvature(
            problem.game,
            solution.player,
            solution.opponent,
            solution.mixture,
            near.occupancy,
            features_of(problem.model),
            temperature=problem.temperatures.player,
            of_pairs=expert.ndim == 2,
        )

        def objective(trial: FloatTree) -> tuple[Float[Array, ""], Bool[Array, ""]]:
            value, found = self.value(problem, trial, near, rule)
            return value, problem.vouched(found)

        return Landscape(curvature, objective, size)

    def gaps(
        self, problem: "Problem", gradient: FloatTree, found: Evaluation
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the gap in what the reward can express, and the occupancy gap ‖ρ_mix - ρ‖₁."""
        del gradient
        assert found.difference is not None
        return matching_gap(features_of(problem.model), found.difference), jnp.abs(found.difference).sum()

    def is_better(
        self, value: Float[Array, ""], gap: Float[Array, ""], kept_value: Float[Array, ""], kept_gap: Float[Array, ""]
    ) -> Bool[Array, ""]:
        del value, kept_value
        return gap < kept_gap


def plan_in_worst_world(
    uncertainty: AbstractUncertainty,
    reward: Float[Array, " S"],
    near: Neighbor,
    rule: StoppingRule,
    temperature: float | Float[Array, ""],
) -> tuple[Solution, Neighbor, Bool[Array, ""]]:
    """Return the saddle point of player and kernel, and the player's occupancy in that kernel.

    The gradient of the dual in the reward is that occupancy less the expert's, for the reason that it is in the game.
    """
    solution = robust_soft_solution(uncertainty, reward, temperature, rule, start=near.value)
    worst = eqx.tree_at(lambda m: m.kernel, uncertainty.mdp, uncertainty.kernel(solution.value))
    visits = solve_policy_transpose(worst, solution.player, worst.initial)
    occupancy = (1 - worst.discount) * visits
    return solution, Neighbor(solution.value, occupancy, None, near.shift), jnp.all(jnp.isfinite(occupancy))


def for_reward(rule: StoppingRule, reward: Float[Array, "..."]) -> StoppingRule:
    """Return the rule for this reward.

    Rewards of actions may cancel in the value, and their size counts then. It counts for rounding and for the accuracy
    asked for alike, so that no solver is asked for more than there can be.
    """
    if reward.ndim == 1:
        return rule
    size = jnp.max(jnp.abs(reward))
    return StoppingRule(rule.tolerance, rule.discount, jnp.maximum(rule.unit, size), size, rule.limit)


def as_matched(
    occupancy: Float[Array, " S"], policy: Float[Array, "S A"], expert: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Return an occupancy as the expert's has it: of states, or of states and actions."""
    return occupancy if expert.ndim == 1 else occupancy[:, None] * policy
