"""The loop around `ppo`: walk, judge, improve. One loop for experts, imitators, and policies for a learned reward.

What differs is who judges a segment. `Paid` gives the world's own reward, `Learned` a reward of features that somebody
learned, and the discriminator of `robustirl.irl.adversarial` one that it improves as it goes.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl._runtime import BoundedJit, in_working_precision, single_precision
from robustirl.control.evaluation import require_reward
from robustirl.control.interface import World
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo import Agents, PPOConfig, RewardFunction, as_field, create, folded, improve
from robustirl.control.segments import Field, Segment, Walkers, start, walk
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.types import Tree


class Judge(eqx.Module):
    """Give every step of a segment a reward, and learn from it if need be."""

    @abc.abstractmethod
    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        """Return what to remember, the rewards, and what to report."""


class Paid(Judge):
    """The world's own reward."""

    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        del key
        return memory, segment.paid, {}


class Learned(Judge):
    """A reward of φ(s) and φ(s') that was learned elsewhere."""

    reward: RewardFunction

    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        del key
        return memory, self.reward(segment.features, segment.next_features), {}


class Setting(eqx.Module):
    """What does not change during a training."""

    field: Field
    alpha: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]
    config: PPOConfig = eqx.field(static=True)
    updates: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)


class Run(eqx.Module):
    """Where a training is; `recent` are the features of its last segment, `[T, N, d]`."""

    agents: Agents
    walkers: Walkers
    memory: Tree
    recent: Float[Array, "*batch T N d"]
    key: PRNGKeyArray


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


def begin_run(setting: Setting, memory: Tree, key: PRNGKeyArray) -> Run:
    """Return the beginning of a training."""
    first, second, rest = jax.random.split(key, 3)
    walkers = start(setting.field, setting.config.environments, setting.horizon, second)
    features = setting.field.features(walkers.states)
    agents = create(setting.config, features.shape[-1], setting.field.world.action_size, first)
    recent = jnp.broadcast_to(features, (setting.config.segment, *features.shape))
    return Run(eqx.tree_at(lambda a: a.scale, agents, agents.scale.seen(features)), walkers, memory, recent, rest)


def take_updates(setting: Setting, judge: Judge, run: Run, count: int) -> tuple[Run, Progress]:
    """Walk, judge and improve, so many times."""

    def update(run: Run, _: None) -> tuple[Run, Progress]:
        rest, moves, judging, steps = jax.random.split(run.key, 4)
        config, agents = setting.config, run.agents
        walkers, segment = walk(
            setting.field,
            agents.players,
            agents.scale,
            setting.alpha,
            run.walkers,
            steps=config.segment,
            horizon=setting.horizon,
            key=moves,
        )
        memory, rewards, report = judge.judge(run.memory, segment, judging)
        agents = improve(agents, segment, rewards, setting.discount, config, setting.updates, steps)
        ended = jnp.maximum(segment.over.sum(), 1)
        length = jnp.where(segment.over.any(), segment.lengths.sum() / ended, jnp.nan)
        progress = Progress(rewards.mean(), jnp.nanmean(segment.returns), length, report)
        return Run(agents, walkers, memory, segment.features, rest), progress

    return jax.lax.scan(update, run, length=count)


def _take_batch(setting: Setting, judge: Judge, run: Run, count: int) -> tuple[Run, Progress]:
    return jax.vmap(lambda s, j, r: take_updates(s, j, r, count))(setting, judge, run)


def _begin_batch(setting: Setting, memory: Tree, key: PRNGKeyArray) -> Run:
    return jax.vmap(begin_run)(setting, memory, key)


take_batch: BoundedJit[[Setting, Judge, Run, int], tuple[Run, Progress]] = BoundedJit(_take_batch)
begin_batch: BoundedJit[[Setting, Tree, PRNGKeyArray], Run] = BoundedJit(_begin_batch)


class PolicyTraining(eqx.Module):
    """A policy that PPO has trained.

    Attributes:
        policy: It, as a function of the world's features.
        progress: How training went, one entry an update.
    """

    policy: GaussianPolicy
    progress: Progress


def train_policy(
    world: World | Sequence[World],
    *,
    steps: int = 500_000,
    reward: RewardFunction | None = None,
    config: PPOConfig = PPOConfig(),
    horizon: int | None = None,
    callback: Callable[[int, int], object] | None = None,
    key: PRNGKeyArray,
) -> PolicyTraining:
    """Train a policy by PPO, in single precision.

    Args:
        world: The world; or several of one kind that differ in their parameters, over which the environments are spread
            (domain randomization).
        steps: Steps in the world, of all environments together.
        reward: A reward of φ(s) and φ(s'), such as that of a robust imitation; the world's own if None.
        config: How to train.
        horizon: After how many steps an episode is cut off; the world's own if it has one, else 200.
        callback: Called with the steps taken and the steps to take, from time to time.
        key: Decides all draws.

    Example:
        >>> from robustirl.envs import physics
        >>> config = PPOConfig(environments=8, segment=16, hidden=(8,))
        >>> found = train_policy(physics.make("pendulum"), steps=256, config=config, key=jax.random.key(0))
        >>> found.policy.weights[0].shape, found.progress.reward.shape
        ((3, 8), (2,))
    """
    return train_policies(
        [world], steps=steps, reward=reward, config=config, horizon=horizon, callback=callback, keys=[key]
    )[0]


def train_policies(
    worlds: Sequence[World | Sequence[World]],
    *,
    steps: int = 500_000,
    reward: RewardFunction | None = None,
    config: PPOConfig = PPOConfig(),
    horizon: int | None = None,
    callback: Callable[[int, int], object] | None = None,
    keys: Sequence[PRNGKeyArray],
) -> list[PolicyTraining]:
    """Train a policy in each of several worlds of one kind, in lockstep; see `train_policy`."""
    if len(worlds) != len(keys) or not worlds:
        raise InvalidInputError(f"{len(worlds)} worlds and {len(keys)} keys were given, but one key a world is needed.")
    with single_precision():
        judge = Paid() if reward is None else Learned(reward)
        if reward is None:
            for world in worlds:
                require_reward(world[0] if isinstance(world, Sequence) else world)
        settings = [settle(world, 1.0, steps, config, horizon) for world in worlds]
        setting, judges = stacked(settings, [judge] * len(worlds))
        run = begin_batch(setting, (), jnp.stack(list(keys)))
        run, progress = take_in_stretches(setting, judges, run, settings[0].updates, callback)
        trained = []
        for index in range(len(worlds)):
            agents, log = jax.tree.map(lambda leaf, i=index: leaf[i], (run.agents, progress))
            trained.append(PolicyTraining(folded(agents.players.player, agents.scale), log))
        return trained


def settle(world: World | Sequence[World], alpha: float, steps: int, config: PPOConfig, horizon: int | None) -> Setting:
    """Check what a training needs and put it together; to be called in single precision."""
    worlds = list(world) if isinstance(world, Sequence) else [world]
    if not worlds or not all(isinstance(one, World) for one in worlds):
        kind = type(worlds[0]).__name__ if worlds else "an empty list"
        raise InvalidInputError(
            f"the world is a {kind}, which lacks some of what a sampled world offers; see robustirl.control.World."
        )
    if not isinstance(config, PPOConfig):
        raise InvalidInputError(f"config is {config!r}, but a PPOConfig is needed.")
    steps = as_count("steps", steps, config.batch)
    given = getattr(worlds[0], "horizon", 200) if horizon is None else horizon
    worlds = [in_working_precision(one) for one in worlds]  # pyright: ignore[reportArgumentType]
    field = as_field(worlds if isinstance(world, Sequence) else worlds[0], config.environments)
    return Setting(
        field,
        jnp.asarray(alpha, dtype=float),
        jnp.asarray(worlds[0].discount, dtype=float),
        config,
        in_stretches(steps // config.batch),
        as_count("the horizon", given, 1),
    )


def stacked(*columns: Sequence[Tree]) -> tuple[Any, ...]:
    """Return each list of trees as one, along a new first axis."""
    return tuple(jax.tree.map(lambda *leaves: jnp.stack(leaves), *column) for column in columns)


STRETCHES = 20
"""How many times a training returns to Python, to report and to be interrupted."""


def in_stretches(updates: int) -> int:
    """Return a number of updates that consists of equal stretches, so that one program takes them all.

    Example:
        >>> in_stretches(3), in_stretches(146)
        (3, 147)
    """
    size = max(1, updates // STRETCHES)
    return -(-updates // size) * size


def take_in_stretches(
    setting: Setting, judge: Judge, run: Run, updates: int, callback: Callable[[int, int], object] | None
) -> tuple[Run, Progress]:
    """Take all updates of a batch of trainings, a stretch at a time."""
    size, logs, taken = max(1, updates // STRETCHES), [], 0
    batch = setting.config.batch
    while taken < updates:
        run, progress = jax.block_until_ready(take_batch(setting, judge, run, size))
        logs.append(progress)
        taken += size
        if callback is not None:
            callback(taken * batch, updates * batch)
    return run, jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=1), *logs)


def _measure(
    field: Field, policy: GaussianPolicy, key: PRNGKeyArray, episodes: int, horizon: int
) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    first, second = jax.random.split(key)
    states = field.initial(jax.random.split(first, episodes))
    walkers = Walkers(states, jnp.zeros(episodes, int), jnp.zeros(episodes, dtype=float))
    size = policy.weights[0].shape[0]
    scale = Scale(jnp.zeros(size, dtype=float), jnp.ones(size, dtype=float), jnp.ones((), dtype=float))
    _, segment = walk(
        field,
        Players(policy, policy),
        scale,
        jnp.ones((), dtype=float),
        walkers,
        steps=horizon,
        horizon=horizon,
        mean_action=True,
        key=second,
    )
    # Every episode that began at the start: the first end of each column.
    first_end = jnp.argmax(segment.over, axis=0)
    columns = jnp.arange(episodes)
    return segment.returns[first_end, columns], segment.lengths[first_end, columns]


_measure_batch = BoundedJit(
    lambda field, policy, keys, episodes, horizon: jax.vmap(lambda f, p, k: _measure(f, p, k, episodes, horizon))(
        field, policy, keys
    )
)


def measure_returns(
    worlds: Sequence[World],
    policies: Sequence[GaussianPolicy],
    *,
    episodes: int = 32,
    horizon: int | None = None,
    keys: Sequence[PRNGKeyArray],
) -> Float[Array, "fits episodes"]:
    """Return what mean actions of each policy earn in its world, in single precision and in one batch.

    Example:
        >>> from robustirl.control import network_policy
        >>> from robustirl.envs import physics
        >>> key, world = jax.random.key(0), physics.make("cart-pole")
        >>> policy = network_policy(4, 1, hidden=(4,), key=key)  # It does not push.
        >>> measure_returns([world], [policy], episodes=3, horizon=5, keys=[key]).tolist()
        [[5.0, 5.0, 5.0]]
    """
    with single_precision():
        for world in worlds:
            require_reward(world)
        fields = [Field(in_working_precision(world), each=False) for world in worlds]  # pyright: ignore
        steps = getattr(worlds[0], "horizon", 200) if horizon is None else as_count("the horizon", horizon, 1)
        held = [in_working_precision(policy) for policy in policies]
        field, policy = stacked(fields, held)
        returns, _ = _measure_batch(field, policy, jnp.stack(list(keys)), episodes, steps)
        return returns
