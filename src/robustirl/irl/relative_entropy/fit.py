r"""Relative-entropy IRL, standard and robust: one loop (Algorithm 3, after Boularias et al., 2011).

The learner can sample its world M^L and is given the mean features φ̄^E of the expert's trajectories. It looks for a
reward ⟨θ, φ(s)⟩ under which the mixture α π_pl + (1-α) π_op of the two players of the game has these features in M^L.
At α = 1 this is standard RE IRL: the opponent's draws are not used. Neither the expert's world nor a true reward is
needed.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from robustirl._runtime import BoundedJit, as_float, progress_bar, working_dtype, working_precision
from robustirl.control import Episodes, Players, World, initial_players, require_episodes, require_history
from robustirl.errors import InvalidInputError
from robustirl.irl._batch import choose_vectorize, map_batch, one_for_each, stack, tree_shape, unstack
from robustirl.irl._result import require_success
from robustirl.irl.relative_entropy.callbacks import RelativeEntropyCallback, RelativeEntropyStep, learn_with_callbacks
from robustirl.irl.relative_entropy.config import RelativeEntropyConfig
from robustirl.irl.relative_entropy.loop import Problem, learn, trajectory_features
from robustirl.irl.relative_entropy.result import RelativeEntropyFit, RelativeEntropyVerdict
from robustirl.mdp import (
    as_count,
    as_floats,
    as_positive,
    concrete,
    require_discount,
    require_finite,
    require_shape,
    require_squares,
)
from robustirl.types import ArrayLike

HISTORY_NUMBERS = 3
"""Kept of a round beside the parameters."""


@working_precision
def fit_relative_entropy(
    world: World,
    expert: Episodes | ArrayLike,
    *,
    alpha: float = 1.0,
    config: RelativeEntropyConfig = RelativeEntropyConfig(),
    start: Players | None = None,
    tolerance: float | None = None,
    callbacks: Sequence[RelativeEntropyCallback] = (),
    every: int = 10,
    key: PRNGKeyArray,
    progress: bool = False,
    throw: bool = True,
) -> RelativeEntropyFit:
    """Learn a reward and a policy for a sampled world from the expert's features.

    Args:
        world: The learner's world M^L; a reward it may have is not used.
        expert: The expert's episodes, or their mean features φ̄^E, `[d]`, as `expert_features` gives them.
        alpha: α in (0, 1]: one for standard RE IRL, less for an opponent who acts with probability 1-α.
        config: How to learn.
        start: Policies to start from; linear ones of zero mean by default.
        tolerance: End once the feature gap ‖φ̄^mix - φ̄^E‖₁ of sampled trajectories is this small.
        callbacks: Called with a `RelativeEntropyStep` after every few rounds; one that answers False ends the fit.
            Ctrl-C then raises `Interrupted` with the fit so far.
        every: How many rounds pass between calls.
        key: Decides all draws.
        progress: Show a bar with the feature gap and an estimate of the time left; Ctrl-C is then answered as with
            callbacks.
        throw: Raise `ConvergenceError` if the fit fails, or if a tolerance was given and is not reached.

    Example:
        >>> from robustirl.control import PolicyGradientConfig
        >>> from robustirl.envs import GaussianGrid
        >>> expert = [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]  # Of episodes that stay near the start.
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> fit = fit_relative_entropy(GaussianGrid(), expert, alpha=0.9, config=config, key=jax.random.key(1))
        >>> fit.verdict.status.value, (fit.verdict.feature_gap < fit.verdict.first_gap).item()
        ('budget', True)
    """
    problem = _as_problem(world, expert, alpha, config, start, tolerance)
    if callbacks or progress:
        keys = list(jax.random.split(key, config.attempts))
        with progress_bar("learning", config.rounds * config.attempts, show=progress) as report:

            def show(step: RelativeEntropyStep) -> None:
                report(step.attempt * step.rounds + step.round, f"feature gap {step.feature_gap:.3g}")

            fits = learn_with_callbacks(problem, keys, [*callbacks, show], as_count("every", every, 1))
        best = int(_best(jax.tree.map(lambda *leaves: jnp.stack(leaves), *(fit.verdict for fit in fits))))
        # A fit that was stopped says so, whichever attempt is the best of those made.
        stopped = jnp.stack([fit.verdict.stopped for fit in fits]).any()
        found = eqx.tree_at(lambda f: f.verdict.stopped, fits[best], stopped).trimmed()
    else:
        found = _fit_many([problem], [key], None)[0]
    return require_success(found, tolerance) if throw else found


@working_precision
def fit_relative_entropy_many(
    worlds: Sequence[World],
    experts: Sequence[Episodes | ArrayLike],
    alphas: float | Sequence[float] = 1.0,
    *,
    config: RelativeEntropyConfig = RelativeEntropyConfig(),
    start: Players | None = None,
    tolerance: float | None = None,
    keys: Sequence[PRNGKeyArray] | Key[Array, " fits"],
    vectorize: bool | None = None,
    throw: bool = True,
) -> list[RelativeEntropyFit]:
    """Run many fits in one compiled call.

    Seeds, α and noise pairs are all entries of the same batch.

    Args:
        worlds: The learners' worlds, all of one kind.
        experts: The expert of each.
        alphas: One α for all, or one for each.
        config: See `fit_relative_entropy`.
        start: See `fit_relative_entropy`; one for all.
        tolerance: See `fit_relative_entropy`.
        keys: One key a fit.
        vectorize: Advance all fits in lockstep (right for GPUs) or one after the other (right for CPUs, where it
            gives the numbers of one-by-one fits to the bit); by default by device.
        throw: See `fit_relative_entropy`.

    Example:
        >>> from robustirl.control import PolicyGradientConfig
        >>> from robustirl.envs import GaussianGrid
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> worlds, experts, alphas = [GaussianGrid(0.1)], [[0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]], [0.8]
        >>> fits = fit_relative_entropy_many(worlds, experts, alphas, config=config, keys=[jax.random.key(0)])
        >>> [(fit.alpha.item(), int(fit.verdict.rounds)) for fit in fits]
        [(0.8, 20)]
    """
    alphas = one_for_each(alphas, len(worlds))
    if not len(worlds) == len(experts) == len(alphas) == len(keys) > 0:
        raise InvalidInputError(
            f"{len(worlds)} worlds, {len(experts)} experts, {len(alphas)} alphas and {len(keys)} keys were given,"
            " but one of each per fit is needed, and at least one."
        )
    problems = [
        _as_problem(world, expert, alpha, config, start, tolerance)
        for world, expert, alpha in zip(worlds, experts, alphas, strict=True)
    ]
    out = _fit_many(problems, keys, vectorize)
    if throw:
        for index, fit in enumerate(out):
            require_success(fit, tolerance, f" of fit {index}" if len(out) > 1 else "")
    return out


@working_precision
def expert_features(
    episodes: Episodes, discount: float | Float[Array, ""], config: RelativeEntropyConfig = RelativeEntropyConfig()
) -> Float[Array, " d"]:
    """Return φ̄^E, the mean over the expert's trajectories of the config's `summary` of each.

    Example:
        >>> from robustirl.control import collect, linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> policy = linear_policy(7, 2)  # It does not move.
        >>> still = collect(GaussianGrid(), policy, episodes=3, horizon=10, mean_action=True, key=jax.random.key(0))
        >>> expert_features(still, 0.99, RelativeEntropyConfig(summary="mean")).round(3).tolist()
        [1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 1.0]
    """
    _require_summary(config, discount)
    return trajectory_features(episodes, config.summary, discount).mean(0)


def _require_summary(config: RelativeEntropyConfig, discount: float | Float[Array, ""]) -> None:
    """Refuse a discount of 1 where states are weighed by 1 - γ: all features would be zero."""
    if concrete(discount):
        require_discount(discount, or_one=config.summary == "mean")


def _fit_many(
    problems: Sequence[Problem], keys: Sequence[PRNGKeyArray] | Key[Array, " fits"], vectorize: bool | None
) -> list[RelativeEntropyFit]:
    """Run all fits in one compiled call."""
    if len({tree_shape(problem.world) for problem in problems}) > 1:
        raise InvalidInputError("the worlds of one batch differ in kind or shape; fit them in separate batches.")
    game, together = problems[0].config.game, len(problems) if choose_vectorize(vectorize) else 1
    require_episodes(problems[0].world, game.episodes, game.horizon, together)
    fits = _fit_batch(stack(problems, "problem"), jnp.stack(list(keys)), choose_vectorize(vectorize))
    return [jax.tree.map(jnp.asarray, fit.trimmed()) for fit in unstack(fits, len(problems))]


def _learn_batch(batch: Problem, keys: Key[Array, " fits"], vectorize: bool) -> RelativeEntropyFit:
    def one(item: tuple[Problem, PRNGKeyArray]) -> RelativeEntropyFit:
        problem, key = item
        keys = jax.random.split(key, problem.config.attempts)
        fits = map_batch(lambda key: learn(problem, key), keys, vectorize=vectorize)
        best = _best(fits.verdict)
        return jax.tree.map(lambda leaf: leaf[best], fits)

    return map_batch(one, (batch, keys), vectorize=vectorize)


_fit_batch = BoundedJit(_learn_batch)


def _best(verdicts: RelativeEntropyVerdict) -> Int[Array, ""]:
    """Choose the attempt to return by what the learner can see.

    A valid fit comes before others, then the one with the smaller gap.
    """
    return jnp.argmin(jnp.where(verdicts.valid, verdicts.feature_gap, jnp.inf))


def _as_problem(
    world: World,
    expert: Episodes | ArrayLike,
    alpha: object,
    config: RelativeEntropyConfig,
    start: Players | None,
    tolerance: float | None,
) -> Problem:
    """Check the arguments of a fit."""
    if not isinstance(config, RelativeEntropyConfig):
        raise InvalidInputError(f"config is {config!r}, but a RelativeEntropyConfig is needed.")
    features = _as_features(expert, world, config)
    require_history("rounds", config.rounds, HISTORY_NUMBERS + features.size)
    require_history("attempts", config.attempts, config.rounds * (HISTORY_NUMBERS + features.size))
    require_history("steps", config.game.steps, HISTORY_NUMBERS)
    _require_summary(config, world.discount)
    start = initial_players(world, config.deviation) if start is None else start
    threshold = -1.0 if tolerance is None else as_positive("the tolerance", tolerance)
    return Problem(world, features, _as_alpha(alpha), start, jnp.asarray(threshold, dtype=float), config)


def _as_features(expert: Episodes | ArrayLike, world: World, config: RelativeEntropyConfig) -> Float[Array, " d"]:
    if not isinstance(world, World):
        raise InvalidInputError(
            f"the world is a {type(world).__name__}, which lacks some of what a sampled world offers;"
            " see robustirl.control.World."
        )
    if isinstance(expert, Episodes):
        expert = expert_features(expert, world.discount, config)
    array = as_floats("the expert's features", expert)
    size = jax.eval_shape(lambda: world.features(world.initial(key=jax.random.key(0)))).shape
    require_shape("the array of the expert's features", array, size, "features of the world")
    require_finite("the expert's features", array, ("feature",))
    require_squares("the array of the expert's features", array, np.dtype(working_dtype()), ("feature",))
    return as_float(array)


def _as_alpha(alpha: object) -> Float[Array, ""]:
    array = as_floats("alpha", alpha)
    if array.ndim or not 0 < array <= 1:
        raise InvalidInputError(f"alpha is {alpha!r}, but a number above 0 and up to 1 is needed.")
    return as_float(array)
