r"""Proximal policy optimization for one player or for two that play against each other, from segments of episodes.

One critic V(s) serves both sides, since the game is zero-sum. With advantages A_t (GAE), scaled to deviation one, the
player raises and the opponent lowers

    E[ min(ρ_t A_t, clip(ρ_t, 1 - ε, 1 + ε) A_t) ],        ρ_t = π(a_t|s_t) / π_old(a_t|s_t),

each over the steps in which its own action was executed. At α = 1 the opponent never acts and this is ordinary PPO
(Schulman et al., 2017). Features are scaled by their running mean and deviation, rewards by the running deviation of
the discounted return; `policies.folded` puts the scale of the features into a policy's first layer.

An update (`learn`) has two parts: a judge gives the steps of a segment rewards, and the policies improve. `WorldReward`
gives the world's own reward, `Learned` a reward of features that was learned before, and the discriminator of
`robustirl.irl` one that it improves at every update.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_list, as_number_between, as_positive
from robustirl.control.policies import GaussianPolicy, Network, Players, Scale, network_policy
from robustirl.control.policy_gradient import require_rising
from robustirl.control.rollouts import Segment
from robustirl.errors import InvalidInputError
from robustirl.types import Tree


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """How policies are improved from segments of episodes.

    Args:
        environments: N, episodes side by side.
        segment: T, steps of each between two updates.
        epochs: Passes over a segment.
        minibatches: Parts of a segment, one gradient step each.
        learning_rate: Of Adam.
        final_rate: What remains of it at the end, as a share; it falls linearly.
        clip: ε, the range 1 ± ε of the ratio of densities.
        gae_decay: λ of GAE.
        gradient_norm: The largest norm of a gradient; longer ones are scaled down.
        hidden: Widths of the hidden layers of policies and critic, one at least.
        deviation: σ of both policies at the start, as a share of the largest action.
        deviations: The bounds within which σ is held, as such shares.

    Example:
        >>> PPOConfig(environments=16).segment
        64
    """

    environments: int = 64
    segment: int = 64
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 1e-3
    final_rate: float = 0.1
    clip: float = 0.2
    gae_decay: float = 0.95
    gradient_norm: float = 0.5
    hidden: tuple[int, ...] = (64, 64)
    deviation: float = 0.6
    deviations: tuple[float, float] = (0.05, 1.0)

    def __post_init__(self) -> None:
        # Numbers of Python: those of arrays overflow in products, and lists are no settings of compiled programs.
        given: dict[str, Any] = {}
        for name in ("environments", "segment", "epochs", "minibatches"):
            given[name] = as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "final_rate", "clip", "gradient_norm", "deviation"):
            given[name] = as_positive(name, getattr(self, name))
        given["gae_decay"] = as_number_between("gae_decay", self.gae_decay, 0, 1)
        given["hidden"] = as_widths(self.hidden)
        given["deviations"] = tuple(as_list("deviations", self.deviations, "a smallest and a largest one"))
        for name, value in given.items():
            object.__setattr__(self, name, value)
        require_rising("deviations", self.deviations)
        if self.batch % self.minibatches:
            raise InvalidInputError(
                f"minibatches is {self.minibatches}, which does not divide the {self.batch} steps of a segment; change"
                " one of them."
            )

    @property
    def batch(self) -> int:
        """Return the steps between two updates, of all episodes."""
        return self.environments * self.segment


def as_widths(hidden: object) -> tuple[int, ...]:
    """Return the widths of hidden layers, of which there must be one."""
    widths = as_list("hidden", hidden, "a sequence of widths")
    if not widths:
        raise InvalidInputError("hidden is empty, but the width of one hidden layer at least is needed.")
    return tuple(as_count("the width of a hidden layer", width, 1) for width in widths)


class Agents(eqx.Module):
    """Both policies, the critic, and what training remembers.

    Attributes:
        players: The policies, which see scaled features.
        critic: V, of scaled features.
        scale: The scale of features.
        reward_scale: The scale of discounted returns.
        running: `[N]`, the discounted return of each episode so far.
        memories: What Adam remembers of player, opponent and critic.
    """

    players: Players
    critic: Network
    scale: Scale
    reward_scale: Scale
    running: Float[Array, "*batch N"]
    memories: tuple[Tree, Tree, Tree]


def falling_rate(rate: float, final_rate: float, steps: Int[Array, ""] | Float[Array, ""]) -> optax.Schedule:
    """Return a rate that falls linearly over so many steps and stays there.

    This is `optax.linear_schedule` with a number of steps that is data, so that trainings of any length share a
    compiled program.

    Example:
        >>> rate = falling_rate(1.0, 0.5, jnp.asarray(4))
        >>> [float(rate(jnp.asarray(count))) for count in (0, 2, 4, 5)]
        [1.0, 0.75, 0.5, 0.5]
    """

    def schedule(count: ArrayLike) -> Array:
        # By the reciprocal, as XLA divides by a constant: numbers are then those of optax to the last bit.
        share = 1 - jnp.clip(count, 0, steps) * (1 / steps)
        return (rate - final_rate) * share + final_rate

    return schedule


def _rule(config: PPOConfig, updates: Int[Array, ""]) -> optax.GradientTransformation:
    """Return the optimizer that player, opponent and critic each have."""
    steps = updates * float(config.epochs * config.minibatches)  # As whole numbers they could exceed 32 bits.
    rate = falling_rate(config.learning_rate, config.learning_rate * config.final_rate, steps)
    return optax.chain(optax.clip_by_global_norm(config.gradient_norm), optax.adam(rate, eps=1e-5))


def create(config: PPOConfig, features: int, actions: int, key: PRNGKeyArray) -> Agents:
    """Return agents that have learned nothing."""
    first, second, third = jax.random.split(key, 3)
    make = lambda key: network_policy(features, actions, hidden=config.hidden, deviation=config.deviation, key=key)  # noqa: E731
    players, critic = Players(make(first), make(second)), Network.create(features, config.hidden, key=third)
    parts: Any = (players.player, players.opponent, critic)
    memories: Any = tuple(map(_rule(config, jnp.ones((), int)).init, parts))
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
    rule = _rule(config, updates)

    def loss(parts: tuple[GaussianPolicy, GaussianPolicy, Network], batch: Any) -> Float[Array, ""]:
        player, opponent, critic = parts
        inputs, actions, by_player, old, weights, targets = batch
        ours = _clipped(player, inputs, actions, old, weights, by_player, config.clip)
        theirs = _clipped(opponent, inputs, actions, old, -weights, ~by_player, config.clip)
        return -(ours + theirs) + ((critic(inputs) - targets) ** 2).mean() / 2

    def follow(carry: Any, batch: Any) -> tuple[Any, None]:
        parts, memories = carry
        gradients = jax.grad(loss)(parts, batch)
        moved, kept = [], []
        for part, gradient, memory in zip(parts, gradients, memories, strict=True):
            change, memory = rule.update(gradient, memory, part)  # pyright: ignore[reportArgumentType]
            moved.append(optax.apply_updates(part, change))
            kept.append(memory)
        return ((_held(moved[0], config), _held(moved[1], config), moved[2]), tuple(kept)), None

    def epoch(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        order = jax.random.permutation(key, config.batch).reshape(config.minibatches, -1)
        return jax.lax.scan(follow, carry, jax.tree.map(lambda leaf: leaf[order], rows))

    carry = ((agents.players.player, agents.players.opponent, agents.critic), agents.memories)
    (parts, memories), _ = jax.lax.scan(epoch, carry, jax.random.split(key, config.epochs))
    learned = Agents(
        Players(*parts[:2]),
        parts[2],
        agents.scale.seen(segment.features.reshape(-1, segment.features.shape[-1])),
        reward_scale,
        running,
        memories,
    )
    # One absurd segment must not turn a network into numbers that are none.
    valid = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(learned)]).all()
    return jax.tree.map(lambda new, old: jnp.where(valid, new, old), learned, agents)


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
    """Return the clipped objective of one side, the mean over all steps; those of the other side count as zero."""
    # The exponent is bounded so that an absurd step gives a large number and not an infinite one.
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
Judged = tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]
"""What a judge remembers, the rewards of a segment, and what to report."""


class Judge(eqx.Module):
    """Give every step of a segment a reward, and learn from it if need be."""

    @abc.abstractmethod
    def judge(self, memory: Tree, segment: Segment, key: PRNGKeyArray) -> Judged:
        """Return what to remember, the rewards, and what to report."""


class WorldReward(Judge):
    """Give the world's own reward."""

    def judge(self, memory: Tree, segment: Segment, key: PRNGKeyArray) -> Judged:
        del key
        return memory, segment.paid, {}


class Learned(Judge):
    """Give a reward of φ(s) and φ(s') that was learned elsewhere."""

    reward: RewardFunction

    def judge(self, memory: Tree, segment: Segment, key: PRNGKeyArray) -> Judged:
        del key
        return memory, self.reward(segment.features, segment.next_features), {}


class Progress(eqx.Module):
    """One entry an update: the means over its segment.

    Attributes:
        reward: Of the judge's rewards.
        episode_return: Of what the world paid the episodes that ended; NaN if none did.
        episode_length: Of their lengths; NaN if none did.
        report: What the judge reports.
    """

    reward: Float[Array, "*batch"]
    episode_return: Float[Array, "*batch"]
    episode_length: Float[Array, "*batch"]
    report: dict[str, Float[Array, "*batch"]]


def learn(
    agents: Agents,
    judge: Judge,
    memory: Tree,
    segment: Segment,
    discount: Float[Array, ""],
    config: PPOConfig,
    updates: Int[Array, ""],
    judging: PRNGKeyArray,
    steps: PRNGKeyArray,
) -> tuple[Agents, Tree, Progress]:
    """Judge a segment and improve the policies, once; return the agents, the judge's memory, and means to log."""
    memory, rewards, report = judge.judge(memory, segment, judging)
    agents = improve(agents, segment, rewards, discount, config, updates, steps)
    ended = (segment.lengths > 0).sum()
    length = jnp.where(ended > 0, segment.lengths.sum() / jnp.maximum(ended, 1), jnp.nan)
    return agents, memory, Progress(rewards.mean(), jnp.nanmean(segment.returns), length, report)
