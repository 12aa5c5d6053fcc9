r"""Maximum causal entropy IRL, standard and robust: one loop (Algorithm 1).

The learner has a world M^L without a reward and the expert's state occupancy ρ. It looks for a reward R_θ
under which the mixture α π_pl + (1-α) π_op of the two players of the game has that occupancy in M^L. With

    c(θ) = (1-γ) P₀ᵀ V_θ - ρᵀ R_θ,        V_θ the value of the game under R_θ,

the gradient in the reward is ρ_mix - ρ, because at a saddle point only the explicit dependence on the
reward counts (the gradient theorem of the appendix). For α = 1 this is the convex dual of standard MCE IRL
and the opponent plays no part; any reward model enters through its own gradient alone.
"""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from robustirl._runtime import WORKING_BYTES, as_float, require_memory, single_threaded_blas, working_precision
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl._result import Fit, Status
from robustirl.irl.mce.callbacks import Callback, learn_in_steps
from robustirl.irl.mce.loop import Problem, learn
from robustirl.irl.optimizers import ADAM
from robustirl.mdp import MDP, MarkovGame, as_count, as_occupancy, as_positive, as_world, checks
from robustirl.planning import Temperatures, as_temperatures, stopping_rule
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import ArrayLike, FloatTree, Tree

PAPER_STEPS = 200

_Given = tuple[MarkovGame, Float[Array, " S"], AbstractReward]  # What one fit of many is given.


@working_precision
def fit(
    mdp: MDP,
    occupancy: ArrayLike,
    *,
    alpha: float = 1.0,
    reward: AbstractReward | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Tree | None = None,
    callbacks: Sequence[Callback] = (),
    throw: bool = True,
) -> Fit:
    """Learn a reward and a policy for the learner's world from the expert's state occupancy.

    Args:
        mdp: The learner's world M^L. It has no reward, and the expert's world is nowhere to be seen.
        occupancy: ρ(s), the expert's normalised discounted state occupancy, `[S]`.
        alpha: α in (0, 1]: one for standard MCE IRL, less for an opponent who acts with probability 1-α.
        reward: The reward model; one parameter per state by default.
        optimizer: Any Optax optimiser; the paper's Adam by default, `LBFGS` for the convex case α = 1. A fit is
            compiled anew for every optimiser object, so make it once and reuse it.
        steps: The largest number of parameter updates; a fit is compiled anew for every such number.
        tolerance: Stop once ‖ρ_mix - ρ‖₁ is this small; by default all steps are taken, as in the paper.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        planner_tolerance: Accuracy of every planner call; see `robustirl.planning.solvers.newton`.
        initial_parameters: θ to start from, shaped as the reward model's own, such as the `parameters` of an earlier
            fit. The optimiser starts afresh.
        callbacks: Functions of a `Step`, each called at the start and after every update. One that returns False ends
            the fit, which the verdict then calls `stopped`. Ctrl-C raises `Interrupted`, with the fit so far in it.
            Coming back to Python for them costs a millisecond or two a step.
        throw: Raise `ConvergenceError` if a planner fails, or if a tolerance was given and is not reached.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import LBFGS
        >>> from robustirl.planning import expert_policy, state_occupancy
        >>> env = ThreeState()
        >>> expert_world = env.mdp(noise=0.1)
        >>> rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward, kind="optimal"))
        >>> result = fit(env.mdp(noise=0.0), rho, alpha=0.95, optimizer=LBFGS, tolerance=1e-8)
        >>> round(result.player[0, 0].item(), 4), round(env.player_probability(0.1, 0.95), 4)
        (0.9474, 0.9474)
    """
    settings = (optimizer, steps, tolerance, temperatures, planner_tolerance)
    starts = None if initial_parameters is None else [initial_parameters]
    (given,), (begin,), shared = _prepare([mdp], [occupancy], [alpha], reward, starts, *settings)
    problem = Problem(*given, *shared)
    if not callbacks:
        return _learn_one(problem, begin, tolerance, throw)
    with single_threaded_blas(mdp.num_states):
        result = learn_in_steps(problem, begin, callbacks)
    return _require_success(result, tolerance, "") if throw else result


@working_precision
def fit_many(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: Sequence[float],
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Sequence[Tree] | None = None,
    vectorize: bool | None = None,
    throw: bool = True,
) -> list[Fit]:
    """Many fits of like-shaped problems in one compiled call, with the numbers of one-by-one fits.

    Args:
        mdps: The learners' worlds, all of one size.
        occupancies: ρ for each.
        alphas: α for each.
        rewards: One reward model for all, or one for each.
        optimizer: See `fit`.
        steps: See `fit`.
        tolerance: See `fit`.
        temperatures: See `fit`.
        planner_tolerance: See `fit`.
        initial_parameters: θ to start from, for each.
        vectorize: Advance all fits in lockstep (right for GPUs) or one after the other (right for CPUs,
            where a lockstep waits for its slowest member in every planner call); by default by device.
        throw: See `fit`.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> rho = [0.1, 0.8, 0.1]
        >>> [round(f.player[0, 0].item(), 3) for f in fit_many([world] * 2, [rho] * 2, [1.0, 0.9], steps=500)]
        [0.889, 0.988]
    """
    stack = fit_batch(
        mdps,
        occupancies,
        alphas,
        rewards=rewards,
        optimizer=optimizer,
        steps=steps,
        tolerance=tolerance,
        temperatures=temperatures,
        planner_tolerance=planner_tolerance,
        initial_parameters=initial_parameters,
        vectorize=vectorize,
    )
    fits = jax.tree.map(np.asarray, stack)  # In one go; slices would be one a leaf.
    out = [jax.tree.map(lambda leaf, i=i: leaf[i], fits).trimmed() for i in range(len(mdps))]
    if throw:
        for index, result in enumerate(out):
            _require_success(result, tolerance, f" (fit {index} of {len(out)})" if len(out) > 1 else "")
    return [jax.tree.map(jnp.asarray, result) for result in out]


@working_precision
def fit_batch(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: Sequence[float],
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Sequence[Tree] | None = None,
    vectorize: bool | None = None,
) -> Fit:
    """`fit_many` as one stacked result, which stays on the device: every array has a first axis of fits.

    Taking hundreds of small results off a GPU one by one takes longer than to compute them. Nothing is raised: look at
    the verdict's arrays. Histories are as long as the steps allow, with zeros after the last step taken.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> fits = fit_batch([world] * 2, [[0.1, 0.8, 0.1]] * 2, [1.0, 0.9], steps=500)
        >>> fits.player.shape, fits.player[:, 0, 0].round(3).tolist()
        ((2, 3, 2), [0.889, 0.988])
    """
    settings = (optimizer, steps, tolerance, temperatures, planner_tolerance)
    return _learn_all(*_prepare(mdps, occupancies, alphas, rewards, initial_parameters, *settings), vectorize)


def _prepare(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: Sequence[float],
    rewards: AbstractReward | Sequence[AbstractReward] | None,
    starts: Sequence[Tree] | None,
    optimizer: optax.GradientTransformation,
    steps: int,
    tolerance: float | None,
    temperatures: Temperatures,
    planner_tolerance: float | None,
) -> tuple[list[_Given], list[Tree | None], tuple]:
    """What each problem is given, where to start it, and what all of them share, after checking everything."""
    temperatures = as_temperatures(temperatures)
    mdps = [as_world(mdp) for mdp in mdps]
    if not len(mdps) == len(occupancies) == len(alphas) > 0:
        raise InvalidInputError(
            f"{len(mdps)} worlds, {len(occupancies)} occupancies and {len(alphas)} alphas were given,"
            " but one of each per fit is needed, and at least one."
        )
    steps = as_count("steps", steps)
    if tolerance is not None:
        tolerance = as_positive("the tolerance", tolerance)
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InvalidInputError(
            f"the optimizer is {optimizer!r}, but an Optax optimiser is needed, such as optax.adam(0.1)."
        )
    states = sum(mdp.num_states for mdp in mdps)
    require_memory(
        WORKING_BYTES * float(states), f"learning in worlds of {states} states", "use smaller ones, or fewer at a time"
    )
    games = _once(MarkovGame, mdps, alphas)
    experts = _once(as_occupancy, occupancies, mdps)
    models = _reward_models(rewards, mdps)
    if planner_tolerance is not None:
        for game, expert in zip(games, experts, strict=True):
            stopping_rule(game, expert, planner_tolerance)  # Refuses a tolerance out of reach before work starts.
    threshold = as_float(0.0 if tolerance is None else tolerance)
    shared = (threshold, optimizer, steps, temperatures, planner_tolerance)
    problems = list(zip(games, experts, models, strict=True))
    if starts is None:
        return problems, [None] * len(problems), shared
    if len(starts) != len(problems):
        raise InvalidInputError(
            f"{len(starts)} initial parameters were given for {len(problems)} fits; give one for each, or none."
        )
    return problems, [_as_parameters(start, model) for start, model in zip(starts, models, strict=True)], shared


def _learn_one(problem: Problem, start: Tree | None, tolerance: float | None, throw: bool) -> Fit:
    """One fit, as a program of its own: as a batch of one, every loop in it would carry the batch's bookkeeping."""
    with single_threaded_blas(problem.game.mdp.num_states):
        result = jax.block_until_ready(_learn_alone(problem, start)).trimmed()
    return _require_success(result, tolerance, "") if throw else result


def _learn_all(problems: Sequence[_Given], starts: Sequence[Tree | None], shared: tuple, vectorize: bool | None) -> Fit:
    """All fits in one compiled call, as one stack."""
    games, experts, models = zip(*problems, strict=True)
    stacks = _stack(games, "world"), _stack(experts, "occupancy"), _stack(models, "reward model")
    threshold, *settings = shared
    batch = Problem(*stacks, jnp.full(len(problems), threshold), *settings)
    if vectorize is None:
        vectorize = jax.default_backend() != "cpu"
    with single_threaded_blas(games[0].mdp.num_states):
        return jax.block_until_ready(_learn_batch(batch, _stack(starts, "initial parameter"), vectorize))


_learn_alone = eqx.filter_jit(learn)


@eqx.filter_jit
def _learn_batch(batch: Problem, starts: Tree, vectorize: bool) -> Fit:
    def one(given: tuple[Problem, Tree]) -> Fit:
        return learn(*given)

    return jax.vmap(one)((batch, starts)) if vectorize else jax.lax.map(one, (batch, starts))


def _as_parameters(given: Tree, model: AbstractReward) -> FloatTree:
    """θ to start from, if it is shaped as the model's own and all its numbers are finite."""
    own = jax.eval_shape(model.initial_parameters)
    shapes = [leaf.shape for leaf in jax.tree.leaves(own)]
    found = [np.shape(leaf) for leaf in jax.tree.leaves(given)]
    if jax.tree.structure(given) != jax.tree.structure(own) or found != shapes:
        raise InvalidInputError(
            f"the initial parameters have the shapes {found}, but the reward model's have {shapes}, arranged as in its"
            " initial_parameters(); give such parameters, for instance those of an earlier fit with this model."
        )
    leaves = [checks.as_floats("an array of the initial parameters", leaf) for leaf in jax.tree.leaves(given)]
    for place, leaf in enumerate(leaves):
        checks.require_finite(f"array {place} of the initial parameters", leaf.ravel(), ("entry",))
    return jax.tree.unflatten(jax.tree.structure(own), [as_float(leaf) for leaf in leaves])


def _reward_models(
    rewards: AbstractReward | Sequence[AbstractReward] | None, mdps: Sequence[MDP]
) -> Sequence[AbstractReward]:
    if isinstance(rewards, AbstractReward):
        models = [rewards] * len(mdps)
    else:
        models = [TabularReward(mdp.num_states) for mdp in mdps] if rewards is None else list(rewards)
    if not all(isinstance(model, AbstractReward) for model in models):
        raise InvalidInputError("the reward is not a reward model; give one, such as LinearReward(features).")
    if len(models) != len(mdps):
        raise InvalidInputError(
            f"{len(models)} reward models were given for {len(mdps)} fits; give one for all, or one for each."
        )
    return models


def _stack(trees: Sequence, what: str):
    """Stack like-shaped trees along a new first axis; those given several times are handed over once."""
    own = {id(tree): tree for tree in trees}
    first, *others = own.values()
    shape = _shape(first)
    if any(_shape(other) != shape for other in others):
        raise InvalidInputError(f"the {what}s of one batch differ in shape or kind; fit them in separate batches.")
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *own.values())
    if len(own) == len(trees):
        return stacked
    order = {key: place for place, key in enumerate(own)}
    places = np.array([order[id(tree)] for tree in trees])
    return jax.tree.map(lambda leaf: leaf[places], stacked)


def _shape(tree: Tree) -> tuple:
    return jax.tree.structure(tree), *map(np.shape, jax.tree.leaves(tree))


def _once(make: Callable, *columns: Sequence) -> list:
    """`make` of every row of arguments, the same object for the same arguments."""
    made: dict[tuple[int, ...], object] = {}
    rows = list(zip(*columns, strict=True))
    for row in rows:
        key = tuple(id(item) for item in row)
        if key not in made:
            made[key] = make(*row)
    return [made[tuple(id(item) for item in row)] for row in rows]


def _require_success(result: Fit, tolerance: float | None, which: str) -> Fit:
    """`result` itself, or an error about how it ended; who stopped it knows."""
    verdict = result.verdict
    if verdict.status == Status.FAILED:
        raise ConvergenceError(
            f"planning failed after {int(verdict.steps)} steps of the fit{which}, where the reward had grown to"
            f" {float(np.abs(result.reward).max()):.1e}: no reward may match this expert, or the steps are too large;"
            " take smaller or fewer steps, or pass throw=False to keep the last sound iterate."
        )
    if tolerance is not None and verdict.status == Status.BUDGET:
        raise ConvergenceError(
            f"the occupancy gap is {float(verdict.occupancy_gap):.3e} after {int(verdict.steps)} steps{which},"
            f" above the tolerance {tolerance:.3e}; raise steps or the tolerance, or pass throw=False to keep the fit"
            " (no reward may reach it: with alpha below 1 or another expert's world a match need not exist)."
        )
    return result
