r"""Maximum causal entropy IRL, standard and robust: one loop (Algorithm 1).

The learner has a world M^L without a reward and the expert's state occupancy ρ. It looks for a reward R_θ
under which the mixture α π_pl + (1-α) π_op of the two players of the game has that occupancy in M^L. With

    c(θ) = (1-γ) P₀ᵀ V_θ - ρᵀ R_θ,        V_θ the value of the game under R_θ,

the gradient in the reward is ρ_mix - ρ, because at a saddle point only the explicit dependence on the
reward counts (the gradient theorem of the appendix). For α = 1 this is the convex dual of standard MCE IRL
and the opponent plays no part; any reward model enters through its own gradient alone.

One outer step costs a few factorisations of I - γ P_mix. The last one, at the solution, is used three
times: for the last Newton step's check, transposed for ρ_mix, and to predict the value under the next
reward, from where the next Newton iteration starts.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl.optimizers import ADAM
from robustirl.irl.result import Fit, FitVerdict, History, Status
from robustirl.mdp import MDP, MarkovGame, as_occupancy
from robustirl.planning.newton import newton_steps
from robustirl.planning.operators import Temperatures, require_temperatures
from robustirl.planning.verdict import Solution, stopping_rule
from robustirl.rewards import AbstractReward, TabularReward

PAPER_STEPS = 200


def fit(
    mdp: MDP,
    occupancy: object,
    *,
    alpha: float = 1.0,
    reward: AbstractReward | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    throw: bool = True,
) -> Fit:
    """Learn a reward and a policy for the learner's world from the expert's state occupancy.

    Args:
        mdp: The learner's world M^L. It has no reward, and the expert's world is nowhere to be seen.
        occupancy: ρ(s), the expert's normalised discounted state occupancy, `[S]`.
        alpha: α in (0, 1]: one for standard MCE IRL, less for an opponent who acts with probability 1-α.
        reward: The reward model; one parameter per state by default.
        optimizer: Any Optax optimiser; the paper's Adam by default, `LBFGS` for the convex case α = 1.
        steps: The largest number of parameter updates.
        tolerance: Stop once ‖ρ_mix - ρ‖₁ is this small; by default all steps are taken, as in the paper.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        planner_tolerance: Accuracy of every planner call; see `robustirl.planning.newton`.
        throw: Raise `ConvergenceError` if a planner fails, or if a tolerance was given and is not reached.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.planning import expert_policy, state_occupancy
        >>> env = ThreeState()
        >>> expert_world = env.mdp(noise=0.1)
        >>> rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward, kind="optimal"))
        >>> result = fit(env.mdp(noise=0.0), rho, alpha=0.95, steps=1000)
        >>> round(result.player[0, 0].item(), 4), round(env.player_probability(0.1, 0.95), 4)
        (0.9474, 0.9474)
    """
    many = fit_many(
        [mdp],
        [occupancy],
        [alpha],
        rewards=reward,
        optimizer=optimizer,
        steps=steps,
        tolerance=tolerance,
        temperatures=temperatures,
        planner_tolerance=planner_tolerance,
        throw=throw,
    )
    return many[0]


def fit_many(
    mdps: Sequence[MDP],
    occupancies: Sequence[object],
    alphas: Sequence[float],
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    vectorize: bool | None = None,
    throw: bool = True,
) -> list[Fit]:
    """Many fits of like-shaped problems in one compiled call, with the numbers of one-by-one fits.

    Args:
        mdps: The learners' worlds, all of one size.
        occupancies: ρ for each.
        alphas: α for each.
        rewards: One reward model for all, or one for each.
        vectorize: Advance all fits in lockstep (right for GPUs) or one after the other (right for CPUs,
            where a lockstep waits for its slowest member in every planner call); by default by device.

    The other arguments are those of `fit`.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> rho = [0.1, 0.8, 0.1]
        >>> [round(f.player[0, 0].item(), 3) for f in fit_many([world] * 2, [rho] * 2, [1.0, 0.9], steps=500)]
        [0.889, 0.988]
    """
    require_temperatures(temperatures)
    if not len(mdps) == len(occupancies) == len(alphas) > 0:
        raise InvalidInputError(
            f"{len(mdps)} worlds, {len(occupancies)} occupancies and {len(alphas)} alphas were given,"
            " but one of each per fit is needed, and at least one."
        )
    if steps < 0:
        raise InvalidInputError(f"steps is {steps!r}, but a number of at least 0 is needed.")
    if tolerance is not None and not tolerance > 0:
        raise InvalidInputError(f"the tolerance is {tolerance!r}, but a number above 0 is needed.")
    games = [MarkovGame(mdp, alpha) for mdp, alpha in zip(mdps, alphas, strict=True)]
    experts = [as_occupancy(rho, mdp) for rho, mdp in zip(occupancies, mdps, strict=True)]
    models = _reward_models(rewards, mdps)
    for game, expert in zip(games, experts, strict=True):
        stopping_rule(game, expert, planner_tolerance)  # Refuses a tolerance out of reach before work starts.
    batch = (_stack(games, "world"), jnp.stack(experts), _stack(models, "reward model"))
    if vectorize is None:
        vectorize = jax.default_backend() != "cpu"
    fits = _fit_batch(batch, optimizer, steps, tolerance, temperatures, planner_tolerance, vectorize)
    fits = jax.tree.map(np.asarray, fits)
    out = [_trimmed(jax.tree.map(lambda leaf: leaf[i], fits)) for i in range(len(games))]  # noqa: B023
    if throw:
        for index, (game, result) in enumerate(zip(games, out, strict=True)):
            _require_success(result, tolerance, f" (fit {index} of {len(out)})" if len(out) > 1 else "", game)
    return out


@eqx.filter_jit
def _fit_batch(batch, optimizer, steps, tolerance, temperatures, planner_tolerance, vectorize):
    def one(problem: tuple[MarkovGame, Float[Array, " S"], AbstractReward]) -> Fit:
        game, expert, model = problem
        return _fit(game, expert, model, optimizer, steps, tolerance, temperatures, planner_tolerance)

    return jax.vmap(one)(batch) if vectorize else jax.lax.map(one, batch)


class _State(eqx.Module):
    """Everything known at the parameters of the step just evaluated, and where to go next."""

    step: Int[Array, ""]
    parameters: PyTree[Float[Array, "..."]]
    next_parameters: PyTree[Float[Array, "..."]]
    next_start: Float[Array, " S"]
    optimizer: PyTree
    solution: Solution
    occupancy: Float[Array, " S"]
    history: History
    error_bound: Float[Array, ""]
    finished: Bool[Array, ""]


def _fit(
    game: MarkovGame,
    expert: Float[Array, " S"],
    model: AbstractReward,
    optimizer: optax.GradientTransformation,
    steps: int,
    tolerance: float | None,
    temperatures: Temperatures,
    planner_tolerance: float | None,
) -> Fit:
    mdp = game.mdp
    rule = stopping_rule(game, expert, planner_tolerance)
    extended = optax.with_extra_args_support(optimizer)

    def dual(parameters: PyTree, start: Float[Array, " S"]):
        """c(θ), written so that its automatic gradient is the one of the theorem: the planner is not differentiated."""
        reward = model(parameters)
        fixed = jax.lax.stop_gradient(reward)
        solution, factor = newton_steps(game, fixed, jax.lax.stop_gradient(start), rule, temperatures)
        occupancy = (1 - mdp.discount) * factor.solve_transpose(mdp.initial)
        value = (1 - mdp.discount) * mdp.initial @ solution.value - expert @ fixed
        return value + (occupancy - expert) @ (reward - fixed), (solution, factor, occupancy)

    def evaluate(state: _State) -> _State:
        """Plan under the next parameters, compare occupancies, and let the optimiser choose where to go from there."""
        parameters = state.next_parameters
        (value, (solution, factor, occupancy)), gradient = jax.value_and_grad(dual, has_aux=True)(
            parameters, state.next_start
        )
        updates, memory = extended.update(
            gradient,
            state.optimizer,
            parameters,
            value=value,
            grad=gradient,
            value_fn=lambda trial: dual(trial, solution.value)[0],
        )
        following = optax.apply_updates(parameters, updates)
        prediction = solution.value + factor.solve(model(following) - model(parameters))
        gap = jnp.abs(occupancy - expert).sum()
        entry = History(gap, value, solution.verdict.iterations)
        return _State(
            step=state.step + 1,
            parameters=parameters,
            next_parameters=following,
            next_start=prediction,
            optimizer=memory,
            solution=solution,
            occupancy=occupancy,
            history=jax.tree.map(lambda log, new: log.at[state.step].set(new), state.history, entry),
            error_bound=jnp.maximum(state.error_bound, solution.verdict.error_bound),
            finished=~solution.verdict.converged | (gap <= (0.0 if tolerance is None else tolerance)),
        )

    def unfinished(state: _State) -> Bool[Array, ""]:
        return (state.step <= steps) & ~state.finished

    start = model.initial_parameters()
    blank = jnp.zeros_like(expert)
    state = _State(
        step=jnp.asarray(0),
        parameters=start,
        next_parameters=start,
        next_start=blank,
        optimizer=extended.init(start),
        solution=_blank_solution(game, blank),
        occupancy=blank,
        history=History(*(jnp.zeros(steps + 1, dtype) for dtype in (expert.dtype, expert.dtype, int))),
        error_bound=jnp.zeros_like(game.alpha),
        finished=jnp.asarray(False),
    )
    state = jax.lax.while_loop(unfinished, evaluate, state)
    solution = state.solution
    gap = jnp.abs(state.occupancy - expert).sum()
    return Fit(
        player=solution.player,
        opponent=solution.opponent,
        reward=model(state.parameters),
        parameters=state.parameters,
        value=solution.value,
        expert_occupancy=expert,
        occupancy=state.occupancy,
        alpha=game.alpha,
        history=state.history,
        verdict=FitVerdict(
            converged=jnp.asarray(False) if tolerance is None else gap <= tolerance,
            planned=solution.verdict.converged,
            steps=state.step - 1,
            occupancy_gap=gap,
            error_bound=state.error_bound,
        ),
    )


def _blank_solution(game: MarkovGame, blank: Float[Array, " S"]) -> Solution:
    """A placeholder of the right shapes, for the loop's first state."""
    rule = stopping_rule(game, blank, None)
    shapes = jax.eval_shape(lambda: newton_steps(game, blank, blank, rule)[0])
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def _reward_models(
    rewards: AbstractReward | Sequence[AbstractReward] | None, mdps: Sequence[MDP]
) -> list[AbstractReward]:
    if isinstance(rewards, AbstractReward):
        models = [rewards] * len(mdps)
    else:
        models = [TabularReward(mdp.num_states) for mdp in mdps] if rewards is None else list(rewards)
    if len(models) != len(mdps):
        raise InvalidInputError(f"{len(models)} reward models were given for {len(mdps)} fits; give one for all or one for each.")
    for model, mdp in zip(models, mdps, strict=True):
        found = jax.eval_shape(lambda m=model: m(m.initial_parameters())).shape
        if found != (mdp.num_states,):
            raise InvalidInputError(
                f"the reward model gives rewards of shape {found}, but the world has {mdp.num_states} states;"
                " build the model for this world."
            )
    return models


def _stack(trees: Sequence, what: str):
    """Stack like-shaped trees along a new first axis."""
    if len({(jax.tree.structure(tree), *map(np.shape, jax.tree.leaves(tree))) for tree in trees}) > 1:
        raise InvalidInputError(f"the {what}s of one batch differ in shape or kind; fit them in separate batches.")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _trimmed(result: Fit) -> Fit:
    """`result` with its history cut to the steps taken."""
    length = int(result.verdict.steps) + 1
    return eqx.tree_at(lambda f: f.history, result, jax.tree.map(lambda log: log[:length], result.history))


def _require_success(result: Fit, tolerance: float | None, which: str, game: MarkovGame) -> None:
    verdict = result.verdict
    if verdict.status == Status.FAILED:
        raise ConvergenceError(
            f"planning failed in step {int(verdict.steps)} of the fit{which}, with error bound {float(verdict.error_bound):.3e};"
            " lower the learning rate, or pass throw=False to look at the unfinished fit."
        )
    if tolerance is not None and verdict.status != Status.CONVERGED:
        raise ConvergenceError(
            f"the occupancy gap is {float(verdict.occupancy_gap):.3e} after {int(verdict.steps)} steps{which}, above the"
            f" tolerance {tolerance:.3e}; raise steps or the tolerance, or pass throw=False to keep the fit"
            " (no reward may reach it: with alpha below 1 or another expert's world a match need not exist)."
        )
