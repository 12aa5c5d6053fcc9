"""Estimate what imitation and cloning take, and refuse what memory cannot hold before anything is made."""

from typing import Any

from robustirl._runtime import require_memory, short_repr
from robustirl.control import SINGLE, HostWorld, PPOConfig, count_weights, require_episodes, require_training
from robustirl.irl.adversarial.alone import ALONE
from robustirl.irl.adversarial.config import ImitationConfig

ATTEMPT_BYTES = 1000
"""An attempt before it begins: its key, and its places in lists."""
ROWS = 1 << 14
COPIES = 5
"""A network that Adam trains: weights, two moments, gradient and change."""


def padded_rows(steps: int) -> int:
    """Return to how many rows an expert's steps are padded.

    It is `ROWS` or the next power of two, so that one compiled program serves demonstrations of different lengths.

    Example:
        >>> padded_rows(3), padded_rows(20_000)
        (16384, 32768)
    """
    return max(ROWS, 1 << (steps - 1).bit_length())


def require_attempts(attempts: int) -> None:
    """Refuse more attempts than can be listed."""
    require_memory(float(ATTEMPT_BYTES) * attempts, f"attempts={attempts}", "take fewer")


def require_imitation(world: Any, config: ImitationConfig, *, width: int, steps: int, horizon: int, fits: int) -> None:
    """Refuse fits that do not fit into memory.

    Args:
        world: The learner's world, or a list of worlds.
        config: How to train.
        width: Numbers in an observation.
        steps: Of the expert.
        horizon: Of the episodes of the player alone, after training.
        fits: How many are trained at the same time.
    """
    first = world[0] if isinstance(world, list | tuple) else world
    number = first.environments if isinstance(first, HostWorld) else config.ppo.environments
    inputs = width * (2 if config.sees == "transitions" else 1)
    judged = float(number) * config.ppo.segment * (inputs + max(config.hidden, default=1))
    drawn = 3.0 * config.batch * (inputs + sum(config.hidden))
    network = COPIES * count_weights(inputs, config.hidden, 1)
    require_training(
        world,
        config.ppo,
        steps=config.steps,
        fits=fits,
        extra=SINGLE * (2.0 * padded_rows(steps) * width + judged + drawn + network),
        what=f" and a discriminator with batch={config.batch}, hidden={short_repr(config.hidden)}",
    )
    if not isinstance(first, HostWorld):
        require_episodes(first, min(number, ALONE), horizon, fits, kept=lambda sizes: sizes.features)


def require_cloning(config: PPOConfig, sizes: tuple[int, int], *, rows: int, batch: int, fits: int) -> None:
    """Refuse clonings that do not fit into memory.

    Args:
        config: The widths of the network.
        sizes: Numbers in an observation and in an action.
        rows: Steps of the expert, padded.
        batch: Steps in a gradient.
        fits: How many are trained at the same time.
    """
    seen, done = sizes
    layers = 3.0 * batch * (seen + done + sum(config.hidden))
    network = COPIES * count_weights(seen, config.hidden, done)
    times = f" of {fits} experts" if fits > 1 else ""
    require_memory(
        SINGLE * fits * (float(rows) * (seen + done) + layers + network),
        f"cloning{times} with batch={batch}, hidden={short_repr(config.hidden)}",
        "use smaller ones" if fits == 1 else "use smaller ones, or fewer at a time",
    )
