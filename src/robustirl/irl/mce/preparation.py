"""Check what fits are given and make problems of it: worlds, occupancies, α, reward models, settings of the loop."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from robustirl._runtime import WORKING_BYTES, as_float, require_memory
from robustirl.errors import InvalidInputError
from robustirl.irl._batch import make_once, stack, tree_shape
from robustirl.irl.mce.certifiable import require_certifiable
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.evidence_checks import (
    as_expert,
    as_shares,
    require_rewards_alone,
)
from robustirl.irl.mce.landscape import is_linear
from robustirl.irl.mce.matching import Matching
from robustirl.irl.mce.optimizer_choice import (
    LARGEST_NEWTON,
    count_parameters,
    likelihood_optimizer,
    matching_optimizer,
)
from robustirl.irl.mce.problem import (
    DEFAULT_TOLERANCE,
    HISTORY_BYTES,
    LIKELIHOOD,
    LIKELIHOOD_TOLERANCE,
    OCCUPANCY,
    Problem,
    history_capacity,
)
from robustirl.mdp import (
    MDP,
    MarkovGame,
    as_count,
    as_list,
    as_local_alpha,
    as_positive,
    as_world,
    checks,
    without_halves,
)
from robustirl.planning import Temperatures, as_temperatures, stopping_rule
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.theory import AbstractUncertainty
from robustirl.types import ArrayLike, FloatTree, Tree


class Settings(NamedTuple):
    """What all fits of a batch share, as given to `fit`."""

    optimizer: optax.GradientTransformation | None
    steps: int
    tolerance: float | None
    keep_last: bool
    temperatures: Temperatures
    planner_tolerance: float | None
    objective: str = OCCUPANCY
    penalty: float = 0.0


class Prepared(NamedTuple):
    """Checked problems, and the parameters that each starts from (None for the model's own)."""

    problems: list[Problem]
    starts: list[FloatTree | None]

    @property
    def steps(self) -> int:
        """Return the largest number of steps of each."""
        return int(self.problems[0].steps)

    def stacked(self) -> tuple[Problem, Tree]:
        """Return all problems as one, with a first axis of fits, and their starts likewise."""
        first, count = self.problems[0], len(self.problems)

        def column(name: str, what: str):
            return stack([getattr(problem, name) for problem in self.problems], what)

        def games() -> Any:
            own = [problem.game for problem in self.problems]
            alike = len({tree_shape(game) for game in own}) == 1
            return stack(own if alike else make_once(without_halves, own), "world")

        def repeated(number: Array | None) -> Any:
            # On the host, without a program for every count.
            return None if number is None else jax.device_put(np.full(count, np.asarray(number)))

        return Problem(
            game=games(),
            expert=column("expert", "occupancy"),
            model=column("model", "reward model"),
            tolerance=repeated(first.tolerance),
            relative=repeated(first.relative),
            keep_last=repeated(first.keep_last),
            steps=repeated(first.steps),
            planner_tolerance=repeated(first.planner_tolerance),
            optimizer=first.optimizer,
            capacity=first.capacity,
            soft=(repeated(first.soft[0]), repeated(first.soft[1])),
            objective=column("objective", "objective"),
        ), stack(self.starts, "initial parameter")


def prepare(
    mdps: Sequence[MDP],
    occupancies: Sequence[Any],
    alphas: Sequence[ArrayLike],
    rewards: AbstractReward | Sequence[AbstractReward] | None,
    starts: Sequence[Tree] | None,
    settings: Settings,
    uncertainty: AbstractUncertainty | None = None,
) -> Prepared:
    """Check everything that fits are given, before any work is done."""
    temperatures = as_temperatures(settings.temperatures)
    mdps = [as_world(mdp) for mdp in mdps]
    if not len(mdps) == len(occupancies) == len(alphas) > 0:
        raise InvalidInputError(
            f"{len(mdps)} worlds, {len(occupancies)} occupancies and {len(alphas)} alphas were given,"
            " but one of each per fit is needed, and at least one."
        )
    steps = as_count("steps", settings.steps)
    if settings.objective not in (OCCUPANCY, LIKELIHOOD):
        raise InvalidInputError(f"the objective is {settings.objective!r}, but 'occupancy' or 'likelihood' is needed.")
    by_choices = settings.objective == LIKELIHOOD
    relative = settings.tolerance is None and not settings.keep_last and not by_choices
    tolerance = DEFAULT_TOLERANCE if relative else 0.0
    if by_choices and not settings.keep_last:
        tolerance = LIKELIHOOD_TOLERANCE
    if settings.tolerance is not None:
        tolerance = as_positive("the tolerance", settings.tolerance)
    _require_room(mdps, steps)
    games = make_once(MarkovGame, mdps, _alike(mdps, alphas))
    models = as_reward_models(rewards, mdps)
    if by_choices:
        data = [
            as_shares(given, mdp, model, settings.penalty)
            for given, mdp, model in zip(occupancies, mdps, models, strict=True)
        ]
        experts, objectives = [shares for shares, _ in data], [objective for _, objective in data]
        if temperatures.player == 0:
            raise InvalidInputError(
                "the player's temperature is 0, where a policy has no likelihood to climb; give one above 0."
            )
    else:
        require_rewards_alone(models, settings.penalty)
        experts = make_once(as_expert, occupancies, mdps, models)
        objectives = [Matching()] * len(experts)
    if not by_choices and starts is None and temperatures.player > 0 and all(is_linear(model) for model in models):
        make_once(require_certifiable, games, [temperatures] * len(games))
    if uncertainty is not None:
        _require_fitting(uncertainty, mdps, alphas, temperatures)
    few = count_parameters(models[0]) <= LARGEST_NEWTON
    accurate = settings.tolerance is not None or (few and all(is_standard(alpha) for alpha in alphas))
    curved = uncertainty is None  # The curvature is that of the game.
    if not curved and by_choices:
        raise InvalidInputError("a set of kernels is for occupancy matching; for a likelihood give alpha.")
    optimizer = (
        likelihood_optimizer(settings.optimizer, models[0], mdps[0])
        if by_choices
        else matching_optimizer(settings.optimizer, models, temperatures, accurate=accurate and curved)
    )
    if not curved and is_newton_path(optimizer):
        raise InvalidInputError("NEWTON is for the game; with an uncertainty set give another optimizer, or none.")
    accuracy = settings.planner_tolerance
    if accuracy is not None:
        for game in games:
            stopping_rule(game, game.mdp.initial, accuracy)  # Refuses a tolerance out of reach before work starts.
        accuracy = as_float(accuracy)
    player, opponent = (None if weight == 0 else jnp.asarray(weight) for weight in temperatures)
    problems = [
        Problem(
            game=game,
            expert=expert,
            model=model,
            tolerance=as_float(tolerance),
            relative=jnp.asarray(relative),
            keep_last=jnp.asarray(settings.keep_last),
            steps=jnp.asarray(steps),
            planner_tolerance=accuracy,
            uncertainty=uncertainty,
            optimizer=optimizer,
            capacity=history_capacity(steps),
            soft=(player, opponent),
            objective=objective,
        )
        for game, expert, model, objective in zip(games, experts, models, objectives, strict=True)
    ]
    return Prepared(problems, _as_starts(starts, models))


def _require_fitting(
    uncertainty: AbstractUncertainty, mdps: Sequence[MDP], alphas: Sequence[ArrayLike], temperatures: Temperatures
) -> None:
    """Refuse an uncertainty set that is not around the learner's world, or beside an opponent."""
    if not isinstance(uncertainty, AbstractUncertainty):
        raise InvalidInputError(
            f"the uncertainty is {type(uncertainty).__name__}, but a set is needed, such as"
            " theory.as_uncertainty(world, radius=0.1)."
        )
    if len(mdps) != 1 or uncertainty.mdp.mask.shape != mdps[0].mask.shape:
        raise InvalidInputError("the uncertainty set is around another world; build it around the learner's.")
    if not all(is_standard(alpha) for alpha in alphas):
        raise InvalidInputError("an uncertainty set takes the opponent's place; leave alpha out, or give 1.")
    if temperatures.player <= 0:
        raise InvalidInputError("an uncertainty set needs a player's temperature above 0; the default is 1.")


def is_standard(alpha: ArrayLike) -> bool:
    """Return whether α is 1, everywhere if it differs by state and action.

    Example:
        >>> is_standard(1), is_standard([1.0, 0.9])
        (True, False)
    """
    return bool(np.all(np.asarray(alpha) == 1))


def _alike(mdps: Sequence[MDP], alphas: Sequence[ArrayLike]) -> list[ArrayLike]:
    """Return one α for each fit, as arrays for all if one is an array.

    The fits can then be stacked.
    """
    if all(checks.shape_of("alpha", alpha) == () for alpha in alphas):
        return list(alphas)
    return [as_local_alpha(alpha, mdp) + jnp.zeros(mdp.mask.shape) for mdp, alpha in zip(mdps, alphas, strict=True)]


def _require_room(mdps: Sequence[MDP], steps: int) -> None:
    """Refuse worlds and histories that do not fit into memory."""
    states = sum(mdp.num_states for mdp in mdps)
    require_memory(
        WORKING_BYTES * float(states), f"learning in worlds of {states} states", "use smaller ones, or fewer at a time"
    )
    entries = float(history_capacity(steps)) * len(mdps)
    require_memory(HISTORY_BYTES * entries, f"a history of {steps} steps", "take fewer steps")


def _as_starts(starts: Sequence[Tree] | None, models: Sequence[AbstractReward]) -> list[FloatTree | None]:
    if starts is None:
        return [None] * len(models)
    if len(starts) != len(models):
        raise InvalidInputError(
            f"{len(starts)} initial parameters were given for {len(models)} fits; give one for each, or none."
        )
    return [_as_parameters(start, model) for start, model in zip(starts, models, strict=True)]


def _as_parameters(given: Tree, model: AbstractReward) -> FloatTree:
    """Return θ to start from, if it is shaped as the model's own and all its numbers are finite."""
    own = jax.eval_shape(model.initial_parameters)
    shapes = [leaf.shape for leaf in jax.tree.leaves(own)]
    found = [checks.shape_of("an array of the initial parameters", leaf) for leaf in jax.tree.leaves(given)]
    if jax.tree.structure(given) != jax.tree.structure(own) or found != shapes:
        raise InvalidInputError(
            f"the initial parameters have the shapes {found}, but the reward model's have {shapes}, arranged as in its"
            " initial_parameters(); give such parameters, for instance those of an earlier fit with this model."
        )
    leaves = [checks.as_floats("an array of the initial parameters", leaf) for leaf in jax.tree.leaves(given)]
    for place, leaf in enumerate(leaves):
        checks.require_finite(f"array {place} of the initial parameters", leaf.ravel(), ("entry",))
    return jax.tree.unflatten(jax.tree.structure(own), [as_float(leaf) for leaf in leaves])


def as_reward_models(
    rewards: AbstractReward | Sequence[AbstractReward] | None, mdps: Sequence[MDP]
) -> Sequence[AbstractReward]:
    """Return a reward model for every world, from one for all or one for each.

    They are tabular if omitted.
    """
    if isinstance(rewards, AbstractReward):
        models = [rewards] * len(mdps)
    elif rewards is None:
        models = [TabularReward(mdp.num_states) for mdp in mdps]
    else:
        models = as_list("the reward", rewards, "a reward model such as LinearReward(features)")
    if not all(isinstance(model, AbstractReward) for model in models):
        raise InvalidInputError("the reward is not a reward model; give one, such as LinearReward(features).")
    if len(models) != len(mdps):
        raise InvalidInputError(
            f"{len(models)} reward models were given for {len(mdps)} fits; give one for all, or one for each."
        )
    return models
