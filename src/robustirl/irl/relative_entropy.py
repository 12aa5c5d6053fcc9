r"""Relative-entropy IRL, standard and robust, for worlds known through samples (Algorithm 3, after Boularias et al.).

The learner can sample its world M^L and is given the mean features φ̄^E of the expert's trajectories. It looks for a
reward R_θ(s) = ⟨θ, φ(s)⟩ under which the mixture α π_pl + (1-α) π_op of the two players of the game has these features
in M^L. A round samples trajectories D^π with the mixture, takes N^θ steps up

    g(θ) = ⟨θ, φ̄^E⟩ - log Σ_{τ ∈ D^π} exp⟨θ, φ̄^τ⟩,        ∇g = φ̄^E - Σ_τ P(τ|θ) φ̄^τ,

and then N^π steps of the game under R_θ (Algorithm 4). At α = 1 this is standard relative-entropy IRL: the opponent's
draws are not used. Neither the expert's world nor a true reward is needed. A round whose numbers are not finite, or
whose weights P rest on a single trajectory, is not taken: the fit ends there and says so.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from robustirl._check import (
    as_count,
    as_floats,
    as_number_between,
    as_positive,
    concrete,
    require_finite,
    require_kind,
    require_shape,
)
from robustirl._jax import PlainModule, as_float, jit, working_precision
from robustirl._progress import Callback, Interrupted, progress_bar, require_callbacks, run_in_stretches
from robustirl._show import short_value
from robustirl.control.policies import GaussianPolicy, Players, initial_players
from robustirl.control.policy_gradient import PAPER as PAPER_GAME
from robustirl.control.policy_gradient import Ascent, PolicyGradientConfig, game_steps, require_choices
from robustirl.control.policy_gradient import begin as begin_ascent
from robustirl.control.rollouts import Episodes, collect
from robustirl.control.training import stacked, unstacked
from robustirl.control.worlds import World, as_keys, list_worlds, world_width
from robustirl.errors import InvalidInputError
from robustirl.irl.result import AbstractFit, AbstractVerdict, require_success
from robustirl.types import ArrayLike, Tree

EVERY = 10
"""The rounds of a stretch, after which callbacks are called."""
GAME = PolicyGradientConfig(steps=1, horizon=200, final_rate=0.02, excess=1.0, deviations=(0.05, 0.5))
"""The game between two updates of θ. Its reward keeps turning, so policies are kept from going silent."""


@dataclasses.dataclass(frozen=True)
class RelativeEntropyConfig:
    """How the reward is learned, and how the game is played in between (Algorithm 3).

    The defaults are Algorithm 3 with what makes it dependable; `PAPER` is Algorithm 3 as printed. Two changes matter.
    With `ridge`, θ follows what is left to match and the whole is a descent on it; without, θ and the policies chase
    each other. And the mean over a trajectory does not tell how long it took: no weight is learned for time, and where
    ⟨θ, φ⟩ is positive a policy does best never to arrive. `center` settles that weight; so does the other `summary`.

    Args:
        rounds: Outer rounds.
        reward_steps: N^θ, the steps on θ in a round.
        reward_rate: Adam's learning rate for θ.
        ridge: λ of the penalty λ‖θ‖²/2 on g(θ), as after a Gaussian prior on θ.
        summary: The features of a trajectory: its `mean`, 1/|τ| Σ_s φ(s), as in Algorithm 3, or the `discounted`
            sum (1-γ) Σ_t γ^t φ(s_t), whose product with θ is what the game is about.
        center: `expert` subtracts ⟨θ, φ̄^E⟩ from the rewards of the game, so that a step costs if it is worse than the
            expert's are on average; `none` is Algorithm 3. For the `mean` summary alone: the other one settles the
            weight of a constant feature itself.
        least_effective: Fail once the weight rests on fewer trajectories than this, counted as 1 / Σ P².
        reuse: Whether D^π also serves the first policy step of its round. It was sampled by the policies of that step,
            and only its rewards are new, so this halves the sampling.
        attempts: Fits from different draws, of which the one with the smallest feature gap is returned. The gap is not
            convex in the policies, so draws decide which way round an obstacle they take; but the smaller gap is the
            mixture's and need not be the better player's.
        deviation: σ of both policies at the start. (The paper samples its first trajectories uniformly.)
        game: How the game is played. Its `steps` are N^π in a round, its `episodes` also the size of D^π.

    Example:
        >>> RelativeEntropyConfig(rounds=50).game.steps
        1
    """

    rounds: int = 300
    reward_steps: int = 10
    reward_rate: float = 0.1
    ridge: float = 1.0
    summary: Literal["mean", "discounted"] = "mean"
    center: Literal["none", "expert"] = "expert"
    least_effective: float = 1.01
    reuse: bool = True
    attempts: int = 1
    deviation: float = 0.5
    game: PolicyGradientConfig = GAME

    def __post_init__(self) -> None:
        for name in ("rounds", "reward_steps", "attempts"):
            as_count(name, getattr(self, name), 1)
        for name in ("reward_rate", "least_effective", "deviation"):
            as_positive(name, getattr(self, name))
        as_number_between("ridge", self.ridge, 0, math.inf, open_high=True)
        require_choices(self, "summary", "center")
        require_kind("game", self.game, PolicyGradientConfig, "a PolicyGradientConfig")
        if (self.summary, self.center) == ("discounted", "expert"):
            raise InvalidInputError(
                "center is 'expert' with the discounted summary, which needs none; set it to 'none'."
            )


PAPER = RelativeEntropyConfig(
    ridge=0.0,
    center="none",
    least_effective=0.5,
    reuse=False,
    game=dataclasses.replace(PAPER_GAME, steps=5, horizon=200),
)
"""Algorithms 3 and 4 as printed, where no weight is too lopsided; rates and counts are ours, the paper gives none."""


class RelativeEntropyVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: Whether the feature gap came within the tolerance (false if none was given).
        valid: Whether all numbers were finite and the weights never rested on a single trajectory. If not, the fit
            ended with the round in which that happened, and its policies and reward are those before it.
        stopped: Whether a callback or an interrupt ended the fit early.
        rounds: Rounds begun.
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the final policies, on fresh episodes; infinite where it is no number.
        first_gap: That gap before anything was learned.
        finished: The share of those episodes that ended before the horizon. At zero the mixture gets nowhere: the
            world never ends, or the opponent is too strong at this α.
        effective: The smallest effective number of trajectories behind a step on θ.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    rounds: Int[Array, "*batch"]
    feature_gap: Float[Array, "*batch"]
    first_gap: Float[Array, "*batch"]
    finished: Float[Array, "*batch"]
    effective: Float[Array, "*batch"]

    def history_length(self) -> int:
        return int(self.rounds)

    def __str__(self) -> str:
        return (
            f"{self.status.value} after {int(self.rounds)} rounds with a feature gap of {float(self.feature_gap):.3g}"
            f" ({float(self.first_gap):.3g} before learning); {float(self.finished):.0%} of the episodes ended before"
            " the horizon."
        )


class RelativeEntropyHistory(PlainModule):
    """One entry a round, along the first axis after those of a batch.

    Attributes:
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the trajectories sampled.
        effective: The effective number of trajectories, the smallest of the round.
        finished: The share of episodes that ended before the horizon.
        parameters: θ after the round.
    """

    feature_gap: Float[Array, "*batch"]
    effective: Float[Array, "*batch"]
    finished: Float[Array, "*batch"]
    parameters: Float[Array, "*batch d"]


class RelativeEntropyFit(AbstractFit):
    """The outcome of (robust) relative-entropy IRL.

    Attributes:
        player: π_pl, the policy to act with.
        opponent: π_op.
        parameters: θ of the learned reward R_θ(s) = ⟨θ, φ(s)⟩.
        expert_features: φ̄^E, what was to be matched.
        features: φ̄ of the mixture in the learner's world.
        alpha: α.
        history: How learning went.
        verdict: How it ended.
    """

    player: GaussianPolicy
    opponent: GaussianPolicy
    parameters: Float[Array, "*batch d"]
    expert_features: Float[Array, "*batch d"]
    features: Float[Array, "*batch d"]
    alpha: Float[Array, "*batch"]
    history: RelativeEntropyHistory
    verdict: RelativeEntropyVerdict

    def __repr__(self) -> str:
        return f"RelativeEntropyFit(α = {float(self.alpha):g}, θ = {short_value(self.parameters)}, {self.verdict})"

    def explain_failure(self, which: str) -> str:
        return (
            f"round {int(self.verdict.rounds) - 1}{which} had numbers that were not finite, or weights on"
            f" {float(self.verdict.effective):.2f} trajectories in effect; check the world's features for NaN, lower"
            " the learning rates, or pass throw=False to keep the last valid round."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        return (
            f"the feature gap{which} is {float(self.verdict.feature_gap):.3e} after {int(self.verdict.rounds)} rounds,"
            f" above the tolerance {tolerance:.3e}; raise rounds or the tolerance, or pass throw=False to keep the fit."
        )


def trajectory_features(episodes: Episodes, summary: str, discount: float | Float[Array, ""]) -> Float[Array, "N d"]:
    """Return φ̄^τ of every episode.

    It is the `mean` of φ over its states, or the `discounted` sum (1-γ) Σ_t γ^t φ(s_t).
    """
    visited = episodes.visited.astype(episodes.features.dtype)
    if summary == "mean":
        weights = visited / visited.sum(0)
    else:
        weights = (1 - discount) * visited * discount ** jnp.arange(visited.shape[0])[:, None]
    return jnp.einsum("tn,tnd->nd", weights, episodes.features)


@working_precision
def expert_features(
    episodes: Episodes, discount: float | Float[Array, ""], config: RelativeEntropyConfig = RelativeEntropyConfig()
) -> Float[Array, " d"]:
    """Return φ̄^E, the mean over the expert's trajectories of the config's `summary` of each.

    Example:
        >>> from robustirl.control.policies import linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> policy = linear_policy(7, 2)  # It does not move.
        >>> still = collect(GaussianGrid(), policy, episodes=3, horizon=10, mean_action=True, key=jax.random.key(0))
        >>> expert_features(still, 0.99).round(3).tolist()
        [1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 1.0]
    """
    _require_discount(config, discount)
    return trajectory_features(episodes, config.summary, discount).mean(0)


def reward_gradient(
    theta: Float[Array, " d"], expert: Float[Array, " d"], features: Float[Array, "N d"]
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Return ∇g = φ̄^E - Σ_τ P(τ|θ) φ̄^τ, and the effective number of trajectories behind it, 1 / Σ_τ P(τ|θ)²."""
    chances = jax.nn.softmax(features @ theta)
    return expert - chances @ features, 1 / (chances**2).sum()


class Problem(eqx.Module):
    """What is to be learned, and how.

    These are the arguments of `fit_relative_entropy`, checked. A tolerance below zero is never reached.
    """

    world: World
    expert: Float[Array, "*batch d"]
    alpha: Float[Array, "*batch"]
    start: Players
    tolerance: Float[Array, "*batch"]
    config: RelativeEntropyConfig = eqx.field(static=True)


class LoopState(eqx.Module):
    """What a round passes to the next: θ, both players, their optimizers' states, and what the verdict will say."""

    theta: Float[Array, "*batch d"]
    memory: Tree
    ascent: Ascent
    valid: Bool[Array, "*batch"]
    matched: Bool[Array, "*batch"]
    rounds: Int[Array, "*batch"]
    first_gap: Float[Array, "*batch"]
    effective: Float[Array, "*batch"]


def _adam(config: RelativeEntropyConfig) -> optax.GradientTransformation:
    # A schedule, though constant: it rounds the rate to single precision, as in the published runs.
    return optax.adam(optax.linear_schedule(config.reward_rate, config.reward_rate, 1))


def _sample(problem: Problem, players: Players, key: PRNGKeyArray) -> tuple[Episodes, Float[Array, "N d"]]:
    """Return D^π and the features of its trajectories."""
    config, game = problem.config, problem.config.game
    world, count, horizon = problem.world, game.episodes, game.horizon
    episodes = collect(world, players.player, players.opponent, problem.alpha, episodes=count, horizon=horizon, key=key)
    return episodes, trajectory_features(episodes, config.summary, problem.world.discount)


def _begin(problem: Problem) -> LoopState:
    """Return the state before the first round."""
    theta, infinite = jnp.zeros_like(problem.expert), jnp.asarray(jnp.inf, dtype=float)
    yes, no = jnp.asarray(True), jnp.asarray(False)
    ascent = begin_ascent(problem.start, problem.config.game)
    return LoopState(theta, _adam(problem.config).init(theta), ascent, yes, no, jnp.asarray(0), infinite, infinite)


def _improve_reward(
    problem: Problem, state: LoopState, features: Float[Array, "N d"]
) -> tuple[Float[Array, " d"], Tree, Float[Array, ""]]:
    """Take N^θ steps of Adam up g, less the ridge.

    Return θ, the memory, and the fewest trajectories in effect.
    """
    config, adam = problem.config, _adam(problem.config)

    def step(carry, _):
        theta, memory = carry
        gradient, effective = reward_gradient(theta, problem.expert, features)
        updates, memory = adam.update(config.ridge * theta - gradient, memory, theta)
        return (theta + updates, memory), effective

    (theta, memory), effective = jax.lax.scan(step, (state.theta, state.memory), length=config.reward_steps)
    return theta, memory, effective.min()


def _one_round(problem: Problem, state: LoopState, key: PRNGKeyArray) -> tuple[LoopState, RelativeEntropyHistory]:
    config, game = problem.config, problem.config.game
    draw, play = jax.random.split(key)
    episodes, features = _sample(problem, state.ascent.players, draw)
    gap = jnp.abs(features.mean(0) - problem.expert).sum()
    theta, memory, effective = _improve_reward(problem, state, features)
    level = theta @ problem.expert if config.center == "expert" else 0.0
    ascent, played = game_steps(
        problem.world,
        state.ascent,
        problem.alpha,
        lambda e: e.masked(e.linear_rewards(theta) - level),
        game,
        steps=game.steps,
        total=max(config.rounds * game.steps, 1),
        first=episodes if config.reuse else None,
        key=play,
    )
    numbers = jnp.isfinite(theta).all() & jnp.isfinite(gap) & played.valid.all()
    valid, matched = numbers & (effective >= config.least_effective), gap <= problem.tolerance
    # An invalid round is not taken, and one that finds the features matched has nothing left to do.
    still = ~valid | matched
    kept, done = (state.theta, state.memory, state.ascent), (theta, memory, ascent)
    theta, memory, ascent = jax.tree.map(lambda old, new: jnp.where(still, old, new), kept, done)
    after = LoopState(
        theta,
        memory,
        ascent,
        valid,
        matched,
        state.rounds + 1,
        jnp.where(state.rounds == 0, jnp.where(jnp.isfinite(gap), gap, jnp.inf), state.first_gap),
        jnp.minimum(state.effective, jnp.nan_to_num(effective, nan=0.0)),
    )
    return after, RelativeEntropyHistory(gap, effective, episodes.terminated.mean(dtype=float), theta)


def _some_rounds(
    problem: Problem, state: LoopState, keys: Key[Array, " T"]
) -> tuple[LoopState, RelativeEntropyHistory]:
    """Run some rounds; once the fit is over, further ones do nothing."""

    def guarded(state: LoopState, key: PRNGKeyArray):
        shapes = jax.eval_shape(lambda: _one_round(problem, state, key))[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        over = state.matched | ~state.valid | (state.rounds >= problem.config.rounds)
        return jax.lax.cond(over, lambda: (state, blank), lambda: _one_round(problem, state, key))

    return jax.lax.scan(guarded, state, keys)


def _verdict(
    problem: Problem, state: LoopState, history: RelativeEntropyHistory, stopped: Bool[Array, ""], key: PRNGKeyArray
) -> RelativeEntropyFit:
    """Return the fit as it stands, with a verdict from fresh episodes."""
    players = state.ascent.players
    episodes, features = _sample(problem, players, key)
    summary = features.mean(0)
    gap = jnp.abs(summary - problem.expert).sum()
    return RelativeEntropyFit(
        player=players.player,
        opponent=players.opponent,
        parameters=state.theta,
        expert_features=problem.expert,
        features=summary,
        alpha=problem.alpha,
        history=history,
        verdict=RelativeEntropyVerdict(
            converged=state.matched & state.valid,
            valid=state.valid & jnp.isfinite(gap),
            stopped=stopped,
            rounds=state.rounds,
            feature_gap=jnp.where(jnp.isfinite(gap), gap, jnp.inf),
            first_gap=state.first_gap,
            finished=episodes.terminated.mean(dtype=float),
            effective=state.effective,
        ),
    )


def _for_each(function: Callable) -> Callable:
    """Compile a function for every member of a batch.

    On accelerators it is in lockstep. On CPUs one after the other is faster, and gives the numbers of single fits.
    """

    def members(*batch: Any) -> Any:
        if jax.default_backend() == "cpu":
            return jax.lax.map(lambda member: function(*member), batch)
        return jax.vmap(function)(*batch)

    return jit(members)


_begin_all, _some_rounds_of_all, _verdict_of_all = map(_for_each, (_begin, _some_rounds, _verdict))


@dataclasses.dataclass(frozen=True, eq=False)
class RelativeEntropyStep:
    """What callbacks are given after every few rounds; of several attempts or fits, about the smallest feature gap.

    Attributes:
        round: Rounds taken.
        rounds: Rounds a fit may take.
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ of the trajectories of the last round.
        effective: The effective number of trajectories behind its steps on θ.
        finished: The share of its episodes that ended before the horizon.
        parameters: θ.
    """

    round: int
    rounds: int
    feature_gap: float
    effective: float
    finished: float
    parameters: Float[np.ndarray, " d"] = dataclasses.field(repr=False)


@working_precision
def fit_relative_entropy(
    world: World,
    expert: Episodes | ArrayLike,
    *,
    alpha: float = 1.0,
    config: RelativeEntropyConfig = RelativeEntropyConfig(),
    start: Players | None = None,
    tolerance: float | None = None,
    callbacks: Sequence[Callback] = (),
    key: PRNGKeyArray,
    progress: bool = False,
    throw: bool = True,
) -> RelativeEntropyFit:
    """Learn a reward and a policy for a sampled world from the expert's features.

    Args:
        world: The learner's world M^L; a reward it may have is not used.
        expert: The expert's episodes, or their mean features φ̄^E, `[d]`, as `expert_features` gives them.
        alpha: α in (0, 1]: one for standard relative-entropy IRL, less for an opponent who acts with probability 1-α.
        config: How to learn.
        start: Policies to start from; linear ones of zero mean by default.
        tolerance: End once the feature gap ‖φ̄^mix - φ̄^E‖₁ of sampled trajectories is this small.
        callbacks: Called with a `RelativeEntropyStep` after every ten rounds; one that answers False ends the fit.
            Ctrl-C raises `Interrupted` with the fit so far.
        key: Decides all draws.
        progress: Show a bar with the feature gap and an estimate of the time left.
        throw: Raise `ConvergenceError` if the fit fails, or if a tolerance was given and is not reached.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> expert = [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]  # Of episodes that stay near the start.
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> fit = fit_relative_entropy(GaussianGrid(), expert, alpha=0.9, config=config, key=jax.random.key(1))
        >>> fit.verdict.status.value, (fit.verdict.feature_gap < fit.verdict.first_gap).item()
        ('budget', True)
    """
    options = {"config": config, "start": start, "tolerance": tolerance, "callbacks": callbacks, "progress": progress}
    try:
        return fit_relative_entropy_many([world], [expert], alpha, **options, keys=[key], throw=throw)[0]
    except Interrupted as interrupted:
        raise Interrupted(interrupted.fit and interrupted.fit[0]) from None


@working_precision
def fit_relative_entropy_many(
    worlds: Sequence[World],
    experts: Sequence[Episodes | ArrayLike],
    alphas: float | Sequence[float] = 1.0,
    *,
    config: RelativeEntropyConfig = RelativeEntropyConfig(),
    start: Players | None = None,
    tolerance: float | None = None,
    callbacks: Sequence[Callback] = (),
    keys: Sequence[PRNGKeyArray] | Key[Array, " fits"],
    progress: bool = False,
    throw: bool = True,
) -> list[RelativeEntropyFit]:
    """Run many fits as one batch: seeds, α and noise pairs are all entries of it.

    Args:
        worlds: The learners' worlds, all of one kind.
        experts: The expert of each.
        alphas: One α for all, or one for each.
        config: See `fit_relative_entropy`.
        start: See `fit_relative_entropy`; one for all.
        tolerance: See `fit_relative_entropy`.
        callbacks: See `fit_relative_entropy`.
        keys: One key a fit.
        progress: See `fit_relative_entropy`.
        throw: See `fit_relative_entropy`.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> worlds, experts, alphas = [GaussianGrid(0.1)], [[0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]], [0.8]
        >>> fits = fit_relative_entropy_many(worlds, experts, alphas, config=config, keys=[jax.random.key(0)])
        >>> [(fit.alpha.item(), int(fit.verdict.rounds)) for fit in fits]
        [(0.8, 20)]
    """
    given = [alphas] * len(worlds) if np.ndim(alphas) == 0 else list(alphas)  # pyright: ignore[reportArgumentType]
    keys = as_keys(len(worlds), list(keys), experts=experts, alphas=given)
    require_kind("config", config, RelativeEntropyConfig, "a RelativeEntropyConfig")
    require_callbacks(callbacks)
    rows = zip(list_worlds(worlds), experts, given, strict=True)
    problems = [_as_problem(world, expert, alpha, config, start, tolerance) for world, expert, alpha in rows]
    fits = _learn(problems, keys, config, callbacks, progress)
    if throw:
        for index, fit in enumerate(fits):
            require_success(fit, tolerance, f" of fit {index}" if len(fits) > 1 else "")
    return fits


def _learn(
    problems: Sequence[Problem],
    keys: Sequence[PRNGKeyArray],
    config: RelativeEntropyConfig,
    callbacks: Sequence[Callback],
    progress: bool,
) -> list[RelativeEntropyFit]:
    """Run all attempts of all fits, and return the best attempt of each."""
    count = config.attempts
    (batch,) = stacked([problem for problem in problems for _ in range(count)])
    split = jax.vmap(jax.random.split)(jnp.concatenate([jax.random.split(key, count) for key in keys]))
    stretches = -(-config.rounds // EVERY)
    own = jax.vmap(lambda key: jax.random.split(key, config.rounds))(split[:, 0])
    # The last stretch is as long as the others, so that one program serves them all.
    own = own[:, jnp.minimum(jnp.arange(stretches * EVERY), config.rounds - 1)]

    def advance(state: tuple[LoopState, tuple]) -> tuple[LoopState, tuple]:
        loop, logs = state
        begun = EVERY * len(logs)
        loop, log = _some_rounds_of_all(batch, loop, own[:, begun : begun + EVERY])
        return loop, (*logs, log)

    def is_over(state: tuple[LoopState, tuple]) -> bool:
        loop, logs = state
        return len(logs) == stretches or bool(np.all(np.asarray(loop.matched) | ~np.asarray(loop.valid)))

    def view(state: tuple[LoopState, tuple]) -> RelativeEntropyStep:
        loop, log = jax.tree.map(np.asarray, (dataclasses.replace(state[0], memory=(), ascent=()), state[1][-1]))
        last = (loop.rounds - 1) % EVERY
        gaps = log.feature_gap[np.arange(len(last)), last]
        member = int(np.nanargmin(gaps)) if np.isfinite(gaps).any() else 0
        gap, effective, finished = (
            float(part[member, last[member]]) for part in (log.feature_gap, log.effective, log.finished)
        )
        taken = int(loop.rounds[member])
        return RelativeEntropyStep(taken, config.rounds, gap, effective, finished, loop.theta[member])

    def finish(state: tuple[LoopState, tuple], stopped: bool = True) -> list[RelativeEntropyFit]:
        loop, logs = state
        history = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), *logs)
        made = _verdict_of_all(batch, loop, history, jnp.full(len(split), stopped), split[:, 1])
        gaps = np.where(made.verdict.valid, made.verdict.feature_gap, np.inf).reshape(-1, count)
        fits = unstacked(made, len(split))
        # By what the learner can see: a valid fit before others, then the smaller gap.
        best = [fits[place * count + int(np.argmin(row))] for place, row in enumerate(gaps)]
        return [jax.tree.map(jnp.asarray, fit.trimmed()) for fit in best]

    with progress_bar("learning", config.rounds, show=progress) as report:

        def show(step: RelativeEntropyStep) -> None:
            report(step.round, f"feature gap {step.feature_gap:.3g}")

        asked = [*callbacks, show] if progress else callbacks
        state = (_begin_all(batch), ())
        state, stopped = run_in_stretches(state, advance, is_over=is_over, view=view, finish=finish, callbacks=asked)
    return finish(state, stopped)


def _as_problem(
    world: World,
    expert: Episodes | ArrayLike,
    alpha: object,
    config: RelativeEntropyConfig,
    start: Players | None,
    tolerance: float | None,
) -> Problem:
    """Check the arguments of a fit."""
    _require_discount(config, world.discount)
    if isinstance(expert, Episodes):
        expert = expert_features(expert, world.discount, config)
    array = as_floats("the expert's features", expert)
    require_shape("the array of the expert's features", array, (world_width(world),), "features of the world")
    require_finite("the expert's features", array, ("feature",))
    chance = as_number_between("alpha", alpha, 0, 1, open_low=True)
    start = initial_players(world, config.deviation) if start is None else start
    threshold = -1.0 if tolerance is None else as_positive("the tolerance", tolerance)
    return Problem(world, as_float(array), as_float(chance), start, as_float(threshold), config)


def _require_discount(config: RelativeEntropyConfig, discount: Any) -> None:
    """Refuse a discount of 1 where states are weighed by 1 - γ: all features would be zero."""
    if config.summary == "discounted" and concrete(discount) and float(discount) >= 1:
        raise InvalidInputError(
            f"the discount is {float(discount)}, for which the discounted summary is zero; use one below 1, or"
            " summary='mean'."
        )
