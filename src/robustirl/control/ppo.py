r"""Proximal policy optimization for one player or for two that play against each other, from segments of episodes.

One critic V(s) serves both sides, since the game is zero-sum. With advantages A_t (GAE), scaled to deviation one, the
player raises and the opponent lowers

    E[ min(ρ_t A_t, clip(ρ_t, 1 - ε, 1 + ε) A_t) ],        ρ_t = π(a_t|s_t) / π_old(a_t|s_t),

each over the steps in which its own action was executed. At α = 1 the opponent never acts and this is ordinary PPO
(Schulman et al., 2017). Features are scaled by their running mean and deviation, rewards by the running deviation of
the discounted return; `folded` puts the scale of the features into a policy's first layer.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl.control.networks import Network, Scale
from robustirl.control.policies import GaussianPolicy, network_policy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo_config import PPOConfig
from robustirl.control.schedules import falling_rate
from robustirl.control.segments import Field, Segment
from robustirl.types import Tree


class Memories(eqx.Module):
    """What Adam remembers of each network."""

    player: Tree
    opponent: Tree
    critic: Tree


class Agents(eqx.Module):
    """Both policies, the critic, and what training remembers.

    Attributes:
        players: The policies, which see scaled features.
        critic: V, of scaled features.
        scale: The scale of features.
        reward_scale: The scale of discounted returns.
        running: `[N]`, the discounted return of each episode so far.
        memories: Of the optimizer.
    """

    players: Players
    critic: Network
    scale: Scale
    reward_scale: Scale
    running: Float[Array, "*batch N"]
    memories: Memories


def _rule(config: PPOConfig, rate: float, updates: Int[Array, ""]) -> optax.GradientTransformation:
    steps = updates * float(config.epochs * config.minibatches)  # As whole numbers they could exceed 32 bits.
    schedule = falling_rate(rate, rate * config.final_rate, steps)
    return optax.chain(optax.clip_by_global_norm(config.gradient_norm), optax.adam(schedule, eps=1e-5))


def _rules(config: PPOConfig, updates: Int[Array, ""]) -> tuple[optax.GradientTransformation, ...]:
    rate = config.learning_rate
    return tuple(_rule(config, r, updates) for r in (rate, rate * config.opponent_rate, rate))


def create(config: PPOConfig, features: int, actions: int, key: PRNGKeyArray) -> Agents:
    """Return agents that have learned nothing."""
    first, second, third = jax.random.split(key, 3)
    make = lambda key: network_policy(features, actions, hidden=config.hidden, deviation=config.deviation, key=key)  # noqa: E731
    players, critic = Players(make(first), make(second)), Network.create(features, config.hidden, key=third)
    parts = (players.player, players.opponent, critic)
    memories = Memories(*(rule.init(part) for rule, part in zip(_rules(config, jnp.ones((), int)), parts, strict=True)))  # pyright: ignore
    running = jnp.zeros(config.environments, dtype=float)
    return Agents(players, critic, Scale.empty(features), Scale.empty(1), running, memories)


def improve(
    agents: Agents,
    segment: Segment,
    rewards: Float[Array, "T N"],
    discount: Float[Array, ""],
    config: PPOConfig,
    updates: Int[Array, ""],
    key: PRNGKeyArray,
) -> Agents:
    """Take all gradient steps on one segment, one of `updates` in all, under these rewards."""
    running, returns = _discounted(agents.running, rewards, segment, discount)
    reward_scale = agents.reward_scale.seen(returns.reshape(-1, 1))
    rewards = rewards / jnp.maximum(reward_scale.deviation[0], 1e-4)
    values = agents.critic(agents.scale(segment.features))
    after = agents.critic(agents.scale(segment.next_features))
    advantages = _advantages(rewards, values, after, segment, discount, config.gae_decay)
    targets = advantages + values
    centered = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    inputs = agents.scale(segment.features)
    rows = (inputs, segment.actions, segment.by_player, segment.log_densities, centered, targets)
    rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows)
    rules = _rules(config, updates)

    def loss(parts: tuple[GaussianPolicy, GaussianPolicy, Network], batch: Any) -> Float[Array, ""]:
        player, opponent, critic = parts
        inputs, actions, by_player, old, weights, targets = batch
        ours = _clipped(player, inputs, actions, old, weights, by_player, config.clip)
        theirs = _clipped(opponent, inputs, actions, old, -weights, ~by_player, config.clip)
        entropy = config.entropy * (player.entropy() + opponent.entropy())
        return -(ours + theirs + entropy) + ((critic(inputs) - targets) ** 2).mean() / 2

    def follow(carry: Any, batch: Any) -> tuple[Any, None]:
        parts, memories = carry
        gradients = jax.grad(loss)(parts, batch)
        moved, kept = [], []
        for rule, part, gradient, memory in zip(rules, parts, gradients, memories, strict=True):
            change, memory = rule.update(gradient, memory, part)  # pyright: ignore[reportArgumentType]
            moved.append(optax.apply_updates(part, change))
            kept.append(memory)
        return ((_held(moved[0], config), _held(moved[1], config), moved[2]), tuple(kept)), None

    def epoch(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        order = jax.random.permutation(key, config.batch).reshape(config.minibatches, -1)
        return jax.lax.scan(follow, carry, jax.tree.map(lambda leaf: leaf[order], rows))

    memories = agents.memories
    carry = (
        (agents.players.player, agents.players.opponent, agents.critic),
        (memories.player, memories.opponent, memories.critic),
    )
    (parts, kept), _ = jax.lax.scan(epoch, carry, jax.random.split(key, config.epochs))
    learned = Agents(
        Players(*parts[:2]),
        parts[2],
        agents.scale.seen(segment.features.reshape(-1, segment.features.shape[-1])),
        reward_scale,
        running,
        Memories(*kept),
    )
    # One absurd segment must not turn a network into numbers that are none.
    valid = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(learned)]).all()
    return jax.tree.map(lambda new, old: jnp.where(valid, new, old), learned, agents)


def folded(policy: GaussianPolicy, scale: Scale, units: Float[Array, " a"] | None = None) -> GaussianPolicy:
    """Return the same policy for features that are not scaled and actions that are not in units.

    Example:
        >>> policy = network_policy(2, 1, hidden=(4,), key=jax.random.key(0))
        >>> policy = eqx.tree_at(lambda p: p.weights[-1], policy, jnp.ones((4, 1)))
        >>> scale, x = Scale(jnp.array([1.0, -2.0]), jnp.array([4.0, 0.25]), jnp.array(9.0)), jnp.array([3.0, 1.0])
        >>> bool(jnp.allclose(folded(policy, scale).mean(x), policy.mean(scale(x)), atol=1e-5))
        True
        >>> folded(policy, scale, jnp.array([2.0])).deviation.tolist()
        [1.0]
    """
    weight = policy.weights[0] / scale.deviation[:, None]
    bias = policy.biases[0] - scale.mean @ weight
    policy = eqx.tree_at(lambda p: (p.weights[0], p.biases[0]), policy, (weight, bias))
    if units is None:
        return policy
    larger = (policy.weights[-1] * units, policy.log_deviation + jnp.log(units))
    return eqx.tree_at(lambda p: (p.weights[-1], p.log_deviation), policy, larger)


def _held(policy: GaussianPolicy, config: PPOConfig) -> GaussianPolicy:
    low, high = (jnp.log(jnp.asarray(bound, dtype=float)) for bound in config.deviations)
    return eqx.tree_at(lambda p: p.log_deviation, policy, jnp.clip(policy.log_deviation, low, high))


def _clipped(
    policy: GaussianPolicy,
    inputs: Float[Array, "n d"],
    actions: Float[Array, "n a"],
    old: Float[Array, " n"],
    weights: Float[Array, " n"],
    mask: Array,
    clip: float,
) -> Float[Array, ""]:
    """Return the clipped objective of one side, the mean over all steps.

    Steps of the other side count as zero.
    """
    ratio = jnp.exp(jnp.clip(jnp.where(mask, policy.log_density(inputs, actions) - old, 0), -20, 20))
    terms = jnp.minimum(ratio * weights, jnp.clip(ratio, 1 - clip, 1 + clip) * weights)
    return jnp.where(mask, terms, 0).mean()


def _discounted(
    running: Float[Array, " N"], rewards: Float[Array, "T N"], segment: Segment, discount: Float[Array, ""]
) -> tuple[Float[Array, " N"], Float[Array, "T N"]]:
    """Return the discounted sum of rewards of each episode so far, after every step."""

    def step(total: Float[Array, " N"], row: Any):
        reward, over = row
        total = reward + discount * total
        return jnp.where(over, 0, total), total

    return jax.lax.scan(step, running, (rewards, segment.over))


def _advantages(
    rewards: Float[Array, "T N"],
    values: Float[Array, "T N"],
    after: Float[Array, "T N"],
    segment: Segment,
    discount: Float[Array, ""],
    decay: float,
) -> Float[Array, "T N"]:
    """Return the generalized advantage estimates (GAE).

    A state that ended an episode has the value zero. A state at the horizon has the critic's value.
    """
    errors = rewards + discount * jnp.where(segment.terminated, 0, after) - values

    def back(later: Float[Array, " N"], row: Any):
        error, over = row
        total = error + discount * decay * jnp.where(over, 0, later)
        return total, total

    return jax.lax.scan(back, jnp.zeros_like(errors[0]), (errors, segment.over), reverse=True)[1]


RewardFunction = Callable[[Float[Array, "*n d"], Float[Array, "*n d"]], Float[Array, "*n"]]
"""A reward of φ(s) and φ(s')."""


def as_field(world: Any, count: int) -> Field:
    """Return N copies of a world, or the N worlds of a list as one field.

    A list gives every environment a world of its own, one after the other.
    """
    if not isinstance(world, list | tuple):
        return Field(world, each=False)
    places = jnp.arange(count) % len(world)
    return Field(jax.tree.map(lambda *leaves: jnp.stack(leaves)[places], *world), each=True)
