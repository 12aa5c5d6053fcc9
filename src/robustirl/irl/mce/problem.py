"""What a fit is given, checked: the world, the occupancy, the reward model and the settings of the loop."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from robustirl._runtime import WORKING_BYTES, as_float, require_memory
from robustirl.errors import InvalidInputError
from robustirl.irl._batch import make_once, stack
from robustirl.irl._optimizer_identity import canonical_optimizer
from robustirl.mdp import MDP, MarkovGame, as_count, as_occupancy, as_positive, as_world, checks
from robustirl.planning import Temperatures, as_temperatures, stopping_rule
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import ArrayLike, FloatTree, Tree

SMALLEST_HISTORY = 256
HISTORY_BYTES = 24  # An entry: two floats and an integer.


class Problem(eqx.Module):
    """What a fit is given; the arguments of `robustirl.irl.fit`, checked.

    Attributes:
        game: The learner's world and α.
        expert: ρ, what is to be matched.
        model: The reward model.
        threshold: The occupancy gap at which the fit is finished.
        steps: The largest number of parameter updates.
        planner_tolerance: Accuracy of every planner call; None for the default.
        optimizer: What moves the parameters.
        capacity: How many entries the history has room for; more than `steps`.
        temperatures: Entropy weights of player and opponent.
    """

    game: MarkovGame
    expert: Float[Array, "*batch S"]
    model: AbstractReward
    threshold: Float[Array, "*batch"]
    steps: Int[Array, "*batch"]
    planner_tolerance: Float[Array, "*batch"] | None
    optimizer: optax.GradientTransformation = eqx.field(static=True)
    capacity: int = eqx.field(static=True)
    temperatures: Temperatures = eqx.field(static=True)


def history_capacity(steps: int) -> int:
    """Return the length of a history with room for `steps` updates: one of few lengths, since each is a compilation.

    Example:
        >>> history_capacity(0), history_capacity(200), history_capacity(256), history_capacity(5000)
        (256, 256, 1024, 16384)
    """
    capacity = SMALLEST_HISTORY
    while capacity <= steps:
        capacity *= 4
    return capacity


class Settings(NamedTuple):
    """What all fits of a batch share, as given to `fit`."""

    optimizer: optax.GradientTransformation
    steps: int
    tolerance: float | None
    temperatures: Temperatures
    planner_tolerance: float | None


class Prepared(NamedTuple):
    """Checked problems, and the parameters that each starts from (None for the model's own)."""

    problems: list[Problem]
    starts: list[FloatTree | None]

    def stacked(self) -> tuple[Problem, Tree]:
        """Return all problems as one, with a first axis of fits, and their starts likewise."""
        first, count = self.problems[0], len(self.problems)

        def column(name: str, what: str):
            return stack([getattr(problem, name) for problem in self.problems], what)

        tolerance = first.planner_tolerance
        return Problem(
            game=column("game", "world"),
            expert=column("expert", "occupancy"),
            model=column("model", "reward model"),
            threshold=jnp.full(count, first.threshold),
            steps=jnp.full(count, first.steps),
            planner_tolerance=None if tolerance is None else jnp.full(count, tolerance),
            optimizer=first.optimizer,
            capacity=first.capacity,
            temperatures=first.temperatures,
        ), stack(self.starts, "initial parameter")


def prepare(
    mdps: Sequence[MDP],
    occupancies: Sequence[ArrayLike],
    alphas: Sequence[float],
    rewards: AbstractReward | Sequence[AbstractReward] | None,
    starts: Sequence[Tree] | None,
    settings: Settings,
) -> Prepared:
    """Check everything that fits are given, before any work is done."""
    temperatures = as_temperatures(settings.temperatures)
    mdps = [as_world(mdp) for mdp in mdps]
    if not len(mdps) == len(occupancies) == len(alphas) > 0:
        raise InvalidInputError(
            f"{len(mdps)} worlds, {len(occupancies)} occupancies and {len(alphas)} alphas were given,"
            " but one of each per fit is needed, and at least one."
        )
    steps, optimizer = as_count("steps", settings.steps), _as_optimizer(settings.optimizer)
    tolerance = 0.0 if settings.tolerance is None else as_positive("the tolerance", settings.tolerance)
    _require_room(mdps, steps)
    games = make_once(MarkovGame, mdps, alphas)
    experts = make_once(as_occupancy, occupancies, mdps)
    models = as_reward_models(rewards, mdps)
    accuracy = settings.planner_tolerance
    if accuracy is not None:
        for game, expert in zip(games, experts, strict=True):
            stopping_rule(game, expert, accuracy)  # Refuses a tolerance out of reach before work starts.
        accuracy = as_float(accuracy)
    problems = [
        Problem(
            game=game,
            expert=expert,
            model=model,
            threshold=as_float(tolerance),
            steps=jnp.asarray(steps),
            planner_tolerance=accuracy,
            optimizer=optimizer,
            capacity=history_capacity(steps),
            temperatures=temperatures,
        )
        for game, expert, model in zip(games, experts, models, strict=True)
    ]
    return Prepared(problems, _as_starts(starts, models))


def _require_room(mdps: Sequence[MDP], steps: int) -> None:
    """Refuse worlds and histories that do not fit into memory."""
    states = sum(mdp.num_states for mdp in mdps)
    require_memory(
        WORKING_BYTES * float(states), f"learning in worlds of {states} states", "use smaller ones, or fewer at a time"
    )
    entries = float(history_capacity(steps)) * len(mdps)
    require_memory(HISTORY_BYTES * entries, f"a history of {steps} steps", "take fewer steps")


def _as_optimizer(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InvalidInputError(
            f"the optimizer is {optimizer!r}, but an Optax optimizer is needed, such as optax.adam(0.1)."
        )
    return canonical_optimizer(optimizer)


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


def as_reward_models(
    rewards: AbstractReward | Sequence[AbstractReward] | None, mdps: Sequence[MDP]
) -> Sequence[AbstractReward]:
    """Return a reward model for every world, from one for all or one for each; tabular ones if omitted."""
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
