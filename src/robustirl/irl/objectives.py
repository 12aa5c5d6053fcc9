r"""Objectives that learning lowers: the dual of occupancy matching, and the likelihood of recorded choices.

**Occupancies.** The learner looks for a reward R_θ under which the mixture α π_pl + (1-α) π_op of the two players has
the expert's occupancy ρ in the learner's world. The dual is

    c(θ) = (1-γ) P₀ᵀ V_θ - ⟨ρ, R_θ⟩,        V_θ the value of the game under R_θ.

Its gradient in the reward is ρ_mix - ρ: at a saddle point only the explicit dependence on the reward counts (the
gradient theorem of the appendix). For a reward of states and actions both occupancies are those of pairs: the executed
action counts, of the player or the opponent. At α = 1 the dual is convex.

Its second derivative there is that of the player's policy. Let X(s,a) = γ Σ_s' T(s'|s,a) (I - γ P_mix)⁻¹(s',·) be the
derivative of e(s,a) in the reward. Then

    H = (α²/τ) Σ_s ρ_mix(s) Cov_{a ~ π_pl(·|s)}[X(s,a)],

symmetric and positive semidefinite at every α. Below 1 it is the Hessian wherever the opponent has no tie; the
opponent's switches bend the dual downwards only. Where α(s,a) differs by action, the player weighs
α(s,a) X(s,a) + (1-α(s,a)) Σ_b π_op(b|s) X(s,b) in place of α X(s,a).

**Likelihood.** With n(s,a) the share of the recorded choices that took a in s, ℓ(θ) = Σ n(s,a) log π_mix(a|s; θ) is
raised. The policies are one backup at the fixed point V = B_θ(V) of the planner, so that by the implicit function
theorem a gradient costs one linear solve,

    dℓ/dθ = ∂ℓ/∂θ + λᵀ ∂B/∂θ,        (I - γ P_mixᵀ) λ = ∂ℓ/∂V,

and products with the Fisher information Σ_s n(s) Σ_a π_mix ∇log π_mix ∇log π_mixᵀ two.
"""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from robustirl.irl.result import LIKELIHOOD, OCCUPANCY
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.policy import mixture, opposed
from robustirl.planning.operators import two_player_backup
from robustirl.planning.problem import Memory, PlanningProblem
from robustirl.planning.verdict import Solution, StoppingRule
from robustirl.theory.uncertainty import AbstractUncertainty
from robustirl.types import FloatTree, HeldArray

if TYPE_CHECKING:
    from robustirl.irl.problem import Problem

CENTERINGS = 3
"""How often a constant is taken off a reward; each leaves 1e-6 or less of the value at the start."""
WORST_ERROR, WORST_ERROR_SINGLE = 1e-3, 0.1
"""The largest error of the value, as a share of the temperature: what it may do to the player's log-probabilities."""

Curvature = Callable[[Float[Array, " d"]], Float[Array, " d"]]
"""A direction in the flattened parameters to H times it."""


class Evaluation(eqx.Module):
    """What is known at some parameters.

    Attributes:
        parameters: θ.
        solution: The plan under them.
        occupancy: `[S]`, ρ of the mixture.
        value: The objective.
        gradient: Its gradient in θ.
        magnitude: The size of what cancels in the objective, for its rounding.
        gap: What learning has to close; see `FitVerdict`.
        occupancy_gap: What the history records of it.
        entropy: The player's discounted causal entropy, (1-γ) a step, in units of the reward.
        valid: Whether plan and occupancy are exact enough.
        shift: What was taken off the reward of every step, so that values near γ = 1 stay small.
    """

    parameters: FloatTree
    solution: Solution
    occupancy: Float[HeldArray, " S"]
    value: Float[HeldArray, ""]
    gradient: FloatTree
    magnitude: Float[HeldArray, ""]
    gap: Float[HeldArray, ""]
    occupancy_gap: Float[HeldArray, ""]
    entropy: Float[HeldArray, ""]
    valid: Bool[HeldArray, ""]
    shift: Float[HeldArray, ""]


class AbstractObjective(eqx.Module):
    """A function of the reward's parameters that learning lowers."""

    name: ClassVar[str]
    path: ClassVar[bool]
    """Whether the objective may have no minimum, so that it is lowered along a path of weaker regularization."""

    @abc.abstractmethod
    def evaluate(
        self, problem: "Problem", parameters: FloatTree, near: Evaluation, memory: Memory, rule: StoppingRule
    ) -> tuple[Evaluation, Memory]:
        """Plan under the parameters, from what is known nearby and what the planner left."""

    @abc.abstractmethod
    def curvature(self, problem: "Problem", here: Evaluation, memory: Memory) -> Curvature:
        """Return the function that multiplies with the second derivative, without what is not positive in it."""

    @abc.abstractmethod
    def is_better(self, new: Evaluation, kept: Evaluation) -> Bool[Array, ""]:
        """Return whether an iterate is to be kept rather than the best one so far."""

    def least_gap(self, problem: "Problem", here: Evaluation) -> Float[Array, ""]:
        """Return a lower bound on the gap of every policy; minus infinity if these parameters give none."""
        del problem
        return jnp.full_like(here.value, -jnp.inf)


def vouched(problem: "Problem", solution: Solution) -> Bool[Array, ""]:
    """Return whether a plan is exact enough for its policies to be relied on."""
    worst = WORST_ERROR if solution.value.dtype == jnp.float64 else WORST_ERROR_SINGLE
    player, _ = problem.soft
    largest = jnp.inf if player is None else worst * player
    return solution.verdict.converged & (solution.verdict.error_bound <= largest)


class Matching(AbstractObjective):
    """Match the expert's occupancy ρ, of states `[S]` or of states and actions `[S, A]`."""

    name: ClassVar[str] = OCCUPANCY
    path: ClassVar[bool] = True

    def evaluate(
        self, problem: "Problem", parameters: FloatTree, near: Evaluation, memory: Memory, rule: StoppingRule
    ) -> tuple[Evaluation, Memory]:
        expert, model = problem.expert, problem.model
        reward, back = jax.vjp(model, parameters)
        solution, memory = self._plan(problem, reward, near, memory, for_reward(rule, reward))
        mdp, policy = self._world(problem, solution), solution.mixture
        occupancy, exact, memory = problem.solver.occupancy(mdp, policy, near.occupancy, rule.tolerance, memory)
        difference = as_matched(occupancy, policy, expert) - expert
        gains = (1 - mdp.discount) * mdp.initial
        logs = jnp.log(jnp.where(solution.player > 0, solution.player, 1))
        found = Evaluation(
            parameters=parameters,
            solution=solution,
            occupancy=occupancy,
            value=gains @ solution.value - jnp.vdot(expert, reward),
            gradient=back(difference)[0],
            magnitude=gains @ jnp.abs(solution.value) + jnp.vdot(expert, jnp.abs(reward)),
            gap=jnp.abs(model.seen(difference)).sum(),
            occupancy_gap=jnp.abs(difference).sum(),
            entropy=-problem.temperatures.player * (occupancy @ (solution.player * logs).sum(-1)),
            valid=vouched(problem, solution) & exact,
            shift=near.shift,
        )
        return found, memory

    def _plan(
        self, problem: "Problem", reward: Float[Array, "..."], near: Evaluation, memory: Memory, rule: StoppingRule
    ) -> tuple[Solution, Memory]:
        plan = PlanningProblem(problem.game, reward, near.solution.value, rule, problem.temperatures, cold=False)
        return problem.solver.steps(plan, memory, jnp.asarray(-1))

    def _world(self, problem: "Problem", solution: Solution) -> MDP:
        """Return the world in which the occupancy is that of the mixture."""
        del solution
        return problem.game.mdp

    def curvature(self, problem: "Problem", here: Evaluation, memory: Memory) -> Curvature:
        game, solution, model = problem.game, here.solution, problem.model
        mdp, player = self._world(problem, solution), solution.player
        _, unravel = ravel_pytree(here.parameters)
        reward, forward = jax.linearize(model, here.parameters)
        back, pairs, local = jax.linear_transpose(forward, here.parameters), reward.ndim == 2, game.alpha.ndim == 2
        forth, along = problem.solver.products(mdp, solution.mixture, memory)
        weights = here.occupancy[:, None] * player / problem.temperatures.player
        weights = weights if local else game.alpha**2 * weights

        def apply(direction: Float[Array, " d"]) -> Float[Array, " d"]:
            change = forward(unravel(direction))
            collected = (solution.mixture * change).sum(-1) if pairs else change
            moved = mdp.discount * mdp.kernel.expect(forth(collected)) + (change if pairs else 0)
            if local:
                moved = opposed(moved, (solution.opponent * moved).sum(-1), game.alpha)
            weighted = weights * (moved - (player * moved).sum(-1, keepdims=True))
            if local:
                weighted = mixture(weighted, solution.opponent, game.alpha)  # The adjoint of `opposed`.
            occupancy = along(mdp.discount * mdp.kernel.push(weighted))
            image = weighted + occupancy[:, None] * solution.mixture if pairs else occupancy
            return ravel_pytree(back(image)[0])[0]

        return apply

    def is_better(self, new: Evaluation, kept: Evaluation) -> Bool[Array, ""]:
        return new.gap < kept.gap

    def least_gap(self, problem: "Problem", here: Evaluation) -> Float[Array, ""]:
        """Return -c(θ)/‖θ‖∞, at α = 1 a lower bound on the gap of every policy.

        For every policy π with gap g, c(θ) >= ⟨ρ_π - ρ, R_θ⟩ >= -g ‖θ‖∞, as the entropy is not negative.
        """
        if problem.model.scales() is None or problem.expert.ndim == 2:
            return super().least_gap(problem, here)
        size = problem.model.size(here.parameters)
        known = jnp.all(problem.game.alpha == 1) & (size > 0)
        return jnp.where(known, -(here.value + rounding(here)) / jnp.where(size > 0, size, 1), -jnp.inf)


class WorstWorld(Matching):
    """Match the expert's occupancy against the worst kernel of a set in place of an opponent.

    The gradient of the dual in the reward is the player's occupancy in that kernel less the expert's, for the reason
    that it is in the game.
    """

    uncertainty: AbstractUncertainty

    def _plan(
        self, problem: "Problem", reward: Float[Array, "..."], near: Evaluation, memory: Memory, rule: StoppingRule
    ) -> tuple[Solution, Memory]:
        from robustirl.theory.certify import robust_soft_solution  # It plans, as this module does.

        start = near.solution.value
        return robust_soft_solution(self.uncertainty, reward, problem.temperatures.player, rule, start=start), memory

    def _world(self, problem: "Problem", solution: Solution) -> MDP:
        del problem
        mdp = self.uncertainty.mdp
        return eqx.tree_at(lambda m: m.kernel, mdp, self.uncertainty.kernel(solution.value))

    def least_gap(self, problem: "Problem", here: Evaluation) -> Float[Array, ""]:
        return AbstractObjective.least_gap(self, problem, here)


def rounding(here: Evaluation) -> Float[Array, ""]:
    """Return what rounding may do to the objective."""
    return 8 * jnp.finfo(here.value.dtype).eps * here.magnitude


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


class Likelihood(AbstractObjective):
    """Make the recorded actions as probable as possible.

    A constant taken off the reward of every step changes no policy. It is chosen so that the value at the start is
    zero: near γ = 1 the value grows as 1/(1-γ) and its rounding with it, and differences of values do not.

    Attributes:
        penalty: Weight of ‖θ‖²/2, per recorded choice: a Gaussian prior on the parameters; 0 for none.
    """

    penalty: Float[Array, ""]
    name: ClassVar[str] = LIKELIHOOD
    path: ClassVar[bool] = False

    def evaluate(
        self, problem: "Problem", parameters: FloatTree, near: Evaluation, memory: Memory, rule: StoppingRule
    ) -> tuple[Evaluation, Memory]:
        game = problem.model.game(problem.game, parameters)
        solution, memory, shift = self._plan(problem, game, parameters, near, memory, rule)
        mdp, value = game.mdp, solution.value
        forth, along = problem.solver.products(mdp, solution.mixture, memory)
        del forth
        by_value = jax.grad(lambda v: self._fitness(problem, parameters, shift, v)[0])(value)
        costate = solve_costate(mdp, solution.mixture, by_value, along)

        def surrogate(theta: FloatTree) -> tuple[Float[Array, ""], Float[Array, ""]]:
            # The first backup gives the likelihood, the second is zero but for its derivative.
            fitness, backup = self._fitness(problem, theta, shift, value)
            flat, _ = ravel_pytree(theta)
            loss = self.penalty * (flat @ flat) / 2 - fitness
            return loss - costate @ (backup - jax.lax.stop_gradient(backup)), loss

        (_, loss), gradient = jax.value_and_grad(surrogate, has_aux=True)(parameters)
        scales = problem.model.scales()
        slopes = gradient if scales is None else jax.tree.map(jnp.divide, gradient, scales)
        size = jnp.max(jnp.abs(ravel_pytree(slopes)[0]))
        occupancy, exact, memory = problem.solver.occupancy(
            mdp, solution.mixture, near.occupancy, rule.tolerance, memory
        )
        found = Evaluation(
            parameters=parameters,
            solution=solution,
            occupancy=occupancy,
            value=loss,
            gradient=gradient,
            magnitude=jnp.maximum(jnp.abs(loss), 1),
            gap=size,
            occupancy_gap=size,
            entropy=jnp.ones_like(loss),
            valid=vouched(problem, solution) & exact & jnp.isfinite(loss),
            shift=shift,
        )
        return found, memory

    def curvature(self, problem: "Problem", here: Evaluation, memory: Memory) -> Curvature:
        flat, unravel = ravel_pytree(here.parameters)
        game = problem.model.game(problem.game, here.parameters)
        forth, along = problem.solver.products(game.mdp, here.solution.mixture, memory)
        weights = problem.expert.sum(-1, keepdims=True) * here.solution.mixture

        def backed_up(theta: Float[Array, " d"], value: Float[Array, " S"]):
            return log_policy(problem, unravel(theta), here.shift, value)

        _, linear = jax.linearize(backed_up, flat, here.solution.value)
        transposed = jax.linear_transpose(linear, flat, here.solution.value)
        further = jax.hessian(lambda theta: -jnp.asarray(problem.model.further_log_likelihood(unravel(theta))))

        def apply(direction: Float[Array, " d"]) -> Float[Array, " d"]:
            logs, raised = linear(direction, jnp.zeros_like(here.solution.value))
            logs = logs + linear(jnp.zeros_like(direction), forth(raised))[0]
            weighted = weights * logs
            by_theta, by_value = transposed((weighted, jnp.zeros_like(raised)))
            later, _ = transposed((jnp.zeros_like(weighted), along(by_value)))
            return by_theta + later + self.penalty * direction + further(flat) @ direction

        return apply

    def is_better(self, new: Evaluation, kept: Evaluation) -> Bool[Array, ""]:
        return new.value <= kept.value

    def _plan(
        self,
        problem: "Problem",
        game: MarkovGame,
        parameters: FloatTree,
        near: Evaluation,
        memory: Memory,
        rule: StoppingRule,
    ) -> tuple[Solution, Memory, Float[Array, ""]]:
        """Solve for the reward less a constant, some times, each with the constant that the last one shows."""
        reward = problem.model(parameters)
        rule = for_reward(rule, reward)

        def centered(_, state: tuple):
            old, memory, shift, count = state
            level = game.mdp.initial @ old.value
            shift = shift + (1 - game.mdp.discount) * level
            plan = PlanningProblem(game, reward - shift, old.value - level, rule, problem.temperatures, cold=False)
            solution, memory = problem.solver.steps(plan, memory, jnp.asarray(-1))
            return solution, memory, shift, count + solution.verdict.iterations

        # A loop, not several calls: the planner is then compiled once.
        start = (near.solution, memory, near.shift, jnp.asarray(0))
        solution, memory, shift, count = jax.lax.fori_loop(0, CENTERINGS, centered, start)
        return eqx.tree_at(lambda s: s.verdict.iterations, solution, count), memory, shift

    def _fitness(
        self, problem: "Problem", parameters: FloatTree, shift: Float[Array, ""], value: Float[Array, " S"]
    ) -> tuple[Float[Array, ""], Float[Array, " S"]]:
        """Return the mean log-likelihood and the value after one backup."""
        logs, backup = log_policy(problem, parameters, shift, value)
        fitness = (jnp.where(problem.expert > 0, problem.expert, 0) * logs).sum()
        return fitness + problem.model.further_log_likelihood(parameters), backup


def solve_costate(
    mdp: MDP, policy: Float[Array, "S A"], right: Float[Array, " S"], along: Callable
) -> Float[Array, " S"]:
    """Return λ with (I - γ P_πᵀ) λ = b, refined from rough products until rounding ends it."""

    def remainder(x: Float[Array, " S"]) -> Float[Array, " S"]:
        return right - x + mdp.discount * mdp.kernel.push(policy * x[:, None])

    def refine(state):
        x, fault, _ = state
        trial = x + along(fault)
        left = remainder(trial)
        better = jnp.abs(left).sum() < jnp.abs(fault).sum() / 2
        return jnp.where(better, trial, x), jnp.where(better, left, fault), better

    start = jnp.zeros_like(right)
    return jax.lax.while_loop(lambda s: s[2], refine, (start, right, jnp.asarray(True)))[0]


def log_policy(
    problem: "Problem", parameters: FloatTree, shift: Float[Array, ""], value: Float[Array, " S"]
) -> tuple[Float[Array, "S A"], Float[Array, " S"]]:
    """Return log π_mix(a|s) after one backup of the value, and the backup itself.

    The logarithm is zero for unavailable actions.
    """
    game = problem.model.game(problem.game, parameters)
    backup = two_player_backup(game, problem.model(parameters) - shift, value, problem.temperatures)
    chances = mixture(backup.player, backup.opponent, game.alpha)
    mask = game.mdp.mask
    return jnp.where(mask, jnp.log(jnp.where(mask, chances, 1)), 0), backup.value
