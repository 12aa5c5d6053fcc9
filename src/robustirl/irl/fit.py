r"""Maximum causal entropy IRL, standard and robust: one loop (Algorithm 1).

The learner has a world M^L without a reward, and the expert's occupancy or choices. What is lowered is an objective
(`objectives.py`), by an optimizer (`optimize.py`). Steps move the solution little, so each plan starts from what the
last one left. One compiled program, `advance`, serves single fits, stretches of steps between callbacks, and batches.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import as_list, concrete
from robustirl._jax import jit, released, wait_interruptibly, working_precision
from robustirl._progress import (
    Interrupted,
    Report,
    ignore_progress,
    progress_bar,
    require_callbacks,
    run_in_stretches,
)
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.irl.objectives import Evaluation
from robustirl.irl.optimize import ADAM, choose
from robustirl.irl.problem import LIKELIHOOD_TOLERANCE, Problem, Settings, as_parameters, as_problem, one_for_each
from robustirl.irl.result import LIKELIHOOD, Fit, FitVerdict, History, Step, found_maximum, require_success
from robustirl.mdp import MDP
from robustirl.planning.operators import Temperatures
from robustirl.planning.problem import AbstractSolver, Memory
from robustirl.planning.solve import single_threaded
from robustirl.planning.verdict import Solution, Verdict
from robustirl.rewards import AbstractReward
from robustirl.theory.uncertainty import AbstractUncertainty
from robustirl.types import ArrayLike, FloatTree, HeldArray, Objective, Tree

PAPER_STEPS = 200
PAPER_SETTINGS: dict[str, Any] = {"optimizer": ADAM, "steps": PAPER_STEPS, "keep_last": True}
"""The paper's configuration, `fit(world, occupancy, **PAPER_SETTINGS)`: 200 steps of Adam, and the last iterate."""
STRETCH_SECONDS, MAX_GROWTH = 0.4, 1000
"""A stretch of steps takes about so long, so that Ctrl-C costs no more; the first may be compiled."""

Callback = Callable[[Step], object]
"""A function of a `Step`. Return False to stop; any other answer is ignored."""


class LoopState(eqx.Module):
    """What is known, and the parameters to evaluate next.

    Attributes:
        step: How many parameters were evaluated.
        following: The parameters to evaluate next.
        here: Where the optimizer stands: the last evaluation that it accepted.
        kept: What a fit returns.
        best: The step of `kept`.
        valid: Whether the last plan was exact enough.
        planner: What the planner leaves to the next plan.
        optimizer: The memory of the optimizer.
        least_gap: The largest lower bound on the gap of every policy so far.
    """

    step: Int[HeldArray, ""]
    following: FloatTree
    here: Evaluation
    kept: Evaluation
    best: Int[HeldArray, ""]
    valid: Bool[HeldArray, ""]
    planner: Memory
    least_gap: Float[HeldArray, ""]
    optimizer: Tree
    history: History
    error_bound: Float[HeldArray, ""]
    settled: Bool[HeldArray, ""]
    finished: Bool[HeldArray, ""]


def begin(problem: Problem, start: FloatTree | None = None) -> LoopState:
    """Return the state before anything was evaluated."""
    game = problem.game
    mdp, dtype = game.mdp, game.mdp.initial.dtype
    parameters: FloatTree = problem.model.initial_parameters() if start is None else start
    number, vector, policy = np.zeros((), dtype), np.zeros(mdp.num_states, dtype), np.zeros(mdp.mask.shape, dtype)
    no, count = np.asarray(False), np.zeros((), np.asarray(problem.steps).dtype)
    infinite = np.full((), np.inf, dtype)
    blank = Evaluation(
        parameters=parameters,
        solution=Solution(vector, policy, policy, game.alpha, Verdict(no, count, number, number)),
        occupancy=mdp.initial,
        value=infinite,
        gradient=jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), parameters),
        magnitude=number,
        gap=infinite,
        occupancy_gap=infinite,
        entropy=number,
        valid=no,
        shift=number,
    )
    state = LoopState(
        step=count,
        following=parameters,
        here=blank,
        kept=blank,
        best=count,
        valid=no,
        planner=problem.solver.begin(game),
        least_gap=np.full((), -np.inf, dtype),
        optimizer=problem.optimizer.begin(problem, blank),
        history=History(*(np.zeros(problem.capacity, kind) for kind in (dtype, dtype, count.dtype))),
        error_bound=number,
        settled=no,
        finished=no,
    )
    return jax.tree.map(jnp.asarray, state)


def advance(problem: Problem, state: LoopState, until: Int[Array, ""]) -> LoopState:
    """Evaluate parameters and move on, until so many were evaluated or the fit is finished.

    The start is included in the number.
    """
    objective, optimizer, rule = problem.objective, problem.optimizer, problem.rule()

    def evaluate(state: LoopState) -> LoopState:
        now, planner = objective.evaluate(problem, state.following, state.here, state.planner, rule)
        first = state.step == 0
        goal = problem.tolerance
        improved = objective.is_better(now, state.kept) | (now.gap <= goal)
        better = first | (now.valid & (problem.keep_last | improved))
        kept = choose(better, now, state.kept)
        bound = objective.least_gap(problem, now)
        least = jnp.where(now.valid, jnp.maximum(state.least_gap, bound), state.least_gap)
        following, here, memory, settled = optimizer.move(
            problem, now, state.here, kept, planner, state.optimizer, least
        )
        settled = settled & ~problem.keep_last
        # A step whose plan is not valid is not taken: the fit ends with what it had, unless it can step back.
        lost = ~now.valid & (first | (not optimizer.survives()))
        at = state.step
        log, error = state.history, now.solution.verdict.error_bound
        return LoopState(
            step=state.step + 1,
            following=following,
            here=here,
            kept=kept,
            best=jnp.where(better, state.step, state.best),
            valid=now.valid,
            planner=planner,
            least_gap=least,
            optimizer=memory,
            history=History(
                log.occupancy_gap.at[at].set(now.occupancy_gap),
                log.dual.at[at].set(now.value),
                log.planner_steps.at[at].set(now.solution.verdict.iterations),
            ),
            error_bound=jnp.where(now.valid | first, jnp.maximum(state.error_bound, error), state.error_bound),
            settled=settled,
            finished=lost | (now.valid & (now.gap <= goal)) | settled,
        )

    def unfinished(state: LoopState) -> Bool[Array, ""]:
        return (state.step < until) & ~state.finished

    return jax.tree.map(_strongly_typed, jax.lax.while_loop(unfinished, evaluate, state))


def _strongly_typed(leaf: Any) -> Any:
    """Return an array whose type is not weak: all states are then of the same types, and share one program."""
    return jax.lax.convert_element_type(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf


_advance = jit(advance)


@jit
def _advance_all(problems: Problem, states: LoopState, until: Int[Array, ""]) -> LoopState:
    """Advance a batch in lockstep."""
    return eqx.filter_vmap(advance, in_axes=(eqx.if_array(0), eqx.if_array(0), None))(problems, states, until)


def is_over(problem: Problem, state: LoopState) -> bool:
    """Say whether the gap is closed, a step failed, or all steps were taken."""
    return bool(state.finished) or int(state.step) > int(problem.steps)


def finish(problem: Problem, state: LoopState, stopped: bool = False) -> Fit:
    """Return the fit as it stands, put together on the host."""
    state = jax.tree.map(np.asarray, eqx.tree_at(lambda s: (s.here, s.planner, s.optimizer), state, ((), (), ())))
    kept, mdp = state.kept, problem.game.mdp
    expert = np.asarray(problem.expert)
    steps, least = int(state.step) - 1, float(state.least_gap)
    tolerance, gap = float(problem.tolerance), float(kept.gap)
    # What the steps before have gained is as good as a fit that no further step improves. An optimizer that steps back
    # from plans that are not exact enough has tried: where the start is best, that is its answer.
    gained = int(state.best) > 0 or problem.optimizer.survives()
    ended_well = bool(state.valid) or (gained and not bool(problem.keep_last))
    given = {
        "converged": gap <= tolerance,
        "valid": bool(kept.valid) and ended_well,
        "stopped": stopped,
        "settled": bool(state.settled) or not bool(state.valid),
        "steps": steps,
        "best_step": state.best,
        "occupancy_gap": kept.occupancy_gap,
        "gap": gap,
        "least_gap": max(least, 0.0) if np.isfinite(least) else np.nan,
        "error_bound": state.error_bound,
        "tolerance": tolerance,
    }
    reward = problem.model(jax.tree.map(jnp.asarray, kept.parameters))
    values = kept.solution.value + kept.shift / (1 - np.asarray(mdp.discount))
    fit = Fit(
        player=kept.solution.player,
        opponent=kept.solution.opponent,
        reward=reward,
        parameters=kept.parameters,
        value=values,
        expert_occupancy=expert if expert.ndim == 1 else expert.sum(-1),
        occupancy=kept.occupancy,
        alpha=problem.game.alpha,
        discount=mdp.discount,
        history=jax.tree.map(lambda log: log[: steps + 1], state.history),
        verdict=FitVerdict(**{name: np.asarray(value) for name, value in given.items()}),
        objective=problem.objective.name,
    )
    return jax.tree.map(jnp.asarray, fit)


def run(
    problem: Problem, start: FloatTree | None, callbacks: Sequence[Callback] = (), report: Report = ignore_progress
) -> Fit:
    """Run one fit, in stretches, or with a stop after every step for callbacks; the same program serves both."""
    last, length, begun = int(problem.steps) + 1, 1, time.monotonic()

    def step_on(state: LoopState) -> LoopState:
        nonlocal length, begun
        before, begun = begun, time.monotonic()
        if int(state.step) and not callbacks:  # How long the last stretch took tells how long the next one should be.
            seconds = max(begun - before, 1e-6)
            length = max(1, min(MAX_GROWTH * length, int(length * STRETCH_SECONDS / seconds)))
        return _advance(problem, state, jnp.asarray(min(int(state.step) + length, last)))

    def view(state: LoopState) -> Step:
        here, at = state.here, int(state.step) - 1
        report(at, f"gap {float(here.occupancy_gap):.3g}")
        gap, dual = float(here.occupancy_gap), float(here.value)
        return Step(at, gap, dual, here.parameters, here.solution.player, problem.model)

    def shown(step: Step) -> None:
        del step

    asked = [*callbacks, shown] if callbacks or report is not ignore_progress else []
    state, stopped = run_in_stretches(
        begin(problem, start),
        step_on,
        is_over=lambda state: is_over(problem, state),
        view=view,
        finish=lambda state: finish(problem, state, True),
        callbacks=asked,
    )
    return finish(problem, state, stopped)


@working_precision
def fit(
    mdp: MDP,
    occupancy: ArrayLike | Demonstrations | Choices,
    *,
    alpha: ArrayLike | Literal["auto"] = "auto",
    uncertainty: AbstractUncertainty | None = None,
    reward: AbstractReward | None = None,
    objective: Objective = "occupancy",
    penalty: float = 0.0,
    optimizer: Any = None,
    solver: AbstractSolver | None = None,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    keep_last: bool = False,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Tree | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
    throw: bool = True,
) -> Fit:
    """Learn a reward and a policy from the expert's occupancy, or from recorded choices.

    The reward and the policy are for the learner's world.

    Args:
        mdp: The learner's world M^L, without a reward.
        occupancy: ρ(s), the expert's normalized discounted state occupancy, `[S]`; ρ(s,a), `[S, A]`, for a reward of
            states and actions; or demonstrations, from which it is estimated. For a likelihood the recorded choices:
            demonstrations with actions, or `Choices`.
        alpha: α in (0, 1]: one for standard MCE IRL, less for an opponent who acts with probability 1-α. "auto" is the
            choice of `irl.select_alpha`, which demonstrations and choices allow; an occupancy cannot choose it. An
            array `[S]` or `[S, A]` gives α in every state, or for every action of the player in it.
        uncertainty: A set of kernels around the world (`theory.as_uncertainty`) in place of an opponent: the player
            plans against the worst kernel of the set, and its occupancy there is brought to the expert's.
        reward: The reward model, of states or of states and actions; one parameter per state if omitted.
        objective: "occupancy" matches the expert's occupancy; "likelihood" makes the recorded actions as probable as
            possible under the mixture of player and opponent.
        penalty: For a likelihood, the precision of a Gaussian prior on every parameter; 0 for none.
        optimizer: Any Optax optimizer; if omitted `irl.NEWTON`, and beyond 5,000 parameters Adam with a decaying rate.
        solver: What plans, such as `planning.krylov.NewtonKrylov()`; by the size of the world if omitted.
        steps: The largest number of parameter updates.
        tolerance: Stop once the gap ‖ρ_mix - ρ‖₁ (of the features, for a linear reward) is this small. Give the error
            of an estimated occupancy to match the expert no more closely than the data tell; the rewards found are then
            small. By default 1e-4 of the expert's mass in states that can be left. For a likelihood it is the
            largest entry of the gradient of the mean log-probability, 1e-9 by default.
        keep_last: Return the last iterate instead of the one with the smallest gap, and take all steps if no tolerance
            is given: what the paper does (`PAPER_SETTINGS`).
        temperatures: Entropy weights of player and opponent; the paper's by default.
        planner_tolerance: Accuracy of every planner call.
        initial_parameters: θ to start from, shaped as the reward model's own, such as the `parameters` of an earlier
            fit. The optimizer starts afresh.
        callbacks: Functions of a `Step`, each called at the start and after every update. One that returns False ends
            the fit, which the verdict then calls `stopped`.
        progress: Show a bar with the gap and an estimate of the time left.
        throw: Raise `ConvergenceError` if a planner fails, or if a tolerance was given and is not reached.

    Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the fit so far in its attribute `fit`.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.planning import expert_policy, state_occupancy
        >>> env = ThreeState()
        >>> expert_world = env.mdp(noise=0.1)
        >>> rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward, kind="optimal"))
        >>> result = fit(env.mdp(noise=0.0), rho, alpha=0.95, tolerance=1e-8)
        >>> round(result.player[0, 0].item(), 4), round(env.player_probability(0.1, 0.95), 4)
        (0.9474, 0.9474)
    """
    require_callbacks(callbacks)
    _require_untraced("fit", mdp, occupancy, alpha, initial_parameters)
    settings = Settings(
        optimizer, solver, steps, tolerance, keep_last, temperatures, planner_tolerance, objective, penalty
    )
    if isinstance(occupancy, Demonstrations | Choices):
        occupancy, alpha = _from_demonstrations(mdp, occupancy, alpha, reward, settings, uncertainty)
    problem = as_problem(mdp, occupancy, alpha, reward, settings, uncertainty)
    start = None if initial_parameters is None else as_parameters(initial_parameters, problem.model)
    with progress_bar("learning", steps, show=progress) as report, single_threaded(problem.game.mdp):
        result = run(problem, start, callbacks, report)
    return _judged(result, tolerance, keep_last) if throw else result


def _from_demonstrations(
    mdp: MDP,
    given: Demonstrations | Choices,
    alpha: ArrayLike | str,
    reward: AbstractReward | None,
    settings: Settings,
    uncertainty: AbstractUncertainty | None,
) -> tuple[Any, Any]:
    """Return what is to be matched, and α, chosen if that was asked for."""
    from robustirl.irl.alpha import matched_occupancy, select_alpha  # It fits, as this module does.

    if isinstance(alpha, str) and alpha == "auto" and uncertainty is None:
        names = ["optimizer", "solver", "steps", "tolerance", "temperatures", "objective"]
        names += ["penalty"] if settings.objective == LIKELIHOOD else []
        options = {name: getattr(settings, name) for name in names}
        alpha = select_alpha(mdp, given, reward=reward, **options).alpha
    if settings.objective == LIKELIHOOD or not isinstance(given, Demonstrations):
        return given, alpha
    return matched_occupancy(given, mdp, reward), alpha


def _judged(result: Fit, tolerance: float | None, keep_last: bool, which: str = "") -> Fit:
    """Return a fit, or raise if it failed or missed what was asked for."""
    if result.objective == LIKELIHOOD and tolerance is None and not (keep_last or found_maximum(result)):
        tolerance = LIKELIHOOD_TOLERANCE  # A maximum that was not found is not an estimate.
    return require_success(result, tolerance, which)


def _require_untraced(name: str, *given: Any) -> None:
    """Refuse the tracers of `jax.jit`, `jax.vmap` and `jax.grad`, which cannot decide when a fit has ended."""
    if not concrete(*given) and any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(given)):
        raise InvalidInputError(
            f"{name} was called inside jax.jit, jax.vmap or jax.grad, which cannot trace it; call it outside, and use"
            " robustirl.fit_many to make many fits."
        )


@working_precision
def fit_many(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: float | Sequence[ArrayLike] = 1.0,
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    initial_parameters: Sequence[Tree] | None = None,
    vectorize: bool | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    throw: bool = True,
    **settings: Any,
) -> list[Fit]:
    """Run many fits; the numbers are those of one-by-one fits.

    On a CPU they run one after the other through one program. On an accelerator fits of one shape advance in lockstep.

    Args:
        mdps: The learners' worlds.
        occupancies: ρ for each.
        alphas: One number for all, or a list with an α for each, numbers or arrays; see `fit`.
        rewards: One reward model for all, or one for each.
        initial_parameters: θ to start from, for each.
        vectorize: Advance all fits in lockstep (right for GPUs) or one after the other (right for CPUs, where a
            lockstep waits for its slowest member in every planner call); by default by device.
        n_jobs: Spread the fits over so many processes with joblib, whose `parallel_config` also takes them to Ray or
            Dask; in this process if omitted.
        progress: Show a bar with an estimate of the time left.
        throw: See `fit`.
        settings: What all fits share: `optimizer`, `solver`, `steps`, `tolerance`, `keep_last`, `temperatures`,
            `planner_tolerance`; see `fit`.

    Ctrl-C raises `Interrupted` with the list of fits so far in its attribute `fit`, where they run one after the other.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> rho = [0.1, 0.8, 0.1]
        >>> [round(f.player[0, 0].item(), 3) for f in fit_many([world] * 2, [rho] * 2, [1.0, 0.9])]
        [0.889, 0.988]
    """
    _require_untraced("fit_many", mdps, occupancies, alphas, initial_parameters)
    worlds = as_list("what is given as worlds", mdps, "a list with a world for each fit")
    count = len(worlds)
    rhos = as_list("what is given as occupancies", occupancies, "a list with an occupancy for each fit")
    if count == 0 or len(rhos) != count:
        raise InvalidInputError(
            f"{count} worlds and {len(rhos)} occupancies were given, but one of each per fit is needed."
        )
    shared = Settings(**settings)
    columns = (
        worlds,
        rhos,
        one_for_each(alphas, count, "alphas"),
        one_for_each(rewards, count, "reward models"),
        one_for_each(initial_parameters, count, "initial parameters"),
    )
    rows = list(zip(*columns, strict=True))
    if n_jobs is not None:
        return _judge_all(_in_processes(rows, shared, n_jobs), shared, throw)
    problems = [as_problem(world, rho, alpha, model, shared) for world, rho, alpha, model, _ in rows]
    starts = [
        None if start is None else as_parameters(start, problem.model)
        for (*_, start), problem in zip(rows, problems, strict=True)
    ]
    lockstep = jax.default_backend() != "cpu" if vectorize is None else vectorize
    if lockstep and len({_shape(problem) for problem in problems}) == 1:
        return _judge_all(_in_lockstep(problems, starts), shared, throw)
    out: list[Fit] = []
    with (
        progress_bar(f"learning, {count} fits", count * shared.steps, show=progress) as report,
        single_threaded(worlds[0]),
    ):
        for problem, start in zip(problems, starts, strict=True):

            def shown(done: float, note: str) -> None:
                report(len(out) * shared.steps + done, f"fit {len(out) + 1}, {note}")

            try:
                out.append(run(problem, start, (), shown if progress else ignore_progress))
            except Interrupted as interrupt:
                stopped = [] if interrupt.fit is None else [interrupt.fit]
                raise Interrupted([*released(out), *stopped] or None) from None
    return _judge_all(out, shared, throw)


def _judge_all(fits: list[Fit], settings: Settings, throw: bool) -> list[Fit]:
    """Return the fits, or raise if one failed or missed its tolerance."""
    if throw:
        for index, result in enumerate(fits):
            which = f" (fit {index} of {len(fits)})" if len(fits) > 1 else ""
            _judged(result, settings.tolerance, settings.keep_last, which)
    return fits


def _in_processes(rows: list[tuple], settings: Settings, n_jobs: int) -> list[Fit]:
    try:
        import joblib
    except ModuleNotFoundError:
        raise InvalidInputError("n_jobs needs joblib; install it, or leave n_jobs out.") from None
    return list(joblib.Parallel(n_jobs)(joblib.delayed(_one)(row, settings) for row in rows))  # pyright: ignore[reportReturnType]


@working_precision
def _one(row: tuple, settings: Settings) -> Fit:
    """Run one fit of a batch, in whatever process."""
    world, rho, alpha, model, start = row
    problem = as_problem(world, rho, alpha, model, settings)
    return run(problem, None if start is None else as_parameters(start, problem.model))


def _shape(problem: Problem) -> tuple:
    """Return what must agree for problems to be stacked."""
    arrays, static = eqx.partition(problem, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves), tuple(jax.tree.leaves(static))


def _in_lockstep(problems: list[Problem], starts: list[FloatTree | None]) -> list[Fit]:
    """Advance all fits together until the last one is over."""

    def stacked(trees: list) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *trees)

    states = [begin(problem, start) for problem, start in zip(problems, starts, strict=True)]
    last = max(int(problem.steps) for problem in problems) + 1
    state = wait_interruptibly(_advance_all(stacked(problems), stacked(states), jnp.asarray(last)))
    held = jax.tree.map(np.asarray, eqx.tree_at(lambda s: (s.here, s.planner, s.optimizer), state, ((), (), ())))
    return [finish(problem, jax.tree.map(lambda leaf, i=i: leaf[i], held)) for i, problem in enumerate(problems)]
