"""Gymnasium's vector environments as worlds to learn in: they step themselves in Python, on the CPU.

Nothing of them is traced, so any environment whose observations and actions are numbers will do. Observations are Boxes
or Discrete (as one-hot vectors), flattened; actions are Boxes, or Discrete: the action of the largest of n numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._runtime import require_memory
from robustirl.envs.gymnasium._guard import require_gymnasium
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, require_callable, require_discount
from robustirl.types import HostStep

DEFAULT_HORIZON = 1000
"""The length of an episode where neither the caller nor the environment gives one."""
ENVIRONMENT_BYTES = 5000
"""An environment of Gymnasium; CartPole, one of the smallest, takes 5.9 kB."""


class VectorWorld:
    """A vector environment with what training needs; see `from_gymnasium_vector`."""

    def __init__(
        self,
        envs: Any,
        *,
        discount: float,
        features: Callable[[Float[np.ndarray, "N o"]], Float[np.ndarray, "N d"]] | None,
        horizon: int | None,
        seed: int,
    ):
        self.envs = envs
        self.discount: float = require_discount(discount)
        if features is not None:
            require_callable("features", features, "a function of observations")
        self._features = features
        self._seed: int | None = as_count("the seed", seed, 0, 2**32 - 1)
        self._mode = _autoreset_mode(envs)
        self._resets = _resets_by_mask(envs)
        self._choice, self._low, self._high = _actions_of(envs.single_action_space)
        self._flatten = _flattener(envs.single_observation_space)
        self.environments: int = int(envs.num_envs)
        self.horizon: int = _horizon_of(envs) if horizon is None else as_count("the horizon", horizon, 1)
        self.action_size: int = self._choice or len(self._low)
        self.bounds: tuple[np.ndarray, np.ndarray] | None = None if self._choice else (self._low, self._high)
        self._ages = np.zeros(self.environments, int)
        self._pending = np.zeros(self.environments, bool)
        self.width: int = self.reset().shape[1]

    def reset(self) -> Float[np.ndarray, "N d"]:
        """Begin all episodes, and return what is seen.

        The seed is used once, so that later episodes differ.
        """
        seen, _ = self.envs.reset(seed=self._seed)
        self._seed = None
        self._ages[:] = 0
        self._pending[:] = False
        return self._look(seen)

    def advance(self, actions: Float[np.ndarray, "N a"]) -> HostStep:
        """Take one step in every environment; an episode at the horizon is cut off."""
        counted = ~self._pending
        seen, paid, terminated, truncated, infos = self.envs.step(self._as_actions(np.asarray(actions)))
        terminated, truncated = np.asarray(terminated, bool) & counted, np.asarray(truncated, bool) & counted
        after = onward = self._look(seen)
        ended = terminated | truncated
        if self._mode == "SameStep" and ended.any():
            after = self._look(_final_observations(seen, infos, ended))
        self._ages = np.where(counted, self._ages + 1, 0)
        late = counted & ~ended & (self._ages >= self.horizon)
        over = ended | late
        self._pending = np.zeros_like(over)
        begin = late if self._mode == "SameStep" else over
        if begin.any() and self._resets:
            fresh, _ = self.envs.reset(options={"reset_mask": begin})
            onward = np.where(begin[:, None], self._look(fresh), onward)
        elif begin.any():
            if late.any():
                raise InvalidInputError(
                    f"an episode has not ended after {self.horizon} steps, and {type(self.envs).__name__} cannot begin"
                    " single environments anew; make it with vectorization_mode='sync', or with max_episode_steps."
                )
            self._pending = over  # The next step begins these anew.
        self._ages = np.where(over, 0, self._ages)
        return HostStep(after, np.asarray(paid, float) * counted, terminated, truncated | late, onward, counted)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def _look(self, seen: Any) -> Float[np.ndarray, "N d"]:
        flat = self._flatten(seen)
        return flat if self._features is None else np.asarray(self._features(flat), float)

    def _as_actions(self, actions: Float[np.ndarray, "N a"]) -> np.ndarray:
        space = self.envs.single_action_space
        if self._choice:
            return (actions.argmax(1) + int(getattr(space, "start", 0))).astype(space.dtype)
        return np.clip(actions, self._low, self._high).astype(space.dtype).reshape(-1, *space.shape)

    def __repr__(self) -> str:
        name = getattr(getattr(self.envs, "spec", None), "id", type(self.envs).__name__)
        kind = f"one of {self._choice} actions" if self._choice else f"{self.action_size} numbers an action"
        return f"VectorWorld({name}: {self.environments} environments, {self.width} numbers seen, {kind})"


def from_gymnasium_vector(
    envs: Any,
    *,
    environments: int = 16,
    discount: float = 0.99,
    features: Callable[[Float[np.ndarray, "N o"]], Float[np.ndarray, "N d"]] | None = None,
    horizon: int | None = None,
    seed: int = 0,
) -> VectorWorld:
    """Return a world of a Gymnasium vector environment.

    It is for `train_policy`, `record` and `RobustImitation`.

    Args:
        envs: A `gymnasium.vector.VectorEnv`, in any autoreset mode; or the name of an environment, which is then made
            with `gymnasium.make_vec`, one after the other in this process.
        environments: How many to make of a name.
        discount: γ.
        features: φ, of all observations at once, `[N, o]` to `[N, d]`; the observations themselves if omitted.
        horizon: After how many steps an episode is cut off; the environment's own limit if omitted, else 1000.
        seed: Of the environments.

    Example:
        >>> world = from_gymnasium_vector("CartPole-v1", environments=4)
        >>> world
        VectorWorld(CartPole-v1: 4 environments, 4 numbers seen, one of 2 actions)
        >>> step = world.advance(np.array([[0.0, 1.0]] * 4))
        >>> step.after.shape, step.paid.tolist()
        ((4, 4), [1.0, 1.0, 1.0, 1.0])
    """
    gymnasium = require_gymnasium()
    if isinstance(envs, str):
        count = as_count("environments", environments, 1)
        require_memory(float(ENVIRONMENT_BYTES) * count, f"environments={count}", "make fewer")
        try:
            envs = gymnasium.make_vec(envs, num_envs=count, vectorization_mode="sync")
        except gymnasium.error.Error as error:
            reason = " ".join(str(error).split())
            raise InvalidInputError(f"Gymnasium cannot make {envs!r} ({reason}); give a registered name.") from None
    if not isinstance(envs, gymnasium.vector.VectorEnv):
        raise InvalidInputError(
            f"the environments are a {type(envs).__name__}, but a gymnasium.vector.VectorEnv or the name of an"
            " environment is needed; make one with gymnasium.make_vec."
        )
    return VectorWorld(envs, discount=discount, features=features, horizon=horizon, seed=seed)


def _actions_of(space: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of choices of a Discrete space, else zero and the bounds of a Box."""
    kinds = require_gymnasium().spaces
    if isinstance(space, kinds.Discrete):
        return int(space.n), np.zeros(0), np.zeros(0)
    if not isinstance(space, kinds.Box) or space.dtype.kind != "f":
        raise InvalidInputError(
            f"the action space is {space}, but a Box of real numbers or a Discrete space is needed."
        )
    low, high = (np.asarray(bound, float).ravel() for bound in (space.low, space.high))
    return 0, low, high


def _flattener(space: Any) -> Callable[[Any], Float[np.ndarray, "N o"]]:
    kinds = require_gymnasium().spaces
    if isinstance(space, kinds.Discrete):
        return lambda seen: np.eye(int(space.n))[np.asarray(seen) - int(space.start)]
    if not isinstance(space, kinds.Box):
        raise InvalidInputError(
            f"the observation space is {space}, but a Box or a Discrete space is needed; wrap the environments in"
            " gymnasium.wrappers.vector.FlattenObservation."
        )
    return lambda seen: np.array(seen, float).reshape(len(seen), -1)


def _autoreset_mode(envs: Any) -> str:
    mode = getattr(envs, "metadata", {}).get("autoreset_mode", "NextStep")
    return str(getattr(mode, "value", mode))


def _resets_by_mask(envs: Any) -> bool:
    """Return whether single environments can be reset.

    They can in Gymnasium's own two vector environments, and where there is no autoreset.
    """
    vector = require_gymnasium().vector
    return (
        isinstance(envs.unwrapped, vector.SyncVectorEnv | vector.AsyncVectorEnv) or _autoreset_mode(envs) == "Disabled"
    )


def _horizon_of(envs: Any) -> int:
    spec = getattr(envs, "spec", None)
    return int(getattr(spec, "max_episode_steps", None) or DEFAULT_HORIZON)


def _final_observations(seen: Any, infos: dict[str, Any], ended: np.ndarray) -> np.ndarray:
    """Return what was seen before environments began anew within the step."""
    final = np.array(seen)
    for index in np.flatnonzero(ended):
        final[index] = infos["final_obs"][index]
    return final
