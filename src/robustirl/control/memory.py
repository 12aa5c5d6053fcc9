"""Estimate what sampling and training take, and refuse what memory cannot hold before anything is made.

The numbers are what surely has to be held at the same time, so that nothing is refused that would fit. Products are
taken as floats: counts of a billion each overflow nothing.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from robustirl._runtime import require_memory, short_repr, working_dtype
from robustirl.control.host_worlds import HostWorld
from robustirl.control.interface import World
from robustirl.control.ppo_config import PPOConfig

FEW = 10**5
"""Steps up to this number are not looked at: they fit, and the sizes of a world take a moment to find."""
SINGLE = 4
"""Bytes of a number in training, which is done in single precision."""
NETWORK_COPIES = 7
"""A network in training: weights, two moments of Adam, gradient, change, and both sides of what is kept of it."""
LOG_NUMBERS = 8
HOST_EPISODE_BYTES = 1500
"""The least that an episode of environments which step themselves takes: ten arrays of a step each."""


class Sizes(NamedTuple):
    """Numbers of a state, of what is seen of it, and of an action."""

    state: int
    features: int
    actions: int


def sizes_of(world: World | HostWorld) -> Sizes:
    """Return the sizes of a world.

    Example:
        >>> from robustirl.envs import physics
        >>> sizes_of(physics.make("pendulum"))
        Sizes(state=3, features=3, actions=1)
    """
    if isinstance(world, HostWorld):
        return Sizes(world.width, world.width, world.action_size)

    def look() -> tuple[Any, Any]:
        state = world.initial(key=jax.random.key(0))
        return state, world.features(state)

    state, seen = jax.eval_shape(look)
    return Sizes(state.shape[-1], seen.shape[-1], world.action_size)


def count_weights(inputs: int, hidden: Sequence[int], outputs: int) -> float:
    """Return how many weights and biases a network has.

    Example:
        >>> count_weights(3, (4, 5), 1)
        47.0
    """
    sizes = [float(size) for size in (inputs, *hidden, outputs)]
    return sum((before + 1) * after for before, after in itertools.pairwise(sizes))


def require_network(inputs: int, hidden: Sequence[int], outputs: int) -> None:
    """Refuse a network whose weights do not fit."""
    needed = 2.0 * working_dtype().itemsize * count_weights(inputs, hidden, outputs)
    layers = short_repr((inputs, *hidden, outputs))
    require_memory(needed, f"a policy with layers of {layers} numbers", "use narrower ones")


def numbers_of_step(sizes: Sizes) -> int:
    """Return how many numbers a logged step takes; the log is then put together with the start.

    Example:
        >>> numbers_of_step(Sizes(state=3, features=3, actions=1))
        16
    """
    return 2 * (sizes.state + sizes.features + 2 * sizes.actions)


def require_episodes(
    world: Any, episodes: int, horizon: int, fits: int = 1, *, kept: Callable[[Sizes], int] = numbers_of_step
) -> None:
    """Refuse more or longer episodes than memory holds.

    Args:
        world: Where they take place.
        episodes: Of each policy.
        horizon: Their steps.
        fits: How many policies act at the same time.
        kept: How many numbers are kept of a step, given the sizes of the world. A compiled program keeps only what is
            asked of it.
    """
    if isinstance(world, HostWorld):
        require_memory(float(HOST_EPISODE_BYTES) * episodes * fits, f"sampling {episodes} episodes", "take fewer")
        return
    steps = float(episodes) * horizon * fits
    if steps <= FEW:
        return
    numbers = kept(sizes_of(world))
    batch = f", {fits} times" if fits > 1 else ""
    require_memory(
        working_dtype().itemsize * numbers * steps,
        f"sampling {episodes} episodes of {horizon} steps{batch}",
        "take fewer, or a shorter horizon",
    )


def require_history(name: str, count: int, numbers: int) -> None:
    """Refuse more steps or rounds than there is room to keep so many numbers of each."""
    # A key each, too, and both are copied once.
    needed = 2.0 * count * (8 + working_dtype().itemsize * numbers)
    require_memory(needed, f"a history of {count} {name}", f"take fewer {name}")


def require_training(
    world: Any, config: PPOConfig, *, steps: int, fits: int = 1, extra: float = 0.0, what: str = ""
) -> None:
    """Refuse a training by PPO that does not fit.

    Args:
        world: The world, or a list of those that are spread over the environments.
        config: How to train.
        steps: Of all environments, whose log has an entry an update.
        fits: How many are trained at the same time.
        extra: Bytes that each of them takes beside PPO.
        what: Settings beside those of PPO that the extra bytes come from, for the sentence.
    """
    several = isinstance(world, list | tuple)
    sizes, parameters = sizes_of(world[0] if several else world), 0.0
    if several:  # Every environment has parameters of its own.
        parameters = float(sum(np.size(leaf) for leaf in jax.tree.leaves(world[0])))
    number = world.environments if isinstance(world, HostWorld) else config.environments
    batch, widest = float(number) * config.segment, max(config.hidden, default=1)
    # A segment, its steps in the order of the minibatches, what was seen last, and a layer of the critic.
    segment = batch * (4 * sizes.features + 2 * sizes.actions + 11 + widest)
    gradients = 3 * batch / config.minibatches * float(sum(config.hidden))
    policy = count_weights(sizes.features, config.hidden, sizes.actions)
    networks = NETWORK_COPIES * (2 * policy + count_weights(sizes.features, config.hidden, 1))
    log = LOG_NUMBERS * steps / batch
    needed = SINGLE * (segment + gradients + networks + log + number * (2 * sizes.state + parameters)) + extra
    trained = f"{fits} trainings" if fits > 1 else "a training"
    require_memory(
        needed * fits,
        f"{trained} with environments={number}, segment={config.segment}, hidden={short_repr(config.hidden)}{what}",
        "use smaller ones" if fits == 1 else "use smaller ones, or fewer at a time",
    )
