r"""Environments of ours as Gymnasium environments, for agents and tools written for Gymnasium.

    import gymnasium
    import robustirl.envs.gymnasium.worlds  # Registers the ids.

    env = gymnasium.make("robustirl/GridWorld1-v0", noise=0.1, noise_model="uniform-action")

The observation is the state, the action the action, both numbered as in the MDP, and a step draws the successor from
the kernel of the environment's `evaluation_mdp`: there is no second account of the dynamics.

**Reward.** A step pays for the state it leaves, R(s_t), or for the action taken there, R(s_t, a_t). So the start's
reward is included, and an episode of at most T steps returns Σ_{t<T} R(s_t), whose expectation is
`planning.total_return(..., horizon=T-1)`. Registered ids have T = 1001, which is the paper's horizon of 1000.

**End.** An episode is terminated in a state that keeps whatever enters it and pays nothing: nothing more could happen.
A state that keeps but pays (the three-state example) does not terminate, or its pay would be lost; the time limit
truncates.

**Unavailable actions.** `info["action_mask"]` tells which actions are available (1), as in Gymnasium's Taxi; sample
with `env.action_space.sample(info["action_mask"])`. One that is not available leaves the state as it is, and the step
is paid like any other; where actions are paid for, like the worst available one.
"""

from typing import Any

import numpy as np

from robustirl.envs import drawing
from robustirl.envs.environment import Environment
from robustirl.envs.gymnasium._guard import require_gymnasium
from robustirl.envs.registry import make, names
from robustirl.errors import InvalidInputError

require_gymnasium()
import gymnasium  # noqa: E402
from gymnasium.spaces import Discrete  # noqa: E402

NAMESPACE = "robustirl"
MAX_EPISODE_STEPS = 1001


class RobustIRLEnv(gymnasium.Env[np.int64 | int, np.int64 | int]):
    """A finite environment as a Gymnasium environment.

    Args:
        environment: One of ours, or the name of a registered one.
        noise: ε of the world to walk in.
        noise_model: Its noise model; the environment's default if omitted.
        render_mode: `rgb_array`, `ansi`, or none.
        options: Go to `envs.make` along with a name.

    `reset(options={"noise": ..., "noise_model": ...})` changes the world from that episode on.

    Example:
        >>> env = RobustIRLEnv("gridworld-4", noise=0.1)
        >>> state, info = env.reset(seed=1)
        >>> env.observation_space.n.item(), env.action_space.n.item(), info["action_mask"].shape
        (36, 4, (4,))
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        environment: str | Environment,
        *,
        noise: float = 0.0,
        noise_model: str | None = None,
        render_mode: str | None = None,
        **options: Any,
    ):
        if options and not isinstance(environment, str):
            raise InvalidInputError(
                f"the options {', '.join(options)} go with an environment's name, but an environment was given;"
                " make it with them."
            )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InvalidInputError(
                f"the render mode is {render_mode!r}, but one of {', '.join(self.metadata['render_modes'])} is needed."
            )
        self.environment: Environment = make(environment, **options) if isinstance(environment, str) else environment
        self.render_mode = render_mode
        self._dynamics: tuple[float, str | None] | None = None
        self._state: int | None = None
        self._enter(noise, noise_model)
        self.observation_space: Discrete = Discrete(len(self._mask))  # pyright: ignore[reportIncompatibleVariableOverride]
        self.action_space: Discrete = Discrete(self._mask.shape[1])  # pyright: ignore[reportIncompatibleVariableOverride]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            unknown = [key for key in options if key not in ("noise", "noise_model")]
            if unknown:
                raise InvalidInputError(f"there is no option {unknown[0]!r} to reset with; use noise or noise_model.")
            noise, noise_model = self._dynamics or (0.0, None)
            self._enter(options.get("noise", noise), options.get("noise_model", noise_model))
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

    def render(self) -> np.ndarray | str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode is None:
            return None
        states = len(self._mask)
        shape = getattr(self.environment, "shape", None)
        draw = drawing.picture if self.render_mode == "rgb_array" else drawing.text
        return draw(shape or drawing.block(states), self._pay.max(-1), self._ends(), self._state)

    def _ends(self) -> np.ndarray:
        """Return which states are never left, or lead for certain to one such under every action."""
        rows = self._kernel.tocoo()
        state, taken = rows.row // self._mask.shape[1], self._mask.ravel()[rows.row]
        lowest, highest = np.full(len(self._mask), len(self._mask)), np.full(len(self._mask), -1)
        np.minimum.at(lowest, state[taken], rows.col[taken])
        np.maximum.at(highest, state[taken], rows.col[taken])
        return (lowest == highest) & self._stays[lowest]

    def _enter(self, noise: float, noise_model: str | None) -> None:
        """Walk in the world at this noise from now on."""
        if self._dynamics == (noise, noise_model):
            return
        world = self.environment.evaluation_mdp(noise, noise_model)
        self._dynamics = (noise, noise_model)
        self._kernel = world.kernel.to_sparse()
        self._mask, self._initial = np.asarray(world.mask), np.asarray(world.initial)
        states, actions = self._mask.shape
        reward = np.asarray(self.environment.reward, dtype=float)
        pay = np.broadcast_to(reward[:, None] if reward.ndim == 1 else reward, (states, actions))
        worst = np.min(pay, axis=-1, where=self._mask, initial=np.inf, keepdims=True)
        self._pay = np.where(self._mask, pay, worst)
        rows = self._kernel.tocoo()
        leaving = (rows.row // actions != rows.col) & self._mask.ravel()[rows.row]
        self._stays = np.bincount(rows.row[leaving] // actions, minlength=states) == 0
        self._over = self._stays & ~self._pay.any(-1)

    def _draw(self, places: np.ndarray, chances: np.ndarray) -> tuple[int, float]:
        """Return one of the places by inverse-transform sampling, and its probability."""
        cumulative = np.cumsum(chances)
        index = int(np.searchsorted(cumulative, self.np_random.random() * cumulative[-1], side="right"))
        index = min(index, len(places) - 1)  # A product that rounds up to the last sum.
        return int(places[index]), float(chances[index])

    def _info(self, chance: float) -> dict[str, Any]:
        return {"action_mask": self._mask[self._state].astype(np.int8), "prob": chance}


def gymnasium_id(name: str) -> str:
    """Return the id under which Gymnasium knows an environment of ours.

    Example:
        >>> gymnasium_id("gridworld-1"), gymnasium_id("frozen-lake-8x8")
        ('robustirl/GridWorld1-v0', 'robustirl/FrozenLake8x8-v0')
    """
    parts = [part[:1].upper() + part[1:] for part in name.split("-")]
    camel = [part.removesuffix("world") + "World" if part.endswith("world") else part for part in parts]
    return f"{NAMESPACE}/{''.join(camel)}-v0"


def register_gymnasium() -> tuple[str, ...]:
    """Make every registered environment known to Gymnasium, and return their ids.

    Importing this module does it once. Call it again after `robustirl.envs.register`; what Gymnasium knows already
    stays as it is.

    Example:
        >>> "robustirl/GridWorld1-v0" in register_gymnasium()
        True
    """
    ids = {gymnasium_id(name): name for name in names()}
    for identifier, name in ids.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point=f"{__name__}:{RobustIRLEnv.__name__}",
                max_episode_steps=MAX_EPISODE_STEPS,
                kwargs={"environment": name},
            )
    return tuple(ids)


register_gymnasium()
