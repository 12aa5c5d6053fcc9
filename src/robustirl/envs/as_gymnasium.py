r"""Environments of ours as Gymnasium environments, for agents and tools written for Gymnasium.

    import gymnasium
    import robustirl.envs.as_gymnasium  # Registers the ids.

    env = gymnasium.make("robustirl/GridWorld1-v0", noise=0.1, noise_model="uniform-action")

**Finite environments** (`RobustIRLEnv`). The observation is the state, the action the action, both numbered as in the
MDP, and a step draws the successor from the kernel of the environment's `evaluation_mdp`: there is no second account of
the dynamics. A step pays for the state it leaves, R(s_t), or for the action taken there, R(s_t, a_t), so that an
episode of at most T steps returns Σ_{t<T} R(s_t), whose expectation is `planning.total_return(..., horizon=T-1)`.
Registered ids have T = 1001, which is the paper's horizon of 1000. An episode is terminated in a state that keeps
whatever enters it and pays nothing: nothing more could happen. `info["action_mask"]` tells which actions are available
(1), as in Gymnasium's Taxi. One that is not leaves the state as it is, and the step is paid like any other; where
actions are paid for, like the worst available one.

**Continuous worlds** (`ContinuousEnv`), such as `GaussianGrid` and worlds of `envs.physics`. The observation is φ of
the state, or the state itself, and a step takes its draws from the environment's generator.

This module imports Gymnasium; the rest of `robustirl.envs` does not.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from robustirl._check import as_count
from robustirl._jax import working_precision
from robustirl.envs.gymnasium import require_gymnasium
from robustirl.envs.registry import Environment, make, names
from robustirl.errors import InvalidInputError

require_gymnasium()
import gymnasium  # noqa: E402
from gymnasium.spaces import Box, Discrete  # noqa: E402

MAX_EPISODE_STEPS = 1001


class RobustIRLEnv(gymnasium.Env[np.int64 | int, np.int64 | int]):
    """A finite environment as a Gymnasium environment.

    Args:
        environment: One of ours, or the name of a registered one.
        noise: ε of the world to walk in.
        noise_model: Its noise model; the environment's default if omitted.
        options: Go to `envs.make` along with a name.

    Example:
        >>> env = RobustIRLEnv("gridworld-4", noise=0.1)
        >>> state, info = env.reset(seed=1)
        >>> env.observation_space.n.item(), env.action_space.n.item(), info["action_mask"].shape
        (36, 4, (4,))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, environment: str | Environment, *, noise: float = 0.0, noise_model: str | None = None, **options: Any
    ):
        self.environment: Environment = make(environment, **options) if isinstance(environment, str) else environment
        world = self.environment.evaluation_mdp(noise, noise_model)
        self._kernel = world.kernel.to_sparse()
        self._mask, self._initial = np.asarray(world.mask), np.asarray(world.initial)
        states, actions = self._mask.shape
        reward = np.asarray(self.environment.reward, dtype=float)
        pay = np.broadcast_to(reward[:, None] if reward.ndim == 1 else reward, (states, actions))
        worst = np.min(pay, axis=-1, where=self._mask, initial=np.inf, keepdims=True)
        self._pay = np.where(self._mask, pay, worst)
        rows = self._kernel.tocoo()
        leaving = (rows.row // actions != rows.col) & self._mask.ravel()[rows.row]
        stays = np.bincount(rows.row[leaving] // actions, minlength=states) == 0
        self._over = stays & ~self._pay.any(-1)
        self._state: int | None = None
        self.observation_space: Discrete = Discrete(states)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.action_space: Discrete = Discrete(actions)  # pyright: ignore[reportIncompatibleVariableOverride]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        del options
        super().reset(seed=seed)
        self._state, chance = self._draw(np.arange(len(self._initial)), self._initial)
        return self._state, self._info(chance)

    def step(self, action: np.integer | int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self._state is None:
            raise InvalidInputError("no episode has begun; call reset before step.")
        if not self.action_space.contains(action):
            raise InvalidInputError(
                f"the action is {action!r}, but a whole number from 0 to {self._mask.shape[1] - 1} is needed."
            )
        state, action, chance = self._state, int(action), 1.0
        reward = float(self._pay[state, action])
        if self._mask[state, action]:
            row = state * self._mask.shape[1] + action
            here = slice(self._kernel.indptr[row], self._kernel.indptr[row + 1])
            self._state, chance = self._draw(self._kernel.indices[here], self._kernel.data[here])
        return self._state, reward, bool(self._over[self._state]), False, self._info(chance)

    def _draw(self, places: np.ndarray, chances: np.ndarray) -> tuple[int, float]:
        """Return one of the places by inverse-transform sampling, and its probability."""
        cumulative = np.cumsum(chances)
        index = int(np.searchsorted(cumulative, self.np_random.random() * cumulative[-1], side="right"))
        index = min(index, len(places) - 1)  # A product that rounds up to the last sum.
        return int(places[index]), float(chances[index])

    def _info(self, chance: float) -> dict[str, Any]:
        return {"action_mask": self._mask[self._state].astype(np.int8), "prob": chance}


class ContinuousEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A continuous world of ours as a Gymnasium environment.

    Args:
        world: One with a reward, such as `envs.GaussianGrid(noise=0.1)` or `envs.physics.make("cart-pole")`.
        horizon: After how many steps an episode is cut off; the world's own horizon if omitted, else 1000.
        features: Whether what is seen is φ of the state; else it is the state itself.

    `reset(options={"draws": array})`, with an array `[T, k]` of numbers in [0, 1), fixes the draws of the next T steps.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> env = ContinuousEnv(GaussianGrid(noise=0.1), features=False)
        >>> env.reset(seed=0)[0].tolist()
        [-1.0, 1.0]
        >>> after, reward, terminated, truncated, info = env.step(np.array([0.0, -0.5]))
        >>> after.round(6).tolist(), round(reward, 4), terminated, truncated
        ([-1.0, 0.95], -7.8025, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, world: Any, *, horizon: int | None = None, features: bool = True):
        self.world, self._look = world, features
        self.horizon: int = getattr(world, "horizon", 1000) if horizon is None else as_count("the horizon", horizon, 1)
        low, high = (np.asarray(bound, np.float32) for bound in world.bounds)
        self.action_space: Box = Box(low, high)  # pyright: ignore[reportIncompatibleVariableOverride]
        seen = self._seen(world.initial(key=jax.random.key(0)))
        shape = seen.shape
        self.observation_space: Box = Box(-np.inf, np.inf, shape, seen.dtype)  # pyright: ignore[reportIncompatibleVariableOverride, reportArgumentType]

    @working_precision
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._draws = (options or {}).get("draws")
        self._steps = 0
        self._state = self.world.initial(key=jax.random.key(int(self.np_random.integers(2**32))))
        return self._seen(self._state), {}

    @working_precision
    def step(self, action: Any):
        count = self.world.draw_size
        if self._draws is not None and np.shape(self._draws[self._steps : self._steps + 1]) != (1, count):
            raise InvalidInputError(f"step {self._steps} has no draws; give {count} numbers for each step.")
        draws = self.np_random.random(count) if self._draws is None else self._draws[self._steps]
        self._state, reward, over = _advance(
            self.world, self._state, jnp.asarray(action, float), jnp.asarray(draws, float)
        )
        self._steps += 1
        return self._seen(self._state), float(reward), bool(over), self._steps >= self.horizon, {}

    def _seen(self, state: Any) -> np.ndarray:
        return np.asarray(self.world.features(state) if self._look else state)


@eqx.filter_jit
def _advance(world: Any, state: Any, action: Any, draws: Any) -> Any:
    after = world.step(state, action, draws)
    return after, world.reward(after), world.terminal(after)


def gymnasium_id(name: str) -> str:
    """Return the id under which Gymnasium knows an environment of ours.

    Example:
        >>> gymnasium_id("gridworld-1"), gymnasium_id("frozen-lake-8x8")
        ('robustirl/GridWorld1-v0', 'robustirl/FrozenLake8x8-v0')
    """
    parts = [part[:1].upper() + part[1:] for part in name.split("-")]
    camel = [part.removesuffix("world") + "World" if part.endswith("world") else part for part in parts]
    return f"robustirl/{''.join(camel)}-v0"


def register_gymnasium() -> tuple[str, ...]:
    """Make every registered environment known to Gymnasium, and return their ids.

    Importing this module does it once. Call it again after `envs.registry.register`; what Gymnasium knows already
    stays as it is.

    Example:
        >>> "robustirl/GridWorld1-v0" in register_gymnasium()
        True
    """
    ids = {gymnasium_id(name): name for name in names()}
    for identifier, name in ids.items():
        if identifier not in gymnasium.registry:
            entry = f"{__name__}:{RobustIRLEnv.__name__}"
            gymnasium.register(identifier, entry, max_episode_steps=MAX_EPISODE_STEPS, kwargs={"environment": name})
    return tuple(ids)


register_gymnasium()
