"""Trainings by PPO: of experts, imitators, and policies for a learned reward, in many worlds at once."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import BoundedJit, in_working_precision, on_host, one_line, single_precision
from robustirl.control.checks import as_key, list_worlds, require_one_kind, require_policy, world_width
from robustirl.control.evaluation import require_reward
from robustirl.control.host_training import host_returns
from robustirl.control.host_worlds import HostField, HostWorld
from robustirl.control.interface import World, action_units
from robustirl.control.memory import require_episodes, require_training
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo import PPOConfig, RewardFunction, as_field, folded
from robustirl.control.segments import Field, Walkers, walk
from robustirl.control.stretches import begin_batch, in_stretches, take_in_stretches
from robustirl.control.updates import Learned, Progress, Setting, WorldReward
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_discount, as_list, require_kind
from robustirl.types import Tree

DEFAULT_HORIZON = 200
"""After how many steps an episode is cut off in a world that does not say."""


class PolicyTraining(eqx.Module):
    """A policy that PPO has trained.

    Attributes:
        policy: It, as a function of the world's features.
        progress: How training went, one entry an update.
    """

    policy: GaussianPolicy
    progress: Progress


def train_policy(
    world: World | HostWorld | Sequence[World],
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
    worlds: Sequence[World | HostWorld | Sequence[World]],
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
    keys = [as_key(key) for key in keys]
    with single_precision():
        judge = WorldReward() if reward is None else Learned(reward)
        for world in worlds:
            first = world if isinstance(world, HostWorld) else list_worlds(world)[0]
            if reward is not None:
                _require_fitting(reward, first)
            elif not isinstance(first, HostWorld):
                require_reward(first)
        _require_room(worlds, steps, config)
        if len(worlds) > 1 and any(isinstance(world, HostWorld) for world in worlds):
            each = [
                train_policies([w], steps=steps, reward=reward, config=config, horizon=horizon, keys=[k])
                for w, k in zip(worlds, keys, strict=True)
            ]
            return [one for (one,) in each]
        with on_host():
            settings = [training_setting(world, 1.0, steps, config, horizon) for world in worlds]
        require_one_kind([setting.field for setting in settings])
        setting, judges = stacked(settings, [judge] * len(worlds))
        run = begin_batch(setting, (), jnp.stack(list(keys)))
        run, progress = take_in_stretches(setting, judges, run, int(settings[0].updates), callback)
        held, trained = jax.tree.map(np.asarray, (run.agents, progress)), []
        with on_host():
            for index in range(len(worlds)):
                agents, log = jax.tree.map(lambda leaf, i=index: jnp.asarray(leaf[i]), held)
                player = folded(agents.players.player, agents.scale, settings[index].units)
                trained.append(PolicyTraining(player, log))
        return trained


def _require_room(worlds: Sequence[Any], steps: int, config: PPOConfig) -> None:
    """Refuse trainings that do not fit into memory."""
    require_kind("config", config, PPOConfig, "a PPOConfig")
    # Environments that step themselves serve one training at a time.
    fits = 1 if any(isinstance(world, HostWorld) for world in worlds) else len(worlds)
    require_training(worlds[0], config, steps=as_count("steps", steps, 1), fits=fits)


def _require_fitting(reward: RewardFunction, world: World | HostWorld) -> None:
    """Refuse a reward that cannot be computed from what the world shows."""
    width = world_width(world)
    seen = jax.ShapeDtypeStruct((1, 1, width), np.float32)  # Policies are trained in single precision.
    try:
        jax.eval_shape(reward, seen, seen)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the reward does not take what the world shows, {width} numbers a state ({one_line(error)}); train in a"
            " world with the observations that the reward was learned from."
        ) from None


def training_setting(
    world: World | HostWorld | Sequence[World], alpha: float, steps: int, config: PPOConfig, horizon: int | None
) -> Setting:
    """Return the checked setting of a training; to be called in single precision."""
    if isinstance(world, HostWorld):
        return _host_setting(world, alpha, steps, config, horizon)
    worlds = list_worlds(world)
    if not isinstance(config, PPOConfig):
        raise InvalidInputError(f"config is {config!r}, but a PPOConfig is needed.")
    steps = as_count("steps", steps, config.batch)
    steps_of_episode = usual_horizon(worlds, horizon)
    worlds = [in_working_precision(one) for one in worlds]  # pyright: ignore[reportArgumentType]
    field = as_field(worlds if isinstance(world, list | tuple) else worlds[0], config.environments)
    return Setting(
        field,
        _units(worlds[0]),
        jnp.asarray(alpha, dtype=float),
        as_discount(worlds[0].discount, or_one=True),
        jnp.asarray(in_stretches(steps // config.batch)),
        config,
        steps_of_episode,
    )


def usual_horizon(world: Any, horizon: int | None) -> int:
    """Return after how many steps an episode is cut off.

    By default it is what the world says, else 200.

    Example:
        >>> usual_horizon(object(), None), usual_horizon(object(), 7)
        (200, 7)
    """
    first = world[0] if isinstance(world, list | tuple) and world else world
    given = getattr(first, "horizon", DEFAULT_HORIZON) if horizon is None else horizon
    return as_count("the horizon", given, 1)


def _host_setting(world: HostWorld, alpha: float, steps: int, config: PPOConfig, horizon: int | None) -> Setting:
    if horizon is not None:
        raise InvalidInputError(
            f"horizon is {horizon}, but environments that step themselves end their own episodes; omit it, and make"
            " them with max_episode_steps."
        )
    own = dataclasses.replace(config, environments=world.environments)
    return Setting(
        HostField(world),
        _units(world),
        jnp.asarray(alpha, dtype=float),
        as_discount(world.discount, or_one=True),
        jnp.asarray(in_stretches(as_count("steps", steps, own.batch) // own.batch)),
        own,
        world.horizon,
    )


def _units(world: Any) -> Float[Array, " a"] | None:
    units = action_units(world)
    return None if units is None else jnp.asarray(units, dtype=float)


def stacked(*columns: Sequence[Tree]) -> tuple[Any, ...]:
    """Return each list of trees as one, along a new first axis, on the device."""
    together = lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))  # noqa: E731
    return tuple(jax.tree.map(together, *column) for column in columns)


def _measure(
    field: Field, policy: GaussianPolicy, key: PRNGKeyArray, episodes: int, horizon: int, mean_action: Bool[Array, ""]
) -> tuple[Float[Array, " N"], Int[Array, " N"]]:
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
        mean_action=mean_action,
        key=second,
    )
    # Every episode that began at the start: the first end of each column.
    first_end = jnp.argmax(segment.over, axis=0)
    columns = jnp.arange(episodes)
    return segment.returns[first_end, columns], segment.lengths[first_end, columns]


_measure_batch = BoundedJit(
    lambda field, policy, keys, episodes, horizon, mean_action: jax.vmap(
        lambda f, p, k: _measure(f, p, k, episodes, horizon, mean_action)
    )(field, policy, keys)
)


def measure_returns(
    worlds: Sequence[World | HostWorld],
    policies: Sequence[GaussianPolicy],
    *,
    episodes: int = 32,
    horizon: int | None = None,
    mean_action: bool = True,
    keys: Sequence[PRNGKeyArray],
) -> Float[Array, "fits episodes"]:
    """Return what each policy earns in its world, in single precision and in one batch.

    By default it takes mean actions. With `mean_action=False` actions are drawn, as in training.

    Example:
        >>> from robustirl.control import network_policy
        >>> from robustirl.envs import physics
        >>> key, world = jax.random.key(0), physics.make("cart-pole")
        >>> policy = network_policy(4, 1, hidden=(4,), key=key)  # It does not push.
        >>> measure_returns([world], [policy], episodes=3, horizon=5, keys=[key]).tolist()
        [[5.0, 5.0, 5.0]]
    """
    worlds = as_list("worlds", worlds, "a sequence of worlds")
    policies, keys = (
        as_list("policies", policies, "a sequence of policies"),
        as_list("keys", keys, "a sequence of keys"),
    )
    if not len(worlds) == len(policies) == len(keys) > 0:
        raise InvalidInputError(
            f"{len(worlds)} worlds, {len(policies)} policies and {len(keys)} keys were given, but as many of each are"
            " needed, one at least."
        )
    keys, episodes = [as_key(key) for key in keys], as_count("episodes", episodes, 1)
    for world, policy in zip(worlds, policies, strict=True):
        require_policy(world, policy)
    hosts = [world for world in worlds if isinstance(world, HostWorld)]
    if hosts:
        require_episodes(hosts[0], episodes, 1, len(hosts))
        rows = zip(hosts, policies, keys, strict=True)
        return jnp.stack([host_returns(world, policy, episodes, key, mean_action) for world, policy, key in rows])
    require_one_kind(worlds)
    with single_precision():
        for world in worlds:
            require_reward(world)
        steps = usual_horizon(worlds, horizon)
        require_episodes(worlds[0], episodes, steps, len(worlds), kept=lambda _: 1)  # What was paid so far.
        with on_host():
            fields = [Field(in_working_precision(world), each=False) for world in worlds]  # pyright: ignore
            held = [in_working_precision(policy) for policy in policies]
        field, policy = stacked(fields, held)
        mean = jnp.asarray(mean_action)  # One program serves mean and drawn actions.
        returns, _ = _measure_batch(field, policy, jnp.stack(list(keys)), episodes, steps, mean)
        return returns
