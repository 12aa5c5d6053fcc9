r"""The policy gradient of a two-player game (Algorithm 4), and of one player, by the same code.

The player raises and the opponent lowers J = E[Σ_t γ^t R(s_{t+1})] of the game in which the player's action is
executed with probability α. The likelihood ratio gives

    ∇_pl J = E[ Σ_t γ^t ∇ log π_pl(a_t^pl|s_t) G_t ],        ∇_op (-J) = -E[ Σ_t γ^t ∇ log π_op(a_t^op|s_t) G_t ].

`surrogate` is a function whose automatic gradient is this estimate; the clipped variant (PPO) replaces log π by the
ratio of densities to those that sampled. With α = 1 only the player acts. Counting executed actions alone the
opponent's gradient is then exactly zero, and in no case does it reach the player.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from robustirl._runtime import PlainModule, working_precision
from robustirl.control.advantages import (
    critic_values,
    generalized_advantages,
    normalized,
    per_step_baseline,
    returns_to_go,
)
from robustirl.control.config import PolicyGradientConfig
from robustirl.control.policies import GaussianPolicy
from robustirl.control.rollouts import Episodes
from robustirl.types import Tree


class Players(PlainModule):
    """The two sides of a game."""

    player: GaussianPolicy
    opponent: GaussianPolicy


def advantages(
    episodes: Episodes, rewards: Float[Array, "T N"], discount: Float[Array, ""], config: PolicyGradientConfig
) -> Float[Array, "T N"]:
    """Return what the gradient weighs log π(a_t|s_t) with.

    G_t, less a baseline, normalized, times γ^t, as configured.
    """
    returns = returns_to_go(rewards, discount)
    match config.baseline:
        case "none":
            values = returns
        case "per-step":
            values = returns - per_step_baseline(episodes, returns)
        case "critic":
            critic = critic_values(episodes, returns)
            values = generalized_advantages(episodes, rewards, critic, discount, config.gae_decay)
    values = normalized(episodes, values) if config.normalize else episodes.masked(values)
    if config.discounted:
        values = values * discount ** jnp.arange(values.shape[0])[:, None]
    return jax.lax.stop_gradient(values)


def surrogate(
    policy: GaussianPolicy,
    episodes: Episodes,
    actions: Float[Array, "T N a"],
    weights: Float[Array, "T N"],
    sampler: GaussianPolicy | None = None,
    clip: float = 0.2,
) -> Float[Array, ""]:
    """Return (1/N) Σ_i Σ_t w_t log π(a_t|s_t), or with a sampler PPO's clipped objective.

    The gradient of the former is that of Algorithm 4.

    Args:
        policy: π, to be differentiated.
        episodes: Where the states come from.
        actions: `[T, N, a]`, the actions of this side.
        weights: `[T, N]`, the advantages, zero where a step does not count.
        sampler: The policy that drew the actions; given, the objective is min(ratio · w, clipped ratio · w).
        clip: The range 1 ± clip of the ratio.
    """
    logs = policy.log_density(episodes.features[:-1], actions)
    if sampler is None:
        terms = weights * jnp.where(episodes.active, logs, 0)
    else:
        old = jax.lax.stop_gradient(sampler.log_density(episodes.features[:-1], actions))
        # The exponent is bounded so that an absurd step gives a large number and not an infinite one.
        ratio = jnp.exp(jnp.clip(jnp.where(episodes.active, logs - old, 0), -20, 20))
        terms = jnp.minimum(ratio * weights, jnp.clip(ratio, 1 - clip, 1 + clip) * weights)
    return terms.sum() / weights.shape[1]


def player_weights(
    episodes: Episodes, values: Float[Array, "T N"], config: PolicyGradientConfig
) -> tuple[Float[Array, "T N"], Float[Array, "T N"]]:
    """Return the weights of player and opponent.

    Opposite in sign, and for executed actions alone where so configured.
    """
    if config.credit == "all":
        return values, -values
    return jnp.where(episodes.by_player, values, 0), jnp.where(episodes.by_player, 0, -values)


def regularizer(
    players: Players,
    episodes: Episodes,
    bounds: tuple[Float[Array, " a"], Float[Array, " a"]],
    config: PolicyGradientConfig,
) -> Float[Array, ""]:
    """Return the entropy of both sides less the cost of mean actions far out of bounds.

    The cost is per step. Both are weighted as configured.
    """
    low, high = bounds
    middle, half = (low + high) / 2, config.reach * (high - low) / 2

    def excess(policy: GaussianPolicy) -> Float[Array, ""]:
        means = policy.mean(episodes.features[:-1])
        beyond = jnp.where(episodes.active[..., None], means - jnp.clip(means, middle - half, middle + half), 0)
        return (beyond**2).sum() / episodes.active.shape[1]

    sides = (players.player, players.opponent)
    total = sum(config.entropy * side.entropy() for side in sides)
    if config.excess > 0:
        total = total - config.excess * sum(excess(side) for side in sides)
    return jnp.asarray(total)


def game_gradient(
    players: Players,
    episodes: Episodes,
    rewards: Float[Array, "T N"],
    discount: Float[Array, ""],
    bounds: tuple[Float[Array, " a"], Float[Array, " a"]],
    config: PolicyGradientConfig,
) -> Players:
    """Return the ascent directions of both sides, estimated from these episodes (Algorithm 4)."""
    ours, theirs = player_weights(episodes, advantages(episodes, rewards, discount, config), config)

    def objective(players: Players) -> Float[Array, ""]:
        return (
            surrogate(players.player, episodes, episodes.player_actions, ours)
            + surrogate(players.opponent, episodes, episodes.opponent_actions, theirs)
            + regularizer(players, episodes, bounds, config)
        )

    return jax.grad(objective)(players)


class Ascent(eqx.Module):
    """Both sides' policies, and the memory of the optimizer."""

    players: Players
    memory: Tree


def optimizer(config: PolicyGradientConfig, steps: int) -> optax.GradientTransformation:
    """Return Adam for both sides, each with its own falling rate.

    If `config.gradient_norm` is set, the gradient of each side is bounded separately.
    """
    updates = steps * (config.epochs if config.method == "ppo" else 1)

    def side(rate: float) -> optax.GradientTransformation:
        bound = optax.identity() if config.gradient_norm is None else optax.clip_by_global_norm(config.gradient_norm)
        return optax.chain(bound, optax.adam(optax.linear_schedule(rate, rate * config.final_rate, updates)))

    rates = (config.learning_rate, config.opponent_rate or config.learning_rate)
    labels = ("player", "opponent")
    return optax.partition(
        {label: side(rate) for label, rate in zip(labels, rates, strict=True)},
        lambda players: Players(*(jax.tree.map(lambda _, s=s: s, getattr(players, s)) for s in labels)),  # pyright: ignore
    )


@working_precision
def begin(players: Players, config: PolicyGradientConfig) -> Ascent:
    """Return the state of an ascent at its start."""
    return Ascent(players, optimizer(config, 1).init(players))  # pyright: ignore[reportArgumentType]


def ascend(
    state: Ascent,
    episodes: Episodes,
    rewards: Float[Array, "T N"],
    discount: Float[Array, ""],
    bounds: tuple[Float[Array, " a"], Float[Array, " a"]],
    config: PolicyGradientConfig,
    steps: int,
) -> tuple[Ascent, Bool[Array, ""]]:
    """Return the state after one of `steps` updates of both sides, and whether all is finite.

    If not, the state is as it was.
    """
    rule = optimizer(config, steps)

    def follow(gradient: Players, at: Ascent) -> Ascent:
        updates, memory = rule.update(jax.tree.map(jnp.negative, gradient), at.memory, at.players)  # pyright: ignore
        players: Any = optax.apply_updates(at.players, updates)  # pyright: ignore
        low, high = (math.log(bound) for bound in config.deviations)
        held = tuple(jnp.clip(side.log_deviation, low, high) for side in (players.player, players.opponent))
        return Ascent(eqx.tree_at(lambda p: (p.player.log_deviation, p.opponent.log_deviation), players, held), memory)

    if config.method == "likelihood-ratio":
        after = follow(game_gradient(state.players, episodes, rewards, discount, bounds, config), state)
    else:
        ours, theirs = player_weights(episodes, advantages(episodes, rewards, discount, config), config)
        sampler = state.players

        def objective(players: Players) -> Float[Array, ""]:
            sides = (
                surrogate(players.player, episodes, episodes.player_actions, ours, sampler.player, config.clip),
                surrogate(players.opponent, episodes, episodes.opponent_actions, theirs, sampler.opponent, config.clip),
            )
            return sum(sides) + regularizer(players, episodes, bounds, config)

        after, _ = jax.lax.scan(
            lambda at, _: (follow(jax.grad(objective)(at.players), at), None), state, length=config.epochs
        )
    valid = jnp.isfinite(rewards).all() & jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(after)]).all()
    return jax.tree.map(lambda new, old: jnp.where(valid, new, old), after, state), valid
