"""Check what a fit is given and make one problem of it: world, evidence, α, reward model, settings of the loop."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import (
    as_count,
    as_floats,
    as_positive,
    require_finite,
    require_kind,
    require_memory,
    require_probabilities,
    require_shape,
    shape_of,
)
from robustirl._jax import as_float
from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.choices import as_choices, pair_occupancy
from robustirl.errors import InvalidInputError
from robustirl.irl.objectives import AbstractObjective, Likelihood, Matching, WorstWorld
from robustirl.irl.optimize import AbstractOptimizer, as_optimizer
from robustirl.irl.result import LIKELIHOOD, OCCUPANCY
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.mdp import absorbing_states, as_world
from robustirl.mdp.policy import as_occupancy
from robustirl.planning.operators import Temperatures, as_temperatures, is_zero
from robustirl.planning.problem import AbstractSolver
from robustirl.planning.solve import choose_solver, require_room, require_solver
from robustirl.planning.verdict import StoppingRule, stopping_rule
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.theory.uncertainty import AbstractUncertainty
from robustirl.types import ArrayLike, FloatTree, Tree

DEFAULT_TOLERANCE = 1e-4
"""Of the expert's mass in states that can be left."""
LIKELIHOOD_TOLERANCE = 1e-9
"""Of the gradient of the mean log-likelihood."""
SMALLEST_HISTORY = 256
HISTORY_BYTES = 24
"""An entry: two floats and an integer."""


class Problem(eqx.Module):
    """What a fit is given; the arguments of `robustirl.irl.fit`, checked.

    Attributes:
        game: The learner's world and α.
        expert: ρ, what is to be matched; for a likelihood the shares of the recorded choices, `[S, A]`.
        model: The reward model.
        objective: What is lowered.
        optimizer: What moves the parameters.
        solver: What plans.
        tolerance: The gap at which the fit is finished.
        keep_last: Return the last iterate instead of the one with the smallest gap.
        steps: The largest number of parameter updates.
        planner_tolerance: Accuracy of every planner call; None for the default.
        soft: Entropy weights of player and opponent, None for zero: that there is one is part of the program, its size
            is not; see `temperatures`.
        capacity: How many entries the history has room for; more than `steps`.
    """

    game: MarkovGame
    tolerance: Float[Array, "*batch"]  # Before `expert`: an `[S, A]` alone would pass for a batch of `[S]`.
    expert: Float[Array, "*batch S"] | Float[Array, "*batch S A"]
    model: AbstractReward
    objective: AbstractObjective
    optimizer: AbstractOptimizer
    solver: AbstractSolver
    keep_last: Bool[Array, "*batch"]
    steps: Int[Array, "*batch"]
    planner_tolerance: Float[Array, "*batch"] | None
    soft: tuple[Float[Array, "*batch"] | None, Float[Array, "*batch"] | None]
    capacity: int = eqx.field(static=True)

    @property
    def temperatures(self) -> Temperatures:
        """Return the entropy weights of player and opponent: a zero as a number, others as arrays."""
        player, opponent = self.soft
        return Temperatures(0.0 if player is None else player, 0.0 if opponent is None else opponent)  # pyright: ignore

    def rule(self) -> StoppingRule:
        """Return when plans are exact enough."""
        return stopping_rule(self.game, self.game.mdp.initial, self.planner_tolerance)


class Settings(NamedTuple):
    """What all fits of a batch share, as given to `fit`."""

    optimizer: Any = None
    solver: AbstractSolver | None = None
    steps: int = 200
    tolerance: float | None = None
    keep_last: bool = False
    temperatures: Temperatures = Temperatures()
    planner_tolerance: float | None = None
    objective: str = OCCUPANCY
    penalty: float = 0.0


def as_problem(
    mdp: MDP,
    evidence: Any,
    alpha: ArrayLike | str,
    reward: AbstractReward | None,
    settings: Settings,
    uncertainty: AbstractUncertainty | None = None,
) -> Problem:
    """Check everything that a fit is given, before any work is done."""
    mdp, temperatures = as_world(mdp), as_temperatures(settings.temperatures)
    if settings.objective not in (OCCUPANCY, LIKELIHOOD):
        raise InvalidInputError(f"the objective is {settings.objective!r}, but 'occupancy' or 'likelihood' is needed.")
    by_choices = settings.objective == LIKELIHOOD
    model = TabularReward(mdp.num_states) if reward is None else reward
    require_kind("the reward", model, AbstractReward, "a reward model such as LinearReward(features)")  # pyright: ignore[reportArgumentType]
    _require_fitting(model, mdp)
    if temperatures.player == 0 and (by_choices or uncertainty is not None):
        raise InvalidInputError("the player's temperature is 0, where there is nothing to climb; give one above 0.")
    game = MarkovGame(mdp, _as_alpha(alpha, by_choices or uncertainty is not None))
    if by_choices:
        expert, objective = _as_shares(evidence, mdp, settings.penalty)
    else:
        if settings.penalty:
            raise InvalidInputError("a penalty is for objective='likelihood'; occupancy matching has none.")
        expert, objective = as_expert(evidence, mdp, model), Matching()  # pyright: ignore[reportCallIssue]
    if uncertainty is not None:
        _require_around(uncertainty, game, by_choices)
        objective = WorstWorld(uncertainty)  # pyright: ignore[reportCallIssue]
    solver = choose_solver(mdp) if settings.solver is None else require_solver(settings.solver)
    require_room(solver, mdp)
    steps = as_count("steps", settings.steps)
    require_memory(HISTORY_BYTES * float(history_capacity(steps)), f"a history of {steps} steps", "take fewer steps")
    tolerance = 0.0
    if settings.tolerance is not None:
        tolerance = as_positive("the tolerance", settings.tolerance)
    elif not settings.keep_last:
        tolerance = LIKELIHOOD_TOLERANCE if by_choices else DEFAULT_TOLERANCE * _mass_before_the_end(expert, mdp)
    accuracy = settings.planner_tolerance
    if accuracy is not None:
        stopping_rule(game, game.mdp.initial, accuracy)  # Refuses a tolerance out of reach before work starts.
    player, opponent = (None if is_zero(weight) else as_float(weight) for weight in temperatures)
    optimizer = model.default_optimizer if settings.optimizer is None else settings.optimizer
    count = sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(model.initial_parameters)))
    return Problem(
        game=game,
        tolerance=as_float(tolerance),
        expert=expert,
        model=model,
        objective=objective,
        optimizer=as_optimizer(optimizer, count),
        solver=solver,
        keep_last=jnp.asarray(settings.keep_last),
        steps=jnp.asarray(steps),
        planner_tolerance=None if accuracy is None else as_float(accuracy),
        soft=(player, opponent),
        capacity=history_capacity(steps),
    )


def _as_alpha(alpha: ArrayLike | str, has_default: bool) -> ArrayLike:
    if not isinstance(alpha, str):
        return alpha
    if alpha != "auto":
        raise InvalidInputError(f"alpha is {alpha!r}, but a number in (0, 1] or 'auto' is needed.")
    if not has_default:
        raise InvalidInputError(
            "an occupancy does not tell how far the expert's world is from the learner's, so alpha cannot be chosen"
            " from it; give alpha (1 for standard IRL), or demonstrations in place of the occupancy."
        )
    return 1.0


def _require_fitting(model: AbstractReward, mdp: MDP) -> None:
    shape = reward_shape(model)
    if shape not in (mdp.mask.shape[:1], mdp.mask.shape):
        raise InvalidInputError(
            f"the reward model gives rewards of shape {shape}, but the world has {mdp.num_states} states and"
            f" {mdp.num_actions} actions; build the model for this world."
        )


def _require_around(uncertainty: object, game: MarkovGame, by_choices: bool) -> None:
    """Refuse an uncertainty set that is not around the learner's world, or beside an opponent."""
    found = require_kind(
        "the uncertainty", uncertainty, AbstractUncertainty, "a set such as theory.as_uncertainty(...)"
    )  # pyright: ignore[reportArgumentType]
    if by_choices:
        raise InvalidInputError("a set of kernels is for occupancy matching; for a likelihood give alpha.")
    if found.mdp.mask.shape != game.mdp.mask.shape:
        raise InvalidInputError("the uncertainty set is around another world; build it around the learner's.")
    if not np.all(np.asarray(game.alpha) == 1):
        raise InvalidInputError("an uncertainty set takes the opponent's place; leave alpha out, or give 1.")


def reward_shape(model: AbstractReward) -> tuple[int, ...]:
    """Return the shape of the rewards of a model: (S,) or (S, A)."""
    return jax.eval_shape(model, jax.eval_shape(model.initial_parameters)).shape


def as_expert(occupancy: ArrayLike, mdp: MDP, model: AbstractReward) -> Float[Array, " S"] | Float[Array, "S A"]:
    """Return a checked occupancy as the reward has it: ρ(s), `[S]`, or ρ(s,a), `[S, A]`.

    An occupancy of pairs is summed over actions for a reward of states.
    """
    occupancy = getattr(occupancy, "occupancy", occupancy)  # Of an estimate.
    of_pairs = len(reward_shape(model)) == 2
    axes = len(shape_of("the occupancy", occupancy))
    if axes != 2:
        if of_pairs and axes == 1:
            raise InvalidInputError(
                "the reward is one of states and actions, but the occupancy is one of states; give rho(s,a), [S, A],"
                " from demonstrations with actions, or a reward of states."
            )
        return as_occupancy(occupancy, mdp)
    pairs = as_floats("the occupancy", occupancy)
    require_shape("the occupancy", pairs, mdp.mask.shape, "states, actions")
    absent = (pairs > 0) & ~np.asarray(mdp.mask)
    if absent.any():
        state, action = (int(i) for i in np.argwhere(absent)[0])
        raise InvalidInputError(
            f"the occupancy is {float(pairs[state, action])!r} for action {action} in state {state}, which the world"
            " does not offer there; correct the occupancy or the mask."
        )
    states = as_occupancy(pairs.sum(-1), mdp)
    if not of_pairs:
        return states
    require_probabilities("the occupancy", pairs)
    return as_float(pairs)


def matched_occupancy(
    demonstrations: Demonstrations, mdp: MDP, occupancy: Float[np.ndarray, " S"], model: AbstractReward | None
) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
    """Return what a reward model is matched by: ρ(s), or ρ(s,a) if it is of states and actions."""
    if model is None or len(reward_shape(model)) == 1:
        return occupancy
    return pair_occupancy(demonstrations, mdp, occupancy)


def _as_shares(given: Any, mdp: MDP, penalty: float) -> tuple[Float[Array, "S A"], Likelihood]:
    """Return the shares of the recorded choices, and the objective for them."""
    choices = as_choices(given)
    counts, total = choices.counts(mdp), float(len(choices))
    if not (isinstance(penalty, int | float | np.number) and 0 <= penalty < float("inf")):
        raise InvalidInputError(f"the penalty is {penalty!r}, but a finite number of at least 0 is needed.")
    return as_float(counts / total), Likelihood(as_float(penalty / total))  # pyright: ignore[reportCallIssue]


def _mass_before_the_end(expert: Float[Array, "..."], mdp: MDP) -> float:
    """Return the expert's mass in states that can be left.

    In a world with an end and γ close to 1 nearly all mass is in the end, and a gap that is small beside 1 may be all
    that happens before.
    """
    visits = np.asarray(expert)
    visits = visits if visits.ndim == 1 else visits.sum(-1)
    return float(visits[~np.asarray(absorbing_states(mdp))].sum())


def history_capacity(steps: int) -> int:
    """Return the length of a history with room for `steps` updates.

    It is one of few lengths, since each is a compilation.

    Example:
        >>> history_capacity(0), history_capacity(200), history_capacity(256), history_capacity(5000)
        (256, 256, 1024, 16384)
    """
    capacity = SMALLEST_HISTORY
    while capacity <= steps:
        capacity *= 4
    return capacity


def as_parameters(given: Tree, model: AbstractReward) -> FloatTree:
    """Return θ to start from, if it is shaped as the model's own and all its numbers are finite."""
    own = jax.eval_shape(model.initial_parameters)
    shapes = [leaf.shape for leaf in jax.tree.leaves(own)]
    found = [shape_of("an array of the initial parameters", leaf) for leaf in jax.tree.leaves(given)]
    if jax.tree.structure(given) != jax.tree.structure(own) or found != shapes:
        raise InvalidInputError(
            f"the initial parameters have the shapes {found}, but the reward model's have {shapes}, arranged as in its"
            " initial_parameters(); give such parameters, for instance those of an earlier fit with this model."
        )
    leaves = [as_floats("an array of the initial parameters", leaf) for leaf in jax.tree.leaves(given)]
    for place, leaf in enumerate(leaves):
        require_finite(f"array {place} of the initial parameters", leaf.ravel(), ("entry",))
    return jax.tree.unflatten(jax.tree.structure(own), [as_float(leaf) for leaf in leaves])


def one_for_each(values: Any, count: int, name: str) -> list[Any]:
    """Return a list of values as it is, if it has the right length, and a single one as often as it is needed."""
    several = (isinstance(values, Sequence) and not isinstance(values, str)) or np.ndim(values) == 1
    given = list(values) if several else [values] * count
    if len(given) != count:
        raise InvalidInputError(f"{len(given)} {name} were given for {count} fits; give one for all, or one for each.")
    return given
