"""The loop of (robust) maximum causal entropy IRL, as compiled code (Algorithm 1).

Outer steps move the solution little, so each starts from what the last one left: its value, corrected to
first order for the change of the reward, its occupancy, and its inverse of I - γ P_mix. That one matrix
serves Newton's method, the prediction and (transposed) the occupancy, and is renewed only when it no longer
brings a residual down fast enough.

Large worlds have no such matrix. There value and occupancy are extrapolated from the last steps (`prediction.py`), and
without a demand for accuracy the steps of plain gradient methods are planned only as exactly as the gap needs
(`accuracy.py`). What is returned is planned once more, exactly.

What is minimized is an objective (`matching.py`, `choice_likelihood.py`); the loop is the same for all.
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
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.diagnosis import diagnose
from robustirl.irl.mce.dynamics import game_at
from robustirl.irl.mce.matching import as_matched
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.prediction import Trail, first_trail
from robustirl.irl.mce.problem import OCCUPANCY, Problem, threshold
from robustirl.irl.mce.result import Fit, FitVerdict, History
from robustirl.mdp import MarkovGame, uniform_policy
from robustirl.planning import Solution, Verdict, invert_policy, refine_occupancy, stopping_rule
from robustirl.types import FloatTree, Tree


class Iterate(eqx.Module):
    """Parameters, and what the planner found under them: what a fit returns of one step."""

    step: Int[Array, ""]
    parameters: FloatTree
    solution: Solution
    occupancy: Float[Array, " S"]
    gap: Float[Array, ""]  # What learning has to close; see `AbstractObjective.gaps`.
    value: Float[Array, ""]  # The objective.
    shift: Float[Array, ""]  # What was taken off the reward of every step; see `Neighbor`.


class LoopState(eqx.Module):
    """What is known at the parameters just evaluated, and the parameters to evaluate next."""

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
    trail: Trail | None


def learn(problem: Problem, start: FloatTree | None = None) -> Fit:
    """Run the whole loop, from the model's initial parameters or from others.

    For use inside compiled code.
    """
    return finish(problem, advance(problem, begin(problem, start), problem.steps + 1), jnp.asarray(False))


def begin(problem: Problem, start: FloatTree | None = None) -> LoopState:
    """Return the state before anything was evaluated."""
    game, model = problem.game, problem.model
    mdp = game.mdp
    first: FloatTree = model.initial_parameters() if start is None else start
    if (found := jax.eval_shape(model, first).shape) not in (mdp.mask.shape[:1], mdp.mask.shape):
        raise InvalidInputError(
            f"the reward model gives rewards of shape {found}, but the world has {mdp.num_states} states"
            f" and {mdp.num_actions} actions; build the model for this world."
        )
    blank, none = jnp.zeros_like(mdp.initial), jnp.zeros_like(mdp.discount)
    nothing = blank_solution(game, blank)
    # Against a set of kernels the chain is that of the worst one, which no inverse of the learner's own world serves.
    inverse = invert_policy(mdp, uniform_policy(mdp.mask)) if problem.uncertainty is None else None
    state = LoopState(
        step=jnp.asarray(0),
        parameters=first,
        next_parameters=first,
        near=Neighbor(blank, mdp.initial, inverse, none),
        optimizer=optax.with_extra_args_support(problem.optimizer).init(first),
        solution=nothing,
        kept=Iterate(jnp.asarray(0), first, nothing, blank, none + jnp.inf, none + jnp.inf, none),
        valid=jnp.asarray(True),
        settled=jnp.asarray(False),
        history=History(*(jnp.zeros(problem.capacity, dtype) for dtype in (blank.dtype, blank.dtype, int))),
        error_bound=none,
        finished=jnp.asarray(False),
        trail=first_trail(problem, model(first)),
    )
    return jax.tree.map(_strongly_typed, state)


def advance(problem: Problem, state: LoopState, until: Int[Array, ""] | int) -> LoopState:
    """Evaluate parameters and move on, until so many were evaluated or the fit is finished.

    The start is included in the number.
    """
    objective, model = problem.objective, problem.model
    rule = stopping_rule(problem.game, problem.game.mdp.initial, problem.planner_tolerance)
    extended = optax.with_extra_args_support(problem.optimizer)
    curved = is_newton_path(problem.optimizer)
    goal = threshold(problem)
    rough = plans_roughly(problem)

    def evaluate(state: LoopState) -> LoopState:
        """Plan under the next parameters, find the gaps, and let the optimizer choose the next ones."""
        parameters, near = state.next_parameters, state.near
        exactness = loosened(rule, near, state.kept.gap, goal) if rough else (rule, None)
        (value, found), gradient = jax.value_and_grad(
            lambda at: objective.evaluate(problem, at, near, *exactness), has_aux=True
        )(parameters)
        solution, here = found.solution, found.near
        updates, memory = extended.update(
            gradient,
            state.optimizer,
            parameters,
            value=value,
            grad=gradient,
            value_fn=lambda trial: objective.evaluate(problem, trial, here, rule)[0],
            **({"landscape": objective.landscape(problem, parameters, solution, here, rule)} if curved else {}),
        )
        following = optax.apply_updates(parameters, updates)
        prediction = here.value
        if here.inverse is not None:
            change = model(following) - model(parameters)
            collected = change if change.ndim == 1 else (solution.mixture * change).sum(-1)
            prediction = prediction + here.inverse.apply(collected)
        following_near, trail = eqx.tree_at(lambda n: n.value, here, prediction), state.trail
        if trail is not None:
            trail = trail.after(model(parameters), here, state.step == 0)
            ahead = trail.predict(model(following))
            following_near = eqx.tree_at(lambda n: (n.value, n.occupancy), here, ahead)
        gap, recorded = objective.gaps(problem, gradient, found)
        valid = (solution.verdict.converged if rough else problem.vouched(solution)) & found.exact
        # A step whose plan is not valid is not taken: the fit ends with what it had. At the start there is nothing yet.
        first = state.step == 0
        taken = valid | first
        improved = objective.is_better(value, gap, state.kept.value, state.kept.gap) | (gap <= goal)
        better = first | (valid & (problem.keep_last | improved))
        candidate = Iterate(state.step, parameters, solution, here.occupancy, gap, value, here.shift)
        kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), candidate, state.kept)
        # What the steps before have gained is as good as a fit that no further step improves.
        ended_well = ~valid & ~problem.keep_last & (kept.step > 0)
        # An update of zero says that the optimizer has found no better parameters.
        moves = [jnp.any(new != old) for new, old in zip(*map(jax.tree.leaves, (following, parameters)), strict=True)]
        settled = ~problem.keep_last & ~jnp.any(jnp.stack(moves))
        return LoopState(
            step=jnp.where(taken, state.step + 1, state.step),
            parameters=parameters,
            next_parameters=following,
            near=following_near,
            optimizer=memory,
            solution=solution,
            kept=kept,
            valid=valid | ended_well,
            settled=(settled & valid) | ended_well,
            history=History(
                occupancy_gap=state.history.occupancy_gap.at[state.step].set(recorded),
                dual=state.history.dual.at[state.step].set(value),
                planner_steps=state.history.planner_steps.at[state.step].set(solution.verdict.iterations),
            ),
            error_bound=jnp.where(
                taken, jnp.maximum(state.error_bound, solution.verdict.error_bound), state.error_bound
            ),
            finished=~valid | (gap <= goal) | settled,
            trail=trail,
        )

    def unfinished(state: LoopState) -> Bool[Array, ""]:
        return (state.step < until) & ~state.finished

    return jax.tree.map(_strongly_typed, jax.lax.while_loop(unfinished, evaluate, state))


def _strongly_typed(leaf: Any) -> Any:
    """Return an array whose type is not weak.

    All states are then of the same types, and share one program.
    """
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf


def finish(problem: Problem, state: LoopState, stopped: Bool[Array, ""]) -> Fit:
    """Return the fit as it stands; `stopped` says that it was told to end here."""
    state = settle_exactly(problem, state) if plans_roughly(problem) else state
    kept, game = state.kept, game_at(problem.model, problem.game, state.kept.parameters)
    mdp, expert = game.mdp, problem.expert
    reward = problem.model(kept.parameters)
    rule = stopping_rule(game, mdp.initial, problem.planner_tolerance)

    def occupancy_of(policy: Float[Array, "S A"], start: Float[Array, " S"]) -> Float[Array, " S"]:
        return refine_occupancy(mdp, policy, state.near.inverse, start, rule.tolerance)[0]

    occupancy = kept.occupancy
    if problem.objective_name != OCCUPANCY:
        occupancy = occupancy_of(kept.solution.mixture, kept.occupancy)
    # What the player does without the opponent. For α = 1 the start is the answer, and nothing is solved.
    alone = occupancy_of(kept.solution.player, occupancy)
    visits = expert if expert.ndim == 1 else expert.sum(-1)
    matched = as_matched(occupancy, kept.solution.mixture, expert)
    return Fit(
        player=kept.solution.player,
        opponent=kept.solution.opponent,
        reward=reward,
        parameters=kept.parameters,
        value=kept.solution.value + kept.shift / (1 - mdp.discount),
        expert_occupancy=visits,
        occupancy=occupancy,
        alpha=problem.game.alpha,
        history=state.history,
        verdict=FitVerdict(
            converged=kept.gap <= threshold(problem),
            valid=state.valid,
            stopped=stopped,
            steps=state.step - 1,
            occupancy_gap=jnp.abs(matched - expert).sum(),
            error_bound=state.error_bound,
            settled=state.settled,
            best_step=kept.step,
            tolerance=threshold(problem),
        ),
        diagnosis=diagnose(problem, kept.solution, occupancy, alone, kept.gap, reward, state.history, kept.step),
        objective=problem.objective_name,
    )


def settle_exactly(problem: Problem, state: LoopState) -> LoopState:
    """Return the state with its best iterate planned exactly, and what the verdict says of it."""
    rule = stopping_rule(problem.game, problem.game.mdp.initial, problem.planner_tolerance)
    kept = state.kept
    near = Neighbor(kept.solution.value, kept.occupancy, None, kept.shift)
    value, found = problem.objective.evaluate(problem, kept.parameters, near, rule, None)
    gap, recorded = problem.objective.gaps(problem, kept.parameters, found)
    history = eqx.tree_at(
        lambda h: (h.occupancy_gap, h.dual),
        state.history,
        (
            state.history.occupancy_gap.at[kept.step].set(recorded),
            state.history.dual.at[kept.step].set(value),
        ),
    )
    changed = (
        Iterate(kept.step, kept.parameters, found.solution, found.near.occupancy, gap, value, found.near.shift),
        state.valid & found.exact & problem.vouched(found.solution),
        history,
        found.solution.verdict.error_bound,
    )
    return eqx.tree_at(lambda s: (s.kept, s.valid, s.history, s.error_bound), state, changed)


def blank_solution(game: MarkovGame, blank: Float[Array, " S"]) -> Solution:
    """Return a placeholder of the right shapes, for the first state of the loop."""
    number = jnp.zeros((), blank.dtype)
    verdict = Verdict(jnp.asarray(False), jnp.asarray(0), number, number)
    policy = jnp.zeros(game.mdp.mask.shape, blank.dtype)
    return Solution(blank, policy, policy, jnp.zeros_like(game.alpha), verdict)
