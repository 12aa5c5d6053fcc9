"""GaussianGrid as a Gymnasium environment, built on the same functions as the JAX one.

A step takes its three uniform draws from the environment's generator, or from an array given at `reset`; the rest is
`GaussianGrid.step`. So the two versions cannot drift apart: from the same draws they walk the same path.

Gymnasium is imported when an environment is made, not before.
"""

import functools
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import working_precision
from robustirl.envs.gaussian_grid import START, GaussianGrid
from robustirl.envs.gymnasium._guard import require_gymnasium
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import gymnasium

ID = "robustirl/GaussianGrid-v0"
DEFAULT_HORIZON = 1000


def gaussian_grid_env(
    noise: float = 0.0,
    *,
    noise_model: str = "towards-origin",
    scales: ArrayLike = (1.0,) * 7,
    horizon: int = DEFAULT_HORIZON,
) -> "gymnasium.Env":
    """Return a Gymnasium environment that moves as `GaussianGrid` does.

    It truncates after `horizon` steps. The observation is the state, and `info["features"]` holds φ of it.
    `reset(options={"draws": array})`, with an array `[T, 3]` of numbers in [0, 1), fixes the noise of the next T steps.

    Example:
        >>> env = gaussian_grid_env(noise=0.1)
        >>> start, info = env.reset(seed=0)
        >>> start.tolist(), info["features"].shape
        ([-1.0, 1.0], (7,))
        >>> after, reward, terminated, truncated, info = env.step(np.array([0.0, -0.5]))
        >>> after.tolist(), round(reward, 4), terminated, truncated
        ([-1.0, 0.95], -7.8025, False, False)
    """
    horizon = as_count("the horizon", horizon, 1)
    return _env_class()(GaussianGrid(noise, noise_model=noise_model, scales=scales), horizon)


def register_gaussian_grid() -> str:
    """Register the environment for `gymnasium.make` and `gymnasium.make_vec`; return its id.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make(register_gaussian_grid(), noise=0.2)
        >>> env.action_space.shape
        (2,)
    """
    gym = require_gymnasium()
    if ID not in gym.registry:
        gym.register(ID, entry_point="robustirl.envs.gymnasium.continuous:gaussian_grid_env")
    return ID


@functools.cache
def _env_class() -> type:
    """Return the class, made once.

    A class statement at the top of the file would import Gymnasium with the package.
    """
    gym = require_gymnasium()

    class GaussianGridEnv(gym.Env):
        """GaussianGrid for Gymnasium."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self, world: GaussianGrid, horizon: int):
            self.world, self.horizon = world, horizon
            low, high = (np.asarray(bound) for bound in world.bounds)
            self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), low.dtype)
            self.action_space = gym.spaces.Box(low, high, dtype=low.dtype)

        @working_precision
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
            super().reset(seed=seed)
            draws = (options or {}).get("draws")
            self.draws = None if draws is None else _as_draws(draws)
            self.steps = 0
            self.state = np.asarray(START, dtype=self.observation_space.dtype)
            return self.state.copy(), {"features": np.asarray(_look(self.world, self.state))}

        @working_precision
        def step(self, action: ArrayLike):
            draws = self.np_random.random(self.world.draw_size) if self.draws is None else self._next_draws()
            state, reward, terminal, features = _advance(self.world, self.state, jnp.asarray(action, float), draws)
            self.state = np.array(state)
            self.steps += 1
            truncated = self.steps >= self.horizon
            return self.state.copy(), float(reward), bool(terminal), truncated, {"features": np.asarray(features)}

        def _next_draws(self) -> np.ndarray:
            assert self.draws is not None
            if self.steps >= len(self.draws):
                raise InvalidInputError(
                    f"step {self.steps} has no noise, since `draws` has {len(self.draws)} rows; give one row a step."
                )
            return self.draws[self.steps]

    return GaussianGridEnv


def _as_draws(draws: ArrayLike) -> np.ndarray:
    array = np.asarray(draws)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind != "f" or not ((array >= 0) & (array < 1)).all():
        raise InvalidInputError(
            f"`draws` has shape {array.shape}, but an array (steps, 3) of numbers from 0 to below 1 is needed."
        )
    return array


@eqx.filter_jit
def _look(world: GaussianGrid, state):
    return world.features(jnp.asarray(state))


@eqx.filter_jit
def _advance(world: GaussianGrid, state, action, draws):
    after = world.step(jnp.asarray(state), action, jnp.asarray(draws, dtype=float))
    return after, world.reward(after), world.terminal(after), world.features(after)
