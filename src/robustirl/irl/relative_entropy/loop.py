r"""The loop of (robust) relative-entropy IRL, as compiled code (Algorithm 3).

A round samples trajectories D^π with the mixture α π_pl + (1-α) π_op, takes N^θ steps up

    g(θ) = ⟨θ, φ̄^E⟩ - log Σ_{τ ∈ D^π} w(τ) exp⟨θ, φ̄^τ⟩,        ∇g = φ̄^E - Σ_τ P(τ|θ) φ̄^τ,

and then N^π steps of the game under R_θ(s) = ⟨θ, φ(s)⟩. A round whose numbers are not finite, or whose weights rest on
a single trajectory, is not taken: the fit ends there and says so.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from robustirl.control import Ascent, Episodes, Players, World, collect, game_steps
from robustirl.control import begin as begin_ascent
from robustirl.irl.relative_entropy.config import RelativeEntropyConfig
from robustirl.irl.relative_entropy.result import RelativeEntropyFit, RelativeEntropyHistory, RelativeEntropyVerdict
from robustirl.types import Tree


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


def log_partition(
    theta: Float[Array, " d"], features: Float[Array, "N d"], log_weights: Float[Array, " N"]
) -> Float[Array, ""]:
    """Return the log-partition log Σ_τ w(τ) exp⟨θ, φ̄^τ⟩; its gradient in θ is Σ_τ P(τ|θ) φ̄^τ."""
    return jax.nn.logsumexp(log_weights + features @ theta)


def reward_gradient(
    theta: Float[Array, " d"],
    expert: Float[Array, " d"],
    features: Float[Array, "N d"],
    log_weights: Float[Array, " N"],
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Return ∇g = φ̄^E - Σ_τ P(τ|θ) φ̄^τ, and the effective number of trajectories behind it.

    That number is 1 / Σ_τ P(τ|θ)².
    """
    chances = jax.nn.softmax(log_weights + features @ theta)
    return expert - chances @ features, 1 / (chances**2).sum()


def importance_log_weights(
    episodes: Episodes, players: Players, base: Players, alpha: Float[Array, ""], cut: float | None
) -> Float[Array, " N"]:
    """Return the log-weight of each episode.

    It is the log-probability of its actions under the first mixture, minus that under the present.
    """

    def log_mixture(sides: Players) -> Float[Array, "T N"]:
        ours, theirs = (
            side.log_density(episodes.features[:-1], episodes.executed) for side in (sides.player, sides.opponent)
        )
        return jnp.logaddexp(jnp.log(alpha) + ours, jnp.log1p(-alpha) + theirs)

    logs = episodes.masked(log_mixture(base) - log_mixture(players)).sum(0)
    logs = logs - logs.max()
    return logs if cut is None else jnp.maximum(logs, -cut)


class Problem(eqx.Module):
    """What is to be learned, and how.

    These are the arguments of `robustirl.irl.fit_relative_entropy`, checked. A tolerance below zero is never reached.
    """

    world: World
    expert: Float[Array, " d"]
    alpha: Float[Array, ""]
    start: Players
    tolerance: Float[Array, ""]
    config: RelativeEntropyConfig = eqx.field(static=True)


class LoopState(eqx.Module):
    """What a round passes to the next.

    This is θ, both players, their optimizers' states, and what the verdict will say.
    """

    theta: Float[Array, " d"]
    memory: Tree
    ascent: Ascent
    valid: Bool[Array, ""]
    matched: Bool[Array, ""]
    rounds: Int[Array, ""]
    first_gap: Float[Array, ""]
    effective: Float[Array, ""]


Log = tuple[RelativeEntropyHistory, Bool[Array, " T"]]
"""The history of some rounds, and which of them were begun."""


def learn(problem: Problem, key: PRNGKeyArray) -> RelativeEntropyFit:
    """Run the whole loop, for use inside compiled code. Its history has room for all rounds."""
    keys, check_key = round_keys(problem.config, key)
    state, (history, _) = advance(problem, begin(problem), jnp.arange(problem.config.rounds), keys)
    return finish(problem, state, history, jnp.asarray(False), check_key)


def round_keys(config: RelativeEntropyConfig, key: PRNGKeyArray) -> tuple[Key[Array, " T"], PRNGKeyArray]:
    """Return a key for every round, and one for the last check."""
    rounds_key, check_key = jax.random.split(key)
    return jax.random.split(rounds_key, config.rounds), check_key


def begin(problem: Problem) -> LoopState:
    """Return the state before the first round."""
    theta = jnp.zeros_like(problem.expert)
    yes, no, infinite = jnp.asarray(True), jnp.asarray(False), jnp.asarray(jnp.inf, dtype=float)
    ascent = begin_ascent(problem.start, problem.config.game)
    return LoopState(
        theta, _reward_optimizer(problem.config).init(theta), ascent, yes, no, jnp.asarray(0), infinite, infinite
    )


def advance(
    problem: Problem, state: LoopState, indices: Int[Array, " T"], keys: Key[Array, " T"]
) -> tuple[LoopState, Log]:
    """Run some rounds; once the fit is over, further ones do nothing."""

    def guarded(state: LoopState, inputs: tuple[Array, PRNGKeyArray]):
        shapes = jax.eval_shape(lambda: _one_round(problem, state, *inputs))[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        over = state.matched | ~state.valid | (inputs[0] >= problem.config.rounds)
        after, log = jax.lax.cond(over, lambda: (state, blank), lambda: _one_round(problem, state, *inputs))
        return after, (log, ~over)

    return jax.lax.scan(guarded, state, (indices, keys))


def finish(
    problem: Problem,
    state: LoopState,
    history: RelativeEntropyHistory,
    stopped: Bool[Array, ""],
    key: PRNGKeyArray,
) -> RelativeEntropyFit:
    """Return the fit as it stands, with a verdict from fresh episodes."""
    players = state.ascent.players
    episodes, features = _sample(problem, players, problem.alpha, key)
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


def _reward_optimizer(config: RelativeEntropyConfig) -> optax.GradientTransformation:
    rate, steps = config.reward_rate, config.rounds * config.reward_steps
    return optax.adam(optax.linear_schedule(rate, rate * config.reward_final_rate, steps))


def _sample(problem: Problem, players: Players, chance: Float[Array, ""], key: PRNGKeyArray):
    """Return D^π and the features of its trajectories."""
    config, game = problem.config, problem.config.game
    episodes = collect(
        problem.world, players.player, players.opponent, chance, episodes=game.episodes, horizon=game.horizon, key=key
    )
    return episodes, trajectory_features(episodes, config.summary, problem.world.discount)


def _improve_reward(
    problem: Problem, state: LoopState, features: Float[Array, "N d"], log_weights: Float[Array, " N"]
) -> tuple[Float[Array, " d"], Tree, Float[Array, ""]]:
    """Take N^θ steps of Adam up g, less the ridge.

    Return θ, the memory, and the fewest trajectories in effect.
    """
    config, adam = problem.config, _reward_optimizer(problem.config)

    def step(carry, _):
        theta, memory = carry
        gradient, effective = reward_gradient(theta, problem.expert, features, log_weights)
        updates, memory = adam.update(config.ridge * theta - gradient, memory, theta)
        theta = theta + updates
        if config.theta == "unit":
            norm = jnp.linalg.norm(theta)
            theta = theta / jnp.where(norm > 0, norm, 1)
        return (theta, memory), effective

    (theta, memory), effective = jax.lax.scan(step, (state.theta, state.memory), length=config.reward_steps)
    return theta, memory, effective.min()


def _one_round(problem: Problem, state: LoopState, index: Array, key: PRNGKeyArray):
    config, game = problem.config, problem.config.game
    draw, play = jax.random.split(key)
    # The opponent's chance 1-α, in full from the start or rising.
    risen = jnp.clip((index + 1) / max(config.opponent_delay * config.rounds, 1), 0, 1)
    chance = 1 - (1 - problem.alpha) * risen
    players = state.ascent.players
    episodes, features = _sample(problem, players, chance, draw)
    gap = jnp.abs(features.mean(0) - problem.expert).sum()
    log_weights = jnp.zeros_like(features[:, 0])
    if config.importance == "base":
        log_weights = importance_log_weights(episodes, players, problem.start, chance, config.weight_range)
    theta, memory, effective = _improve_reward(problem, state, features, log_weights)
    level = theta @ problem.expert if config.center == "expert" else 0.0
    ascent, played = game_steps(
        problem.world,
        state.ascent,
        chance,
        lambda e: e.masked(e.linear_rewards(theta) - level),
        game,
        steps=game.steps,
        total=max(config.rounds * game.steps, 1),
        first=episodes if config.reuse else None,
        key=play,
    )
    numbers = jnp.isfinite(theta).all() & jnp.isfinite(gap) & played.valid.all()
    valid = numbers & (effective >= config.least_effective)
    # The gap of a game whose opponent has not risen to its full chance is that of another game.
    matched = (gap <= problem.tolerance) & (risen >= 1)
    # An invalid round is not taken, and one that finds the features matched has nothing left to do.
    still = ~valid | matched
    kept, done = (state.theta, state.memory, state.ascent), (theta, memory, ascent)
    theta, memory, ascent = jax.tree.map(lambda old, new: jnp.where(still, old, new), kept, done)
    known = jnp.nan_to_num(effective, nan=0.0)
    after = LoopState(
        theta,
        memory,
        ascent,
        valid,
        matched,
        state.rounds + 1,
        jnp.where(state.rounds == 0, jnp.where(jnp.isfinite(gap), gap, jnp.inf), state.first_gap),
        jnp.minimum(state.effective, known),
    )
    return after, RelativeEntropyHistory(gap, effective, episodes.terminated.mean(dtype=float), theta)
