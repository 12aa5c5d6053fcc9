r"""MuJoCo models with physics that can be changed: masses, friction, damping, gravity, lengths by name.

A parameter is a factor of what the model file says. `mass` is that of all bodies and `mass:torso` that of one; the same
holds for `friction` (of geometries), `damping` (of joints) and `length` (of bodies: places of parts and sizes of
geometries, lengthwise). Constants that MuJoCo derives from them are computed anew before a world is used
(`mujoco_models`), and are arrays of the world: worlds of different mass stack into one batch.

MuJoCo's own engine takes the steps, in threads of the CPU. The state is (q, q̇, activations of actuators).

The worlds with names have the rules and model files of Gymnasium's version 5, with two differences in the inverted
double pendulum: its observation leaves out the constraint force, which is no function of positions and velocities, and
its reward is that of the tip itself, where Gymnasium's is that of the tip a fifth of a step before.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._check import as_count, as_number, short_repr
from robustirl._jax import as_float, call_on_host
from robustirl.envs.gymnasium import require_gymnasium
from robustirl.envs.mujoco_models import (
    FACTORS,
    NativeEngine,
    action_bounds,
    arrays_of_model,
    as_integrator,
    change_model,
    content_of,
    load_model,
    require_mujoco,
)
from robustirl.envs.physics import Equations, Parameters, PhysicsWorld
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import require_discount
from robustirl.types import ArrayLike

LEAST_FACTOR, LARGEST_FACTOR = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
"""What training holds, which is done in single precision."""

Signal = Callable[..., Array]


class MujocoEquations(Equations):
    """A MuJoCo model as equations of motion.

    Args:
        name: What errors call the world.
        model: A `mujoco.MjModel`, or a path to a model file (MJCF).
        frame_skip: Steps of the simulation within a step of the world.
        observe: What is seen, of (q, q̇); all of both by default.
        reward: What a step pays, of (q, q̇, action, q', q̇', seconds); zero by default.
        terminal: Whether an episode ends, of (q, q̇); never by default.
        noise: First states are the model's, with q and q̇ moved uniformly by up to this.
        horizon: The usual number of steps of an episode.
        integrator: `euler`, `rk4` or `implicitfast`; the model's own if None. Runge-Kutta takes four times as long.
    """

    signed: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        frame_skip: int = 1,
        observe: Signal | None = None,
        reward: Signal | None = None,
        terminal: Signal | None = None,
        noise: float = 0.005,
        horizon: int = 1000,
        integrator: str | None = None,
    ):
        mujoco = require_mujoco()
        self.name: str = name
        self.horizon: int = as_count("the horizon", horizon, 1)
        self.model: Any = load_model(model)
        if integrator is not None:
            self.model.opt.integrator = as_integrator(mujoco, integrator)
        self.frame_skip: int = as_count("frame_skip", frame_skip, 1)
        self.noise: float = as_number("the noise of first states", noise)
        if not 0 <= self.noise < np.inf:
            raise InvalidInputError(
                f"the noise of first states is {short_repr(noise)}, but a finite number of at least 0 is needed."
            )
        self._observe, self._reward, self._terminal = observe, reward, terminal
        self.bodies: tuple[str, ...] = tuple(self.model.body(index).name for index in range(self.model.nbody))
        self.defaults: Mapping[str, float] = dict.fromkeys(FACTORS, 1.0)
        self.bounds: tuple[np.ndarray, np.ndarray] = action_bounds(self.model)
        change = functools.partial(change_model, self.model)
        self._native: NativeEngine = NativeEngine(name, self.model, self.frame_skip, change)

    def __deepcopy__(self, memo: object) -> "MujocoEquations":
        return self  # It does not change, and worlds of one batch share it.

    def check(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the factors, and the arrays of the model that follow from them."""
        given = {name: value for name, value in parameters.items() if name != "model"}
        factors = {**self.defaults, **given}
        for name, value in factors.items():
            kind, _, body = name.partition(":")
            if kind not in FACTORS or (name != kind and (not body or body not in self.bodies or kind == "gravity")):
                raise InvalidInputError(
                    f"{self.name} has no parameter {name!r}; choose among {', '.join(FACTORS)}, or one of a body, such"
                    f" as mass:{self.bodies[-1]} (bodies: {', '.join(self.bodies[1:])})."
                )
            if not LEAST_FACTOR <= as_number(f"{name} of {self.name}", value) <= LARGEST_FACTOR:
                raise InvalidInputError(
                    f"{name} of {self.name} is {short_repr(value)}, but a factor above 0 that single precision holds is"
                    " needed."
                )
        numbers = {name: float(value) for name, value in factors.items()}
        arrays = arrays_of_model(change_model(self.model, numbers))
        for field, array in arrays.items():
            if not (np.abs(array) <= LARGEST_FACTOR).all():
                raise InvalidInputError(
                    f"with {short_repr(given, 200)}, {self.name} has numbers in {field} that single precision does not"
                    " hold; give factors nearer to 1."
                )
        return {**numbers, "model": arrays}

    def _split(self, state: Float[Array, " n"]) -> tuple[Float[Array, " q"], Float[Array, " v"]]:
        """Return positions and velocities."""
        return state[: self.model.nq], state[self.model.nq : self.model.nq + self.model.nv]

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, " n"]:
        del params
        size = self.model.nq + self.model.nv
        start = jnp.concatenate([as_float(self.model.qpos0), jnp.zeros(self.model.nv, dtype=float)])
        moved = start + jax.random.uniform(key, (size,), minval=-self.noise, maxval=self.noise, dtype=float)
        return jnp.concatenate([moved, jnp.zeros(self.model.na, dtype=float)])

    def transition(self, state: Float[Array, " n"], action: Float[Array, " a"], params: Parameters) -> Array:
        names = tuple(name for name in params if name != "model")
        factors = jnp.stack([jnp.asarray(params[name], dtype=float) for name in names])
        shape = jax.ShapeDtypeStruct(state.shape, state.dtype)
        return call_on_host(self._native.advance_with(names), shape, state, action, factors)

    def observation(self, state: Float[Array, " n"], params: Parameters) -> Float[Array, " d"]:
        del params
        position, velocity = self._split(state)
        return jnp.concatenate([position, velocity]) if self._observe is None else self._observe(position, velocity)

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del params
        if self._reward is None:
            return jnp.zeros((), dtype=float)
        seconds = self.frame_skip * float(self.model.opt.timestep)
        return self._reward(*self._split(state), action, *self._split(after), seconds)

    def terminal(self, state: Float[Array, " n"], params: Parameters) -> Bool[Array, ""]:
        del params
        # Numbers that are none end an episode: a simulation that has blown up does not come back.
        broken = ~jnp.isfinite(state).all()
        return broken if self._terminal is None else broken | self._terminal(*self._split(state))


def mujoco_world(
    which: str | Path | MujocoEquations,
    *,
    discount: float = 0.99,
    fast: bool = False,
    **parameters: ArrayLike,
) -> PhysicsWorld:
    """Return a world of MuJoCo, with some of its parameters changed.

    Args:
        which: A name of `MODELS`, the path of a model file, or equations.
        discount: γ.
        fast: Take Euler's steps, whatever the model says.
        parameters: Factors of what the model says, by name; those of one body by `**{"mass:torso": 2.0}`.

    Example:
        >>> mujoco_world("hopper", mass=1.5).parameters["mass"]  # doctest: +SKIP
        1.5
    """
    if not isinstance(which, MujocoEquations):
        file = which if isinstance(which, str) and which in MODELS else _file(which)
        which = _equations(file, bool(fast))
    return PhysicsWorld(which, which.check(parameters), discount=require_discount(discount))


@dataclasses.dataclass(frozen=True)
class _ModelFile:
    """A model that was read from a file; two are equal if all that is in them is, whatever their paths."""

    name: str
    content: str
    model: Any = dataclasses.field(compare=False)


def _file(which: object) -> _ModelFile:
    if not isinstance(which, str | Path) or not Path(which).is_file():
        raise InvalidInputError(
            f"there is no model {short_repr(which, 200)}: it is neither a file nor one of {', '.join(MODELS)}; give one"
            " of them."
        )
    model = load_model(which)
    return _ModelFile(Path(which).stem, content_of(model), model)


@functools.lru_cache(maxsize=16)
def _equations(which: str | _ModelFile, fast: bool) -> MujocoEquations:
    """Return equations, the same object each time, so that worlds share compiled programs."""
    options: dict[str, Any] = {"integrator": "euler"} if fast else {}
    if isinstance(which, _ModelFile):
        return MujocoEquations(which.name, which.model, **options)
    return named_equations(which, **options)


def named_equations(name: str, **options: Any) -> MujocoEquations:
    """Return the rules of one of Gymnasium's worlds, a name of `MODELS`, over its model file."""
    gymnasium = require_gymnasium()
    file, rules = MODELS[name]
    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / file
    if not path.is_file():
        raise InvalidInputError(
            f"Gymnasium {gymnasium.__version__} has no model file {file}; install version 1.0 or later."
        )
    return MujocoEquations(name, path, **rules, **options)


ROD = 0.6  # The length of each rod of the inverted double pendulum.


def _seen(position: Array, velocity: Array) -> Array:
    """Return all but the place along the track, and speeds within ±10."""
    return jnp.concatenate([position[1:], jnp.clip(velocity, -10, 10)])


def _forward(healthy: Signal | None, bonus: float, cost: float) -> Signal:
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


def _fallen(position: Array, velocity: Array) -> Bool[Array, ""]:
    return (jnp.abs(position[1]) > 0.2) | ~jnp.isfinite(jnp.concatenate([position, velocity])).all()


def _tip(position: Array) -> tuple[Array, Array]:
    """Return where the upper end of the upper rod is."""
    first, second = position[1], position[1] + position[2]
    return position[0] + ROD * (jnp.sin(first) + jnp.sin(second)), ROD * (jnp.cos(first) + jnp.cos(second))


def _double_reward(
    position: Array, velocity: Array, action: Array, after: Array, speed: Array, seconds: float
) -> Array:
    del position, velocity, action, seconds
    across, height = _tip(after)
    miss = 0.01 * across**2 + (height - 2) ** 2
    haste = 1e-3 * speed[1] ** 2 + 5e-3 * speed[2] ** 2
    return jnp.where(height <= 1, 0.0, 10.0) - miss - haste


def _double_seen(position: Array, velocity: Array) -> Array:
    turns = [jnp.sin(position[1:]), jnp.cos(position[1:])]
    return jnp.concatenate([position[:1], *turns, jnp.clip(velocity, -10, 10)])


# ruff: noqa: ARG005
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "inverted-double-pendulum": (
        "inverted_double_pendulum.xml",
        {
            "frame_skip": 5,
            "noise": 0.1,
            "observe": _double_seen,
            "reward": _double_reward,
            "terminal": lambda position, velocity: _tip(position)[1] <= 1,
        },
    ),
    "inverted-pendulum": (
        "inverted_pendulum.xml",
        {
            "frame_skip": 2,
            "noise": 0.01,
            "reward": lambda q, v, action, after, speed, seconds: jnp.where(_fallen(after, speed), 0.0, 1.0),
            "terminal": _fallen,
        },
    ),
    "hopper": (
        "hopper.xml",
        {
            "frame_skip": 4,
            "observe": _seen,
            "reward": _forward(_hopper_healthy, 1.0, 1e-3),
            "terminal": lambda position, velocity: ~_hopper_healthy(position, velocity),
        },
    ),
    "half-cheetah": (
        "half_cheetah.xml",
        {
            "frame_skip": 5,
            "noise": 0.1,
            "observe": lambda position, velocity: jnp.concatenate([position[1:], velocity]),
            "reward": _forward(None, 0.0, 0.1),
        },
    ),
    "walker-2d": (
        "walker2d_v5.xml",
        {
            "frame_skip": 4,
            "observe": _seen,
            "reward": _forward(_walker_healthy, 1.0, 1e-3),
            "terminal": lambda position, velocity: ~_walker_healthy(position, velocity),
        },
    ),
}
"""The worlds that `mujoco_world` knows by name: their model files and rules."""
