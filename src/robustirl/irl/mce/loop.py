"""The loop of (robust) maximum causal entropy IRL, as compiled code (Algorithm 1).

Outer steps move the solution little, so each starts from what the last one left: its value, corrected to
first order for the change of the reward, its occupancy, and its inverse of I - γ P_mix. That one matrix
serves Newton's method, the prediction and (transposed) the occupancy, and is renewed only when it no longer
brings a residual down fast enough.

In large worlds without a demand for accuracy the steps of plain gradient methods are planned only as exactly as the gap
needs (`accuracy.py`), and what is returned is planned once more, exactly.

`begin`, `advance` and `finish` are the loop in parts. `fit` calls them as three compiled programs, whether or not there
are callbacks in between; `learn` puts them together for batches.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from robustirl.errors import InvalidInputError
from robustirl.irl.mce.accuracy import loosened, plans_roughly
from robustirl.irl.mce.certifiable import WORST_ERROR, WORST_ERROR_SINGLE
from robustirl.irl.mce.curvature import Curvature
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.diagnosis import diagnose
from robustirl.irl.mce.landscape import Landscape, features_of, matching_gap
from robustirl.irl.mce.problem import Problem, threshold
from robustirl.irl.mce.result import Fit, FitVerdict, History
from robustirl.mdp import MarkovGame, uniform_policy
from robustirl.planning import (
    PolicyInverse,
    Solution,
    StoppingRule,
    invert_policy,
    newton_steps,
    refine_occupancy,
    solve_policy_transpose,
    stopping_rule,
)
from robustirl.theory import AbstractUncertainty, robust_soft_solution
from robustirl.types import FloatTree, Tree


class Neighbor(eqx.Module):
    """What the planner starts from: a value and an occupancy close by, and an inverse to correct them with.

    Large worlds have no inverse. There a first-order correction is a linear solve, as the planner's first step is.
    """

    value: Float[Array, " S"]
    occupancy: Float[Array, " S"]
    inverse: PolicyInverse | None


class Iterate(eqx.Module):
    """Parameters, and what the planner found under them: what a fit returns of one step."""

    step: Int[Array, ""]
    parameters: FloatTree
    solution: Solution
    occupancy: Float[Array, " S"]
    gap: Float[Array, ""]  # In what the reward can express; see `matching_gap`.


class LoopState(eqx.Module):
    """What is known at the parameters of the step just evaluated, and the parameters to evaluate next."""

    step: Int[Array, ""]
    parameters: FloatTree
    next_parameters: FloatTree
    near: Neighbor
    optimizer: Tree
    solution: Solution
    kept: Iterate
    valid: Bool[Array, ""]
    settled: Bool[Array, ""]
    history: History
    error_bound: Float[Array, ""]
    finished: Bool[Array, ""]


def learn(problem: Problem, start: FloatTree | None = None) -> Fit:
    """Run the whole loop, from the model's initial parameters or from others; for use inside compiled code."""
    return finish(problem, advance(problem, begin(problem, start), problem.steps + 1), jnp.asarray(False))


def begin(problem: Problem, start: FloatTree | None = None) -> LoopState:
    """Return the state before anything was evaluated."""
    game, expert, model = problem.game, problem.expert, problem.model
    mdp = game.mdp
    first: FloatTree = model.initial_parameters() if start is None else start
    if (found := jax.eval_shape(model, first).shape) != expert.shape:
        raise InvalidInputError(
            f"the reward model gives rewards of shape {found}, but the world has {mdp.num_states} states;"
            " build the model for this world."
        )
    blank = jnp.zeros_like(expert)
    nothing = blank_solution(game, blank)
    # Against a set of kernels the chain is that of the worst one, which no inverse of the learner's own world serves.
    inverse = invert_policy(mdp, uniform_policy(mdp.mask)) if problem.uncertainty is None else None
    state = LoopState(
        step=jnp.asarray(0),
        parameters=first,
        next_parameters=first,
        near=Neighbor(blank, mdp.initial, inverse),
        optimizer=optax.with_extra_args_support(problem.optimizer).init(first),
        solution=nothing,
        kept=Iterate(jnp.asarray(0), first, nothing, blank, jnp.full((), jnp.inf, expert.dtype)),
        valid=jnp.asarray(True),
        settled=jnp.asarray(False),
        history=History(*(jnp.zeros(problem.capacity, dtype) for dtype in (expert.dtype, expert.dtype, int))),
        error_bound=jnp.zeros((), expert.dtype),
        finished=jnp.asarray(False),
    )
    return jax.tree.map(_strongly_typed, state)


def advance(problem: Problem, state: LoopState, until: Int[Array, ""] | int) -> LoopState:
    """Evaluate parameters and move on, until so many were evaluated (the start included) or the fit is finished."""
    game, expert, model = problem.game, problem.expert, problem.model
    mdp, temperatures = game.mdp, problem.temperatures
    rule = stopping_rule(game, expert, problem.planner_tolerance)
    worst = WORST_ERROR if expert.dtype == jnp.float64 else WORST_ERROR_SINGLE
    worst_error = worst * temperatures.player if temperatures.player > 0 else jnp.inf
    extended = optax.with_extra_args_support(problem.optimizer)
    curved = is_newton_path(problem.optimizer)
    features, goal = features_of(model), threshold(problem)
    rough = plans_roughly(problem)

    def vouched(solution: Solution) -> Bool[Array, ""]:
        return solution.verdict.converged & (rough | (solution.verdict.error_bound <= worst_error))

    def plan(
        reward: Float[Array, " S"], near: Neighbor, gap: Float[Array, ""]
    ) -> tuple[Solution, Neighbor, Bool[Array, ""]]:
        """Return the saddle point for a reward, its occupancy, and whether that is exact."""
        if problem.uncertainty is not None:
            return plan_in_worst_world(problem.uncertainty, reward, near, rule, temperatures.player)
        here, accuracy = loosened(rule, near.value, gap, goal) if rough else (rule, rule.tolerance)
        solution, inverse = newton_steps(game, reward, near.value, near.inverse, here, temperatures, rough=rough)
        occupancy, inverse, exact = refine_occupancy(mdp, solution.mixture, inverse, near.occupancy, accuracy)
        return solution, Neighbor(solution.value, occupancy, inverse), exact

    def objective(parameters: Tree, near: Neighbor) -> tuple[Float[Array, ""], Bool[Array, ""]]:
        """Return c(θ) alone, for line searches, and whether it can be relied on."""
        reward = model(parameters)
        solution, _ = newton_steps(game, reward, near.value, near.inverse, rule, temperatures)
        return (1 - mdp.discount) * mdp.initial @ solution.value - expert @ reward, vouched(solution)

    def landscape(parameters: Tree, solution: Solution, here: Neighbor) -> Landscape:
        size = (1 - mdp.discount) * mdp.initial @ jnp.abs(solution.value) + expert @ jnp.abs(model(parameters))
        curvature = Curvature(
            game,
            solution.player,
            solution.opponent,
            solution.mixture,
            here.occupancy,
            features,
            temperature=temperatures.player,
        )
        return Landscape(curvature, lambda trial: objective(trial, here), size)

    def dual(parameters: Tree, near: Neighbor, gap: Float[Array, ""]):
        """c(θ), written so that its automatic gradient is the one of the theorem: the planner is not differentiated."""
        reward = model(parameters)
        fixed = jax.lax.stop_gradient(reward)
        solution, here, exact = plan(fixed, near, gap)
        value = (1 - mdp.discount) * mdp.initial @ solution.value - expert @ fixed
        return value + (here.occupancy - expert) @ (reward - fixed), (solution, here, exact)

    def evaluate(state: LoopState) -> LoopState:
        """Plan under the next parameters, compare occupancies, and let the optimizer choose where to go from there."""
        parameters = state.next_parameters
        (value, (solution, here, exact)), gradient = jax.value_and_grad(dual, has_aux=True)(
            parameters, state.near, state.kept.gap
        )
        updates, memory = extended.update(
            gradient,
            state.optimizer,
            parameters,
            value=value,
            grad=gradient,
            value_fn=lambda trial: dual(trial, here, state.kept.gap)[0],
            **({"landscape": landscape(parameters, solution, here)} if curved else {}),
        )
        following = optax.apply_updates(parameters, updates)
        prediction = here.value
        if here.inverse is not None:
            prediction = prediction + here.inverse.apply(model(following) - model(parameters))
        difference = here.occupancy - expert
        gap = matching_gap(features, difference)
        valid = vouched(solution) & exact
        # A step whose plan is not valid is not taken: the fit ends with what it had. At the start there is nothing yet.
        first = state.step == 0
        taken = valid | first
        better = first | (valid & (problem.keep_last | (gap < state.kept.gap)))
        found = Iterate(state.step, parameters, solution, here.occupancy, gap)
        kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, state.kept)
        # What the steps before have gained is as good as a fit that no further step improves.
        ended_well = ~valid & ~problem.keep_last & (kept.step > 0)
        # An update of zero says that the optimizer knows no better place.
        moves = [jnp.any(new != old) for new, old in zip(*map(jax.tree.leaves, (following, parameters)), strict=True)]
        settled = ~problem.keep_last & ~jnp.any(jnp.stack(moves))
        return LoopState(
            step=jnp.where(taken, state.step + 1, state.step),
            parameters=parameters,
            next_parameters=following,
            near=eqx.tree_at(lambda n: n.value, here, prediction),
            optimizer=memory,
            solution=solution,
            kept=kept,
            valid=valid | ended_well,
            settled=(settled & valid) | ended_well,
            history=History(
                occupancy_gap=state.history.occupancy_gap.at[state.step].set(jnp.abs(difference).sum()),
                dual=state.history.dual.at[state.step].set(value),
                planner_steps=state.history.planner_steps.at[state.step].set(solution.verdict.iterations),
            ),
            error_bound=jnp.where(
                taken, jnp.maximum(state.error_bound, solution.verdict.error_bound), state.error_bound
            ),
            finished=~valid | (gap <= goal) | settled,
        )

    def unfinished(state: LoopState) -> Bool[Array, ""]:
        return (state.step < until) & ~state.finished

    return jax.tree.map(_strongly_typed, jax.lax.while_loop(unfinished, evaluate, state))


def _strongly_typed(leaf: Any) -> Any:
    """Return an array whose type is not weak: all states are then of the same types, and share one program."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf


def plan_in_worst_world(
    uncertainty: AbstractUncertainty,
    reward: Float[Array, " S"],
    near: Neighbor,
    rule: StoppingRule,
    temperature: float,
) -> tuple[Solution, Neighbor, Bool[Array, ""]]:
    """Return the saddle point of player and kernel, and the player's occupancy in that kernel.

    The gradient of the dual in the reward is that occupancy less the expert's, for the reason that it is in the game.
    """
    solution = robust_soft_solution(uncertainty, reward, temperature, rule, start=near.value)
    worst = eqx.tree_at(lambda m: m.kernel, uncertainty.mdp, uncertainty.kernel(solution.value))
    visits = solve_policy_transpose(worst, solution.player, worst.initial)
    occupancy = (1 - worst.discount) * visits
    return solution, Neighbor(solution.value, occupancy, None), jnp.all(jnp.isfinite(occupancy))


def finish(problem: Problem, state: LoopState, stopped: Bool[Array, ""]) -> Fit:
    """Return the fit as it stands; `stopped` says that it was told to end here."""
    state = settle_exactly(problem, state) if plans_roughly(problem) else state
    kept, expert = state.kept, problem.expert
    reward = problem.model(kept.parameters)
    # What the player does without the opponent. For α = 1 the start is the answer, and nothing is solved.
    rule = stopping_rule(problem.game, expert, problem.planner_tolerance)
    alone, _, _ = refine_occupancy(
        problem.game.mdp, kept.solution.player, state.near.inverse, kept.occupancy, rule.tolerance
    )
    return Fit(
        player=kept.solution.player,
        opponent=kept.solution.opponent,
        reward=reward,
        parameters=kept.parameters,
        value=kept.solution.value,
        expert_occupancy=expert,
        occupancy=kept.occupancy,
        alpha=problem.game.alpha,
        history=state.history,
        verdict=FitVerdict(
            converged=kept.gap <= threshold(problem),
            valid=state.valid,
            stopped=stopped,
            steps=state.step - 1,
            occupancy_gap=jnp.abs(kept.occupancy - expert).sum(),
            error_bound=state.error_bound,
            settled=state.settled,
            best_step=kept.step,
            tolerance=threshold(problem),
        ),
        diagnosis=diagnose(
            problem, kept.occupancy, alone, kept.gap, reward, state.history, kept.step, kept.solution.player
        ),
    )


def settle_exactly(problem: Problem, state: LoopState) -> LoopState:
    """Return the state with its best iterate planned to full accuracy, and what the verdict says of it."""
    kept, game, expert = state.kept, problem.game, problem.expert
    mdp, reward = game.mdp, problem.model(kept.parameters)
    rule = stopping_rule(game, expert, problem.planner_tolerance)
    solution, _ = newton_steps(game, reward, kept.solution.value, None, rule, problem.temperatures)
    occupancy, _, exact = refine_occupancy(mdp, solution.mixture, None, kept.occupancy, rule.tolerance)
    worst = WORST_ERROR if expert.dtype == jnp.float64 else WORST_ERROR_SINGLE
    worst_error = worst * problem.temperatures.player if problem.temperatures.player > 0 else jnp.inf
    difference = occupancy - expert
    gap = matching_gap(features_of(problem.model), difference)
    dual = (1 - mdp.discount) * mdp.initial @ solution.value - expert @ reward
    history = eqx.tree_at(
        lambda h: (h.occupancy_gap, h.dual),
        state.history,
        (
            state.history.occupancy_gap.at[kept.step].set(jnp.abs(difference).sum()),
            state.history.dual.at[kept.step].set(dual),
        ),
    )
    valid = state.valid & exact & solution.verdict.converged & (solution.verdict.error_bound <= worst_error)
    changed = (
        Iterate(kept.step, kept.parameters, solution, occupancy, gap),
        valid,
        history,
        solution.verdict.error_bound,
    )
    return eqx.tree_at(lambda s: (s.kept, s.valid, s.history, s.error_bound), state, changed)


def blank_solution(game: MarkovGame, blank: Float[Array, " S"]) -> Solution:
    """Return a placeholder of the right shapes, for the first state of the loop."""
    rule = stopping_rule(game, blank, None)
    shapes = jax.eval_shape(lambda: newton_steps(game, blank, blank, None, rule)[0])
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
