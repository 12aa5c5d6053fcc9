"""The rules of Gymnasium's MuJoCo worlds (version 5), over the model files that Gymnasium brings along.

Rewards and ends of episodes are those of Gymnasium, with two differences in the inverted double pendulum. Its
observation ends with a constraint force there, which is no function of positions and velocities and is left out here.
Its reward there is that of the tip one step of the simulation ago, a fifth of a step of the world; here it is the tip's
own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from robustirl.envs.physics.mujoco import MujocoEquations
from robustirl.errors import InvalidInputError

ROD = 0.6  # The length of each rod of the inverted double pendulum.


def _file(name: str) -> Path:
    from robustirl.envs.gymnasium import require_gymnasium

    gymnasium = require_gymnasium()
    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name
    if not path.is_file():
        raise InvalidInputError(
            f"Gymnasium {gymnasium.__version__} has no model file {name}; install version 1.0 or later."
        )
    return path


def _seen(position: Array, velocity: Array) -> Array:
    """Return all but the place along the track, and speeds within ±10."""
    return jnp.concatenate([position[1:], jnp.clip(velocity, -10, 10)])


def _forward(healthy: Callable[[Array, Array], Array] | None, bonus: float, cost: float) -> Callable[..., Array]:
    """Pay for speed along x and for being healthy, less a cost of the squared action."""

    def reward(position: Array, velocity: Array, action: Array, after: Array, speed: Array, seconds: float) -> Array:
        del velocity
        alive = 0.0 if healthy is None else bonus * healthy(after, speed)
        return (after[0] - position[0]) / seconds + alive - cost * (action**2).sum()

    return reward


def _hopper_healthy(position: Array, velocity: Array) -> Bool[Array, ""]:
    rest = jnp.concatenate([position[2:], velocity])
    return (position[1] > 0.7) & (jnp.abs(position[2]) < 0.2) & (jnp.abs(rest) < 100).all()


def _walker_healthy(position: Array, velocity: Array) -> Bool[Array, ""]:
    del velocity
    return (position[1] > 0.8) & (position[1] < 2.0) & (jnp.abs(position[2]) < 1.0)


def _tip(position: Array) -> tuple[Array, Array]:
    """Return where the upper end of the upper rod is."""
    first, second = position[1], position[1] + position[2]
    across = position[0] + ROD * (jnp.sin(first) + jnp.sin(second))
    return across, ROD * (jnp.cos(first) + jnp.cos(second))


def _double_reward(
    position: Array, velocity: Array, action: Array, after: Array, speed: Array, seconds: float
) -> Float[Array, ""]:
    del position, velocity, action, seconds
    across, height = _tip(after)
    miss = 0.01 * across**2 + (height - 2) ** 2
    haste = 1e-3 * speed[1] ** 2 + 5e-3 * speed[2] ** 2
    return jnp.where(height <= 1, 0.0, 10.0) - miss - haste


def _double_seen(position: Array, velocity: Array) -> Array:
    turns = [jnp.sin(position[1:]), jnp.cos(position[1:])]
    return jnp.concatenate([position[:1], *turns, jnp.clip(velocity, -10, 10)])


def inverted_double_pendulum(**options: Any) -> MujocoEquations:
    """Return the rules of `InvertedDoublePendulum-v5`."""
    return MujocoEquations(
        "inverted-double-pendulum",
        _file("inverted_double_pendulum.xml"),
        frame_skip=5,
        observe=_double_seen,
        reward=_double_reward,
        terminal=lambda position, velocity: _tip(position)[1] <= 1,  # noqa: ARG005
        noise=0.1,
        **options,
    )


def inverted_pendulum(**options: Any) -> MujocoEquations:
    """Return the rules of `InvertedPendulum-v5`."""

    def fallen(position: Array, velocity: Array) -> Bool[Array, ""]:
        return (jnp.abs(position[1]) > 0.2) | ~jnp.isfinite(jnp.concatenate([position, velocity])).all()

    def reward(position: Array, velocity: Array, action: Array, after: Array, speed: Array, seconds: float) -> Array:
        del position, velocity, action, seconds
        return jnp.where(fallen(after, speed), 0.0, 1.0)

    return MujocoEquations(
        "inverted-pendulum",
        _file("inverted_pendulum.xml"),
        frame_skip=2,
        reward=reward,
        terminal=fallen,
        noise=0.01,
        **options,
    )


def hopper(**options: Any) -> MujocoEquations:
    """Return the rules of `Hopper-v5`."""
    return MujocoEquations(
        "hopper",
        _file("hopper.xml"),
        frame_skip=4,
        observe=_seen,
        reward=_forward(_hopper_healthy, 1.0, 1e-3),
        terminal=lambda position, velocity: ~_hopper_healthy(position, velocity),
        **options,
    )


def half_cheetah(**options: Any) -> MujocoEquations:
    """Return the rules of `HalfCheetah-v5`."""
    return MujocoEquations(
        "half-cheetah",
        _file("half_cheetah.xml"),
        frame_skip=5,
        observe=lambda position, velocity: jnp.concatenate([position[1:], velocity]),
        reward=_forward(None, 0.0, 0.1),
        noise=0.1,
        **options,
    )


def walker_2d(**options: Any) -> MujocoEquations:
    """Return the rules of `Walker2d-v5`."""
    return MujocoEquations(
        "walker-2d",
        _file("walker2d_v5.xml"),
        frame_skip=4,
        observe=_seen,
        reward=_forward(_walker_healthy, 1.0, 1e-3),
        terminal=lambda position, velocity: ~_walker_healthy(position, velocity),
        **options,
    )


MODELS: dict[str, Callable[..., MujocoEquations]] = {
    "inverted-double-pendulum": inverted_double_pendulum,
    "inverted-pendulum": inverted_pendulum,
    "hopper": hopper,
    "half-cheetah": half_cheetah,
    "walker-2d": walker_2d,
}
"""The worlds that `mujoco_world` knows by name."""
