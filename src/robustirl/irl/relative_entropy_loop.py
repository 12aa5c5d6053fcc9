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
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from robustirl.control.interface import World
from robustirl.control.policy_gradient import Ascent, Players, begin
from robustirl.control.rollouts import Episodes, collect
from robustirl.control.training import game_steps
from robustirl.irl.relative_entropy_config import RelativeEntropyConfig
from robustirl.irl.relative_entropy_result import RelativeEntropyFit, RelativeEntropyHistory, RelativeEntropyVerdict


def trajectory_features(episodes: Episodes, summary: str, discount: float | Float[Array, ""]) -> Float[Array, "N d"]:
    """φ̄^τ of every episode: the `mean` of φ over its states, or the `discounted` sum (1-γ) Σ_t γ^t φ(s_t)."""
    visited = episodes.visited.astype(episodes.features.dtype)
    if summary == "mean":
        weights = visited / visited.sum(0)
    else:
        weights = (1 - discount) * visited * discount ** jnp.arange(visited.shape[0])[:, None]
    return jnp.einsum("tn,tnd->nd", weights, episodes.features)


def log_partition(
    theta: Float[Array, " d"], features: Float[Array, "N d"], log_weights: Float[Array, " N"]
) -> Float[Array, ""]:
    """The log-partition log Σ_τ w(τ) exp⟨θ, φ̄^τ⟩; its gradient in θ is Σ_τ P(τ|θ) φ̄^τ."""
    return jax.nn.logsumexp(log_weights + features @ theta)


def reward_gradient(
    theta: Float[Array, " d"],
    expert: Float[Array, " d"],
    features: Float[Array, "N d"],
    log_weights: Float[Array, " N"],
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """∇g = φ̄^E - Σ_τ P(τ|θ) φ̄^τ, and the effective number of trajectories behind it, 1 / Σ_τ P(τ|θ)²."""
    chances = jax.nn.softmax(log_weights + features @ theta)
    return expert - chances @ features, 1 / (chances**2).sum()


def importance_log_weights(
    episodes: Episodes, players: Players, base: Players, alpha: Float[Array, ""], cut: float | None
) -> Float[Array, " N"]:
    """The log-probability of each episode's actions under the first mixture, minus that under the present one."""

    def log_mixture(sides: Players) -> Float[Array, "T N"]:
        ours, theirs = (
            side.log_density(episodes.features[:-1], episodes.executed) for side in (sides.player, sides.opponent)
        )
        return jnp.logaddexp(jnp.log(alpha) + ours, jnp.log1p(-alpha) + theirs)

    logs = episodes.masked(log_mixture(base) - log_mixture(players)).sum(0)
    logs = logs - logs.max()
    return logs if cut is None else jnp.maximum(logs, -cut)


class LoopState(eqx.Module):
    """What a round hands to the next."""

    theta: Float[Array, " d"]
    memory: PyTree
    ascent: Ascent
    sound: Bool[Array, ""]
    matched: Bool[Array, ""]


def learn(
    world: World,
    expert: Float[Array, " d"],
    alpha: Float[Array, ""],
    start: Players,
    config: RelativeEntropyConfig,
    tolerance: Float[Array, ""],
    key: PRNGKeyArray,
) -> RelativeEntropyFit:
    """The loop, for use inside compiled code; the arguments are those of `robustirl.irl.fit_relative_entropy`.

    A tolerance below zero is never reached.
    """
    game, rate = config.game, config.reward_rate
    adam = optax.adam(optax.linear_schedule(rate, rate * config.reward_final_rate, config.rounds * config.reward_steps))
    policy_steps = max(config.rounds * game.steps, 1)

    def sample(players: Players, alpha: Float[Array, ""], key: PRNGKeyArray):
        episodes = collect(
            world, players.player, players.opponent, alpha, episodes=game.episodes, horizon=game.horizon, key=key
        )
        return episodes, trajectory_features(episodes, config.summary, world.discount)

    def improve_reward(state: LoopState, features: Float[Array, "N d"], log_weights: Float[Array, " N"]):
        def step(carry, _):
            theta, memory = carry
            gradient, effective = reward_gradient(theta, expert, features, log_weights)
            updates, memory = adam.update(config.ridge * theta - gradient, memory, theta)
            theta = theta + updates
            if config.theta == "unit":
                norm = jnp.linalg.norm(theta)
                theta = theta / jnp.where(norm > 0, norm, 1)
            return (theta, memory), effective

        return jax.lax.scan(step, (state.theta, state.memory), length=config.reward_steps)

    def one_round(state: LoopState, index: Array, key: PRNGKeyArray):
        draw, play = jax.random.split(key)
        # The opponent's chance 1-α, in full from the start or rising.
        chance = 1 - (1 - alpha) * jnp.clip((index + 1) / max(config.opponent_delay * config.rounds, 1), 0, 1)
        players = state.ascent.players
        episodes, features = sample(players, chance, draw)
        gap = jnp.abs(features.mean(0) - expert).sum()
        log_weights = jnp.zeros_like(features[:, 0])
        if config.importance == "base":
            log_weights = importance_log_weights(episodes, players, start, chance, config.weight_range)
        (theta, memory), effective = improve_reward(state, features, log_weights)
        level = theta @ expert if config.centre == "expert" else 0.0
        ascent, played = game_steps(
            world,
            state.ascent,
            chance,
            lambda e: e.masked(e.linear_rewards(theta) - level),
            game,
            steps=game.steps,
            total=policy_steps,
            first=episodes if config.reuse else None,
            key=play,
        )
        numbers = jnp.isfinite(theta).all() & jnp.isfinite(gap) & played.sound.all()
        sound = numbers & (effective.min() >= config.least_effective)
        matched = gap <= tolerance
        after = LoopState(theta, memory, ascent, sound, matched)
        # An unsound round is not taken, and one that finds the features matched has nothing left to do.
        held = jax.tree.map(lambda old, new: jnp.where(~sound | matched, old, new), state, after)
        log = RelativeEntropyHistory(gap, effective.min(), episodes.terminated.mean(dtype=float), held.theta)
        return eqx.tree_at(lambda s: (s.sound, s.matched), held, (sound, matched)), log

    def guarded(state: LoopState, inputs: tuple[Array, PRNGKeyArray]):
        """A round, or nothing where the fit is over."""
        shapes = jax.eval_shape(one_round, state, *inputs)[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        over = state.matched | ~state.sound
        after, log = jax.lax.cond(over, lambda: (state, blank), lambda: one_round(state, *inputs))
        return after, (log, ~over)

    theta = jnp.zeros_like(expert)
    state = LoopState(theta, adam.init(theta), begin(start, game), jnp.asarray(True), jnp.asarray(False))
    rounds_key, check_key = jax.random.split(key)
    keys = jax.random.split(rounds_key, config.rounds)
    state, (history, taken) = jax.lax.scan(guarded, state, (jnp.arange(config.rounds), keys))
    players = state.ascent.players
    episodes, features = sample(players, alpha, check_key)
    summary = features.mean(0)
    gap = jnp.abs(summary - expert).sum()
    return RelativeEntropyFit(
        player=players.player,
        opponent=players.opponent,
        parameters=state.theta,
        expert_features=expert,
        features=summary,
        alpha=alpha,
        history=history,
        verdict=RelativeEntropyVerdict(
            converged=state.matched & state.sound,
            sound=state.sound,
            rounds=taken.sum(),
            feature_gap=jnp.where(jnp.isfinite(gap), gap, jnp.inf),
            finished=episodes.terminated.mean(dtype=float),
            effective=jnp.nan_to_num(jnp.where(taken, history.effective, jnp.inf), nan=0.0).min(),
        ),
    )
