r"""The objective of maximum likelihood: how probable the recorded actions are under the policy for a reward.

With n(s,a) the share of the recorded choices that took a in s, and π_mix = α π_pl + (1-α) π_op,

    ℓ(θ) = Σ_{s,a} n(s,a) log π_mix(a|s; θ)

is raised. The policies are one backup at the fixed point V = B_θ(V) of the planner. By the implicit function theorem

    dℓ/dθ = ∂ℓ/∂θ + λᵀ ∂B/∂θ,        (I - γ P_mixᵀ) λ = ∂ℓ/∂V,

so that a gradient costs one linear solve, whatever the number of parameters, and the planner is not differentiated.

A constant taken off the reward of every step changes no policy. It is chosen so that the value at the start is zero:
near γ = 1 the value grows as 1/(1-γ) and its rounding with it, and differences of values do not.
"""

from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from robustirl.irl.mce.dynamics import game_at, outcome_log_probabilities
from robustirl.irl.mce.landscape import Landscape, feature_scales, features_of
from robustirl.irl.mce.matching import for_reward
from robustirl.irl.mce.objective import AbstractObjective, Evaluation, Neighbor
from robustirl.mdp import MarkovGame, mixture
from robustirl.planning import (
    MeanAccuracy,
    PolicyInverse,
    Solution,
    StoppingRule,
    Verdict,
    newton_steps,
    solve_policy,
    solve_policy_transpose,
    two_player_backup,
)
from robustirl.types import FloatTree

if TYPE_CHECKING:
    from robustirl.irl.mce.problem import Problem


CENTERINGS = 3  # How often a constant is taken off; each leaves 1e-6 or less of the value at the start.


class Plan(NamedTuple):
    """A solution for the reward less a constant, in the game under the present parameters."""

    game: MarkovGame
    solution: Solution
    inverse: PolicyInverse | None
    shift: Float[Array, ""]


class Likelihood(AbstractObjective):
    """Make the recorded actions as probable as possible.

    Attributes:
        penalty: Weight of ‖θ‖²/2, per recorded choice: a Gaussian prior on the parameters; 0 for none.
        observations: N, how many choices were recorded.
    """

    penalty: Float[Array, ""]
    observations: Float[Array, ""]

    def evaluate(
        self,
        problem: "Problem",
        parameters: FloatTree,
        near: Neighbor,
        rule: StoppingRule,
        accuracy: MeanAccuracy | None = None,
    ) -> tuple[Float[Array, ""], Evaluation]:
        del accuracy  # A likelihood is always planned exactly.
        plan = self._plan(problem, jax.lax.stop_gradient(parameters), near, rule)
        plan = jax.lax.stop_gradient(plan)
        value, mdp = plan.solution.value, plan.game.mdp
        fixed = jax.lax.stop_gradient(parameters)
        by_value = jax.grad(lambda v: self._backed_up(problem, fixed, plan.shift, v)[0])(value)
        costate = solve_policy_transpose(mdp, plan.solution.mixture, by_value)
        # The first backup gives the likelihood, the second is zero but for its derivative.
        fitness, backup = self._backed_up(problem, parameters, plan.shift, value)
        surrogate = fitness + costate @ (backup - jax.lax.stop_gradient(backup))
        found = Evaluation(
            plan.solution,
            Neighbor(value, near.occupancy, plan.inverse, plan.shift),
            jnp.all(jnp.isfinite(costate)),
            None,
        )
        return self._penalized(surrogate, parameters), found

    def value(
        self, problem: "Problem", parameters: FloatTree, near: Neighbor, rule: StoppingRule
    ) -> tuple[Float[Array, ""], Solution]:
        plan = self._plan(problem, parameters, near, rule)
        fitness, _ = self._backed_up(problem, parameters, plan.shift, plan.solution.value)
        return self._penalized(fitness, parameters), plan.solution

    def landscape(
        self, problem: "Problem", parameters: FloatTree, solution: Solution, near: Neighbor, rule: StoppingRule
    ) -> Landscape:
        matrix = information(problem, parameters, solution.value, near.shift) + self.penalty * jnp.eye(
            ravel_pytree(parameters)[0].size
        )

        def objective(trial: FloatTree) -> tuple[Float[Array, ""], Bool[Array, ""]]:
            value, found = self.value(problem, trial, near, rule)
            return value, problem.vouched(found) & jnp.isfinite(value)

        return Landscape(matrix, objective, jnp.ones_like(near.shift))

    def is_better(
        self, value: Float[Array, ""], gap: Float[Array, ""], kept_value: Float[Array, ""], kept_gap: Float[Array, ""]
    ) -> Bool[Array, ""]:
        del gap, kept_gap
        return value <= kept_value

    def gaps(
        self, problem: "Problem", gradient: FloatTree, found: Evaluation
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the largest entry of the gradient twice.

        For a linear reward each entry is in units of its feature's size.
        """
        del found
        flat, _ = ravel_pytree(gradient)
        features = features_of(problem.model)
        size = jnp.max(jnp.abs(flat if features is None else flat / feature_scales(features)))
        return size, size

    def _plan(self, problem: "Problem", parameters: FloatTree, near: Neighbor, rule: StoppingRule) -> Plan:
        """Solve for the reward less a constant, twice.

        The second time uses the constant that the first one shows.
        """
        game, reward = game_at(problem.model, problem.game, parameters), problem.model(parameters)
        rule = for_reward(rule, reward)

        def centered(_, state: tuple):
            old, inverse, shift = state
            level = game.mdp.initial @ old.value
            start, shift = old.value - level, shift + (1 - game.mdp.discount) * level
            solution, inverse = newton_steps(game, reward - shift, start, inverse, rule, problem.temperatures)
            count = old.verdict.iterations + solution.verdict.iterations
            return eqx.tree_at(lambda s: s.verdict.iterations, solution, count), inverse, shift

        # A loop, not two calls: the planner is then compiled once.
        start = _solution_with(problem, near.value)
        solution, inverse, shift = jax.lax.fori_loop(0, CENTERINGS, centered, (start, near.inverse, near.shift))
        return Plan(game, solution, inverse, shift)

    def _backed_up(
        self, problem: "Problem", parameters: FloatTree, shift: Float[Array, ""], value: Float[Array, " S"]
    ) -> tuple[Float[Array, ""], Float[Array, " S"]]:
        """Return the mean log-likelihood and the value after one backup.

        Both are functions of parameters and value.
        """
        logs, backup = log_policy(problem, parameters, shift, value)
        fitness = (jnp.where(problem.expert > 0, problem.expert, 0) * logs).sum()
        outcomes = outcome_log_probabilities(problem.model, parameters)
        if outcomes is not None:
            fitness = fitness + problem.model.dynamics.counts @ outcomes / self.observations  # pyright: ignore
        return fitness, backup

    def _penalized(self, fitness: Float[Array, ""], parameters: FloatTree) -> Float[Array, ""]:
        flat, _ = ravel_pytree(parameters)
        return -fitness + self.penalty * (flat @ flat) / 2


def _solution_with(problem: "Problem", value: Float[Array, " S"]) -> Solution:
    """Return a placeholder for a solution, with this value and no steps."""
    mask, none = problem.game.mdp.mask, jnp.zeros_like(problem.game.mdp.discount)
    policy = jnp.zeros(mask.shape, value.dtype)
    verdict = Verdict(jnp.asarray(False), jnp.asarray(0), none, none)
    return Solution(value, policy, policy, problem.game.alpha, verdict)


def log_policy(
    problem: "Problem", parameters: FloatTree, shift: Float[Array, ""], value: Float[Array, " S"]
) -> tuple[Float[Array, "S A"], Float[Array, " S"]]:
    """Return log π_mix(a|s) after one backup of the value, and the backup itself.

    The logarithm is zero for unavailable actions.
    """
    game = game_at(problem.model, problem.game, parameters)
    backup = two_player_backup(game, problem.model(parameters) - shift, value, problem.temperatures)
    chances = mixture(backup.player, backup.opponent, game.alpha)
    mask = game.mdp.mask
    return jnp.where(mask, jnp.log(jnp.where(mask, chances, 1)), 0), backup.value


def scores(
    problem: "Problem", parameters: FloatTree, value: Float[Array, " S"], shift: Float[Array, ""]
) -> Float[Array, "S A d"]:
    """Return d log π_mix(a|s) / dθ for every pair at a solution.

    Its dependence on the value is included.
    """
    flat, unravel = ravel_pytree(parameters)
    game = game_at(problem.model, problem.game, parameters)

    def backed_up(theta: Float[Array, " d"], value: Float[Array, " S"]):
        return log_policy(problem, unravel(theta), shift, value)

    by_theta, arriving = jax.jacfwd(backed_up)(flat, value)
    player = two_player_backup(game, problem.model(parameters) - shift, value, problem.temperatures)
    policy = mixture(player.player, player.opponent, game.alpha)
    moved = jax.vmap(lambda column: solve_policy(game.mdp, policy, column), 1, 1)(arriving)

    def along(direction: Float[Array, " S"]) -> Float[Array, "S A"]:
        return jax.jvp(lambda v: backed_up(flat, v)[0], (value,), (direction,))[1]

    return by_theta + jax.vmap(along, 1, 2)(moved)


def outcome_scores(problem: "Problem", parameters: FloatTree) -> Float[Array, "J d"] | None:
    """Return d log ψ_j / dθ for every outcome; None if the model learns no dynamics."""
    flat, unravel = ravel_pytree(parameters)
    if outcome_log_probabilities(problem.model, parameters) is None:
        return None
    return jax.jacfwd(lambda theta: outcome_log_probabilities(problem.model, unravel(theta)))(flat)  # pyright: ignore


def information(
    problem: "Problem", parameters: FloatTree, value: Float[Array, " S"], shift: Float[Array, ""]
) -> Float[Array, "d d"]:
    r"""Return the Fisher information of a choice at a solution.

    It is Σ_s n(s) Σ_a π_mix(a|s) ∇log π_mix ∇log π_mixᵀ.
    """
    rows = scores(problem, parameters, value, shift)
    logs, _ = log_policy(problem, parameters, shift, value)
    mask = problem.game.mdp.mask
    weights = problem.expert.sum(-1, keepdims=True) * jnp.where(mask, jnp.exp(logs), 0)
    found = jnp.einsum("sa,sad,sae->de", weights, rows, rows)
    further = outcome_scores(problem, parameters)
    if further is not None:
        counts = problem.model.dynamics.counts  # pyright: ignore[reportAttributeAccessIssue]
        found = found + (further.T * (counts / counts.sum())) @ further
    return found
