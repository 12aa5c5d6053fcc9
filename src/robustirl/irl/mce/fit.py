r"""Maximum causal entropy IRL, standard and robust: one loop (Algorithm 1).

The learner has a world M^L without a reward and the expert's state occupancy ρ. It looks for a reward R_θ
under which the mixture α π_pl + (1-α) π_op of the two players of the game has that occupancy in M^L. With

    c(θ) = (1-γ) P₀ᵀ V_θ - ρᵀ R_θ,        V_θ the value of the game under R_θ,

the gradient in the reward is ρ_mix - ρ, because at a saddle point only the explicit dependence on the
reward counts (the gradient theorem of the appendix). For α = 1 this is the convex dual of standard MCE IRL
and the opponent plays no part; any reward model enters through its own gradient alone.
"""

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import optax
from jax.core import Tracer

from robustirl._runtime import progress_bar, single_threaded_blas, wait_interruptibly, working_precision
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.irl._batch import choose_vectorize, one_for_each, unstack
from robustirl.irl._callbacks import require_callbacks
from robustirl.irl._result import require_success
from robustirl.irl.inputs import require_occupancy
from robustirl.irl.mce.callbacks import Callback, Step
from robustirl.irl.mce.preparation import Prepared, Settings, is_standard, prepare
from robustirl.irl.mce.problem import LIKELIHOOD, LIKELIHOOD_TOLERANCE
from robustirl.irl.mce.programs import learn_batch
from robustirl.irl.mce.result import Fit, found_maximum
from robustirl.irl.mce.stretches import learn_one, learn_one_by_one
from robustirl.irl.optimizers import ADAM
from robustirl.mdp import MDP, as_list, concrete
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward
from robustirl.theory import AbstractUncertainty
from robustirl.types import ArrayLike, Objective, Tree

PAPER_STEPS = 200
ONE_BY_ONE_STATES = 128
"""States from which `fit_many` makes its fits in so many calls; below, a call takes longer than a step."""
PAPER_SETTINGS: dict[str, Any] = {"optimizer": ADAM, "steps": PAPER_STEPS, "keep_last": True}
"""The paper's configuration, `fit(world, occupancy, **PAPER_SETTINGS)`: 200 steps of Adam, and the last iterate."""
WITHOUT_EVIDENCE = 1.0
"""α for an occupancy alone: nothing in it tells how far the expert's world is from the learner's."""


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
    optimizer: optax.GradientTransformation | None = None,
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
            states and actions. For a likelihood the recorded choices: demonstrations with actions, or `Choices`.
        alpha: α in (0, 1]: one for standard MCE IRL, less for an opponent who acts with probability 1-α. "auto" is 1
            here, because an occupancy alone does not tell how far the expert's world is from the learner's; from
            demonstrations, `RobustIRL` and `robustirl.demonstrations.estimate_alpha` estimate it. An array `[S]` or
            `[S, A]` gives α in every state, or for every action of the player in it
            (`robustirl.demonstrations.estimate_local_alpha`).
        uncertainty: A set of kernels around the world (`theory.as_uncertainty`) in place of an opponent: the player
            plans against the worst kernel of the set, and its occupancy there is brought to the expert's. The result's
            `occupancy` is that one, and its `opponent` is the player itself.
        reward: The reward model, of states or of states and actions; one parameter per state if omitted.
        objective: "occupancy" matches the expert's occupancy; "likelihood" makes the recorded actions as probable as
            possible under the mixture of player and opponent (see `robustirl.irl.mce.choice_likelihood`).
        penalty: For a likelihood, the precision of a Gaussian prior on every parameter; 0 for none.
        optimizer: Any Optax optimizer. If omitted, `SCORING` for a likelihood. Otherwise, if the reward is linear in
            its parameters (tabular ones are), `NEWTON` if a tolerance is given, or at α = 1 if there are at most 5,000
            parameters, else `SETTLING_ADAM`; for other rewards the paper's.
        steps: The largest number of parameter updates.
        tolerance: Stop once the gap ‖ρ_mix - ρ‖₁ (of the features, for a linear reward) is this small. Give the error
            of an estimated occupancy to match the expert no more closely than the data tell; the rewards found are then
            small. By default 1e-4 of the expert's mass in states that can be left. For a likelihood it is the
            largest entry of the gradient of the mean log-probability, 1e-9 by default.
        keep_last: Return the last iterate instead of the one with the smallest gap, and take all steps if no tolerance
            is given: what the paper does (`PAPER_SETTINGS`).
        temperatures: Entropy weights of player and opponent; the paper's by default.
        planner_tolerance: Accuracy of every planner call; see `robustirl.planning.solvers.newton`. If omitted, plain
            gradient methods in worlds of more than 5,000 states plan only as exactly as the gap needs until the end.
        initial_parameters: θ to start from, shaped as the reward model's own, such as the `parameters` of an earlier
            fit. The optimizer starts afresh.
        callbacks: Functions of a `Step`, each called at the start and after every update. One that returns False ends
            the fit, which the verdict then calls `stopped`. Returning to Python for them costs a millisecond or two a
            step.
        progress: Show a bar with the gap and an estimate of the time left.
        throw: Raise `ConvergenceError` if a planner fails, or if a tolerance was given and is not reached.

    Ctrl-C raises `Interrupted`, a KeyboardInterrupt, with the fit so far in its attribute `fit`. It is answered within
    a second or two, or after the step under way in worlds where one takes longer.

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
    require_callbacks(callbacks, Step)
    _require_untraced("fit", mdp, occupancy, alpha, initial_parameters)
    occupancy = occupancy if objective == LIKELIHOOD else require_occupancy(occupancy)
    starts = None if initial_parameters is None else [initial_parameters]
    settings = Settings(optimizer, steps, tolerance, keep_last, temperatures, planner_tolerance, objective, penalty)
    prepared = prepare([mdp], [occupancy], [as_alpha_number(alpha)], reward, starts, settings, uncertainty)
    (problem,), (start,) = prepared
    with single_threaded_blas(mdp.num_states), progress_bar("learning", prepared.steps, show=progress) as report:
        result = learn_one(problem, start, callbacks, report)
    if objective == LIKELIHOOD and tolerance is None and not (keep_last or found_maximum(result)):
        tolerance = LIKELIHOOD_TOLERANCE  # A maximum that was not found is not an estimate.
    return require_success(result, tolerance) if throw else result


def _require_untraced(name: str, *given: Any) -> None:
    """Refuse the tracers of `jax.jit`, `jax.vmap` and `jax.grad`.

    They cannot decide when a fit has ended.
    """
    if not concrete(*given) and any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(given)):
        raise InvalidInputError(
            f"{name} was called inside jax.jit, jax.vmap or jax.grad, which cannot trace it; call it outside, and use"
            " robustirl.fit_many to make many fits in one compiled call."
        )


@working_precision
def fit_many(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: float | Literal["auto"] | Sequence[ArrayLike] = "auto",
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    optimizer: optax.GradientTransformation | None = None,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    keep_last: bool = False,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Sequence[Tree] | None = None,
    vectorize: bool | None = None,
    progress: bool = False,
    throw: bool = True,
) -> list[Fit]:
    """Run many fits of problems of one shape in one compiled call.

    The numbers are those of one-by-one fits.

    Args:
        mdps: The learners' worlds, all of one size.
        occupancies: ρ for each.
        alphas: One number for all, or a list with an α for each, numbers or arrays; see `fit`.
        rewards: One reward model for all, or one for each.
        optimizer: See `fit`.
        steps: See `fit`.
        tolerance: See `fit`.
        keep_last: See `fit`.
        temperatures: See `fit`.
        planner_tolerance: See `fit`.
        initial_parameters: θ to start from, for each.
        vectorize: Advance all fits in lockstep (right for GPUs) or one after the other (right for CPUs,
            where a lockstep waits for its slowest member in every planner call); by default by device.
        progress: Show a bar with an estimate of the time left.
        throw: See `fit`.

    Ctrl-C is answered within a second or two of computing. With `progress`, and in worlds of 128 states and more, fits
    that are made one after the other are so many calls: `Interrupted` is then raised with the list of fits so far in
    its attribute `fit`, the last of them stopped. Otherwise they are one call, which cannot be stopped halfway: a
    KeyboardInterrupt is raised, and the call goes on in the background until it ends.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> rho = [0.1, 0.8, 0.1]
        >>> [round(f.player[0, 0].item(), 3) for f in fit_many([world] * 2, [rho] * 2, [1.0, 0.9], steps=500)]
        [0.889, 0.988]
    """
    _require_untraced("fit_many", mdps, occupancies, alphas, initial_parameters)
    mdps, occupancies = _as_lists(mdps, occupancies)
    chosen = [as_alpha_number(alpha) for alpha in one_for_each(alphas, len(mdps))]
    standard = [index for index, alpha in enumerate(chosen) if is_standard(alpha)]
    given = [mdps, occupancies, chosen, *(part for part in (rewards, initial_parameters) if isinstance(part, Sequence))]
    alike = len({len(part) for part in given}) == 1  # What is not is refused below, by name.
    if optimizer is None and tolerance is None and alike and 0 < len(standard) < len(mdps):
        # The default optimizer is another at α = 1, so that these fits are a batch of their own.
        robust = [index for index in range(len(chosen)) if index not in standard]
        out: list[Any] = [None] * len(chosen)
        for group in (standard, robust):
            fits = fit_many(
                [mdps[index] for index in group],
                [occupancies[index] for index in group],
                [chosen[index] for index in group],
                rewards=[rewards[index] for index in group] if isinstance(rewards, Sequence) else rewards,
                steps=steps,
                keep_last=keep_last,
                temperatures=temperatures,
                planner_tolerance=planner_tolerance,
                initial_parameters=None if initial_parameters is None else [initial_parameters[i] for i in group],
                vectorize=vectorize,
                progress=progress,
                throw=throw,
            )
            for index, fit in zip(group, fits, strict=True):
                out[index] = fit
        return out
    settings = Settings(optimizer, steps, tolerance, keep_last, temperatures, planner_tolerance)
    prepared = prepare(mdps, occupancies, chosen, rewards, initial_parameters, settings)
    if not choose_vectorize(vectorize) and (progress or mdps[0].num_states >= ONE_BY_ONE_STATES):
        total = len(mdps) * prepared.steps
        with (
            single_threaded_blas(mdps[0].num_states),
            progress_bar(f"learning, {len(mdps)} fits", total, show=progress) as report,
        ):
            return _all_successful(learn_one_by_one(prepared, report), tolerance, throw)
    stack = wait_interruptibly(_learn_stack(prepared, vectorize))
    out = _all_successful([one.trimmed() for one in unstack(stack, len(mdps))], tolerance, throw)
    return [jax.tree.map(jax.device_put, result) for result in out]


def _as_lists(mdps: object, occupancies: object) -> tuple[list[Any], list[Any]]:
    """Return what a batch is given, one of each per fit; refuse what has no items."""
    return (
        as_list("what is given as worlds", mdps, "a list with a world for each fit"),
        as_list("what is given as occupancies", occupancies, "a list with an occupancy for each fit"),
    )


def _all_successful(fits: list[Fit], tolerance: float | None, throw: bool) -> list[Fit]:
    """Return the fits, or raise if one failed or missed its tolerance."""
    if throw:
        for index, result in enumerate(fits):
            require_success(result, tolerance, f" (fit {index} of {len(fits)})" if len(fits) > 1 else "")
    return fits


@working_precision
def fit_batch(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: float | Literal["auto"] | Sequence[ArrayLike] = "auto",
    *,
    rewards: AbstractReward | Sequence[AbstractReward] | None = None,
    optimizer: optax.GradientTransformation | None = None,
    steps: int = PAPER_STEPS,
    tolerance: float | None = None,
    keep_last: bool = False,
    temperatures: Temperatures = Temperatures(),
    planner_tolerance: float | None = None,
    initial_parameters: Sequence[Tree] | None = None,
    vectorize: bool | None = None,
) -> Fit:
    """Run `fit_many` and return one stacked result on the device.

    Every array has a first axis of fits. Without an optimizer all fits of the batch have the default of the robust ones
    if any α is below 1. Transferring hundreds of small results from a GPU one by one takes longer than computing them.
    Nothing is raised: look at the verdict's arrays. Histories are as long as the steps allow, with zeros after the last
    step taken.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp()
        >>> fits = fit_batch([world] * 2, [[0.1, 0.8, 0.1]] * 2, [1.0, 0.9], steps=500)
        >>> fits.player.shape, fits.player[:, 0, 0].round(3).tolist()
        ((2, 3, 2), [0.889, 0.988])
    """
    settings = Settings(optimizer, steps, tolerance, keep_last, temperatures, planner_tolerance)
    mdps, occupancies = _as_lists(mdps, occupancies)
    chosen = [as_alpha_number(alpha) for alpha in one_for_each(alphas, len(mdps))]
    fits = _learn_stack(prepare(mdps, occupancies, chosen, rewards, initial_parameters, settings), vectorize)
    return eqx.tree_at(lambda f: f.history, fits, jax.tree.map(lambda log: log[:, : steps + 1], fits.history))


def _learn_stack(prepared: Prepared, vectorize: bool | None) -> Fit:
    """Return all fits as one stack, with histories of the length that the program has room for."""
    batch, starts = prepared.stacked()
    with single_threaded_blas(batch.game.mdp.mask.shape[-2]):
        return jax.block_until_ready(learn_batch(batch, starts, choose_vectorize(vectorize)))


def as_alpha_number(alpha: ArrayLike | Literal["auto"]) -> ArrayLike:
    """Return α as it was given, and 1 for "auto".

    The reason is that an occupancy alone says nothing about α.
    """
    return WITHOUT_EVIDENCE if isinstance(alpha, str) and alpha == "auto" else alpha  # pyright: ignore[reportReturnType]
