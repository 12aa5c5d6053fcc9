r"""MuJoCo models with physics that can be changed: masses, friction, damping, gravity, lengths by name.

A parameter is a factor of what the model file says. `mass` is that of all bodies and `mass:torso` that of one; the same
holds for `friction` (of geometries), `damping` (of joints) and `length` (of bodies: places of parts and sizes of
geometries, lengthwise). Constants that MuJoCo derives from them are computed anew before a world is used
(`mujoco_models`), and are arrays of the world: worlds of different mass stack into one batch.

Two engines take the steps. `mujoco` is MuJoCo's own, in threads of the CPU (`mujoco_native`). `mjx` is compiled with
everything else by XLA and made for accelerators. On a CPU the first is several times as fast.

The state is (q, q̇, activations of actuators, the accelerations that the contact solver of MJX starts from).
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import as_float, call_on_host, is_file, short_repr
from robustirl.envs.physics.equations import Box, Equations, Parameters, PhysicsWorld
from robustirl.envs.physics.mujoco_models import (
    CAPSULE,
    FACTORS,
    action_bounds,
    arrays_of_model,
    as_integrator,
    as_iterations,
    change_model,
    content_of,
    load_model,
    require_mjx,
    require_mujoco,
)
from robustirl.envs.physics.mujoco_native import NativeEngine
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_number, require_discount
from robustirl.types import ArrayLike

Engine = Literal["mujoco", "mjx"]
ENGINES: tuple[Engine, ...] = ("mujoco", "mjx")

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
        iterations: Steps of the contact solver and of its line search; the model's own if None.
        integrator: `euler`, `rk4` or `implicitfast`; the model's own if None. Runge-Kutta takes four times as long.
        engine: What takes the steps, `mujoco` or `mjx`; by default `mujoco` on a CPU and `mjx` on an accelerator.
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
        iterations: tuple[int, int] | None = None,
        integrator: str | None = None,
        engine: Engine | None = None,
    ):
        mujoco = require_mujoco()
        self.name: str = name
        self.horizon: int = as_count("the horizon", horizon, 1)
        self.engine: Engine = as_engine(engine)
        if self.engine == "mjx":
            require_mjx()
        self.model: Any = load_model(model)
        if iterations is not None:
            self.model.opt.iterations, self.model.opt.ls_iterations = as_iterations(iterations)
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
        self.action_space: Box = Box(*action_bounds(self.model))
        self._native: NativeEngine | None = None
        if self.engine == "mujoco":
            self._native = NativeEngine(name, self.model, self.frame_skip, functools.partial(change_model, self.model))

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
            number = as_number(f"{name} of {self.name}", value)
            if not LEAST_FACTOR <= number <= LARGEST_FACTOR:
                few = " that single precision holds" if 0 < number < np.inf else ""
                raise InvalidInputError(
                    f"{name} of {self.name} is {short_repr(value)}, but a factor above 0{few} is needed."
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

    def get_default_params(self) -> dict[str, Any]:
        return self.check({})

    def _mjx_model(self, params: Parameters) -> Any:
        """Return the model for MJX in the current precision, with the arrays of these parameters."""
        base, arrays = require_mjx().put_model(self.model), dict(params["model"])
        gravity = arrays.pop("gravity")
        changed = {name: jnp.asarray(array, dtype=float) for name, array in arrays.items() if hasattr(base, name)}
        return base.replace(opt=base.opt.replace(gravity=jnp.asarray(gravity, dtype=float)), **changed)

    def _split(self, state: Float[Array, " n"]) -> tuple[Float[Array, " q"], Float[Array, " v"], Array, Array]:
        """Return positions, velocities, activations, and what the contact solver starts from."""
        ends = np.cumsum([self.model.nq, self.model.nv, self.model.na])
        return state[: ends[0]], state[ends[0] : ends[1]], state[ends[1] : ends[2]], state[ends[2] :]

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, " n"]:
        del params
        size = self.model.nq + self.model.nv
        start = jnp.concatenate([as_float(self.model.qpos0), jnp.zeros(self.model.nv, dtype=float)])
        moved = start + jax.random.uniform(rng, (size,), minval=-self.noise, maxval=self.noise, dtype=float)
        return jnp.concatenate([moved, jnp.zeros(self.model.na + self.model.nv, dtype=float)])

    def transition(
        self, state: Float[Array, " n"], action: Float[Array, " a"], rng: object, params: Parameters
    ) -> Float[Array, " n"]:
        del rng
        if self._native is None:
            return self._step_by_mjx(state, action, params)
        names = tuple(name for name in params if name != "model")
        factors = jnp.stack([jnp.asarray(params[name], dtype=float) for name in names])
        return call_on_host(
            self._native.advance_with(names), jax.ShapeDtypeStruct(state.shape, state.dtype), state, action, factors
        )

    def _step_by_mjx(
        self, state: Float[Array, " n"], action: Float[Array, " a"], params: Parameters
    ) -> Float[Array, " n"]:
        mjx, model = require_mjx(), self._mjx_model(params)
        position, velocity, activation, guess = self._split(state)
        data = mjx.make_data(self.model).replace(
            qpos=position,
            qvel=velocity,
            act=activation,
            qacc_warmstart=guess,
            ctrl=jnp.asarray(action, dtype=float),
        )
        after, _ = jax.lax.scan(lambda data, _: (mjx.step(model, data), None), data, length=self.frame_skip)
        return jnp.concatenate([after.qpos, after.qvel, after.act, after.qacc_warmstart])

    def observation(self, state: Float[Array, " n"], rng: object, params: Parameters) -> Float[Array, " d"]:
        del rng, params
        position, velocity, *_ = self._split(state)
        return jnp.concatenate([position, velocity]) if self._observe is None else self._observe(position, velocity)

    def reward(
        self,
        state: Float[Array, " n"],
        action: Float[Array, " a"],
        next_state: Float[Array, " n"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del rng, params
        if self._reward is None:
            return jnp.zeros((), dtype=float)
        seconds = self.frame_skip * float(self.model.opt.timestep)
        return self._reward(*self._split(state)[:2], action, *self._split(next_state)[:2], seconds)

    def terminal(self, state: Float[Array, " n"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del rng, params
        # Numbers that are none end an episode: a simulation that has blown up does not come back.
        broken = ~jnp.isfinite(state).all()
        return broken if self._terminal is None else broken | self._terminal(*self._split(state)[:2])

    def skeleton(self, state: np.ndarray, params: Parameters) -> list[np.ndarray]:
        """Return the geometries that are capsules, as lines in the plane of x and z."""
        mujoco = require_mujoco()
        data = mujoco.MjData(self.model)
        data.qpos[:] = state[: self.model.nq]
        mujoco.mj_kinematics(self.model, data)
        del params
        lines = []
        for index in np.flatnonzero(self.model.geom_type == CAPSULE):
            lines.append(_line(data.geom_xpos[index], data.geom_xmat[index], self.model.geom_size[index, 1]))
        return lines


def mujoco_world(
    which: str | Path | MujocoEquations,
    *,
    discount: float = 0.99,
    fast: bool = False,
    iterations: tuple[int, int] | None = None,
    engine: Engine | None = None,
    **parameters: ArrayLike,
) -> PhysicsWorld:
    """Return a world of MuJoCo, with some of its parameters changed.

    Args:
        which: A name (`inverted-double-pendulum`, `inverted-pendulum`, `hopper`, `half-cheetah`, `walker-2d`: the rules
            and model files of Gymnasium's version 5), the path of a model file, or equations.
        discount: γ.
        fast: Take Euler's steps, and in MJX four steps of the contact solver: several times faster. One step of Hopper
            and of HalfCheetah in MJX then agrees with Euler's steps of MuJoCo's own engine.
        iterations: The most steps of the contact solver and of its line search, in place of those of the model or of
            `fast`. MJX takes nearly as long for steps that it does not need: there `(1, 4)` takes a third of the time
            of `fast`; see `docs/physics-study.md` for its error.
        engine: What takes the steps: `mujoco`, MuJoCo's own engine in threads of the CPU, or `mjx`, compiled by XLA. By
            default `mujoco` on a CPU and `mjx` on an accelerator.
        parameters: Factors of what the model says, by name; those of one body by `**{"mass:torso": 2.0}`.

    Example:
        >>> mujoco_world("hopper", mass=1.5).parameters["mass"]  # doctest: +SKIP
        1.5
    """
    equations = which if isinstance(which, MujocoEquations) else _named(which, fast, iterations, engine)
    return PhysicsWorld(equations, equations.check(parameters), discount=require_discount(discount))


def as_engine(engine: object) -> Engine:
    """Return the engine that takes steps; by default the faster one on this kind of device.

    Example:
        >>> as_engine("mjx"), as_engine(None) in ENGINES
        ('mjx', True)
    """
    if engine is None:
        return "mujoco" if jax.default_backend() == "cpu" else "mjx"
    for known in ENGINES:
        if isinstance(engine, str) and engine == known:
            return known
    raise InvalidInputError(f"engine is {short_repr(engine)}, but one of {', '.join(ENGINES)} is needed.")


def _named(which: object, fast: object, iterations: object, engine: object) -> MujocoEquations:
    from robustirl.envs.physics.gymnasium_models import MODELS

    if not isinstance(fast, bool | np.bool_):
        raise InvalidInputError(f"fast is {short_repr(fast)}, but True or False is needed.")
    steps = None if iterations is None else as_iterations(iterations)
    if isinstance(which, str) and which in MODELS:
        return _equations(which, bool(fast), steps, as_engine(engine))
    if not isinstance(which, str | Path) or not is_file(Path(which)):
        raise InvalidInputError(
            f"there is no model {short_repr(which, 200)}: it is neither a file nor one of {', '.join(MODELS)}; give one"
            " of them."
        )
    # By what is in it: the file may have been changed since, or the path may lead to another one now.
    model = load_model(which)
    return _equations(_ModelFile(Path(which).stem, content_of(model), model), bool(fast), steps, as_engine(engine))


@dataclasses.dataclass(frozen=True)
class _ModelFile:
    """A model that was read from a file; two are equal if all that is in them is."""

    name: str
    content: str
    model: Any = dataclasses.field(compare=False)


@functools.lru_cache(maxsize=16)
def _equations(
    which: str | _ModelFile, fast: bool, iterations: tuple[int, int] | None, engine: Engine
) -> MujocoEquations:
    """Return equations by name or by file, the same object each time.

    Worlds thereby share compiled programs.
    """
    from robustirl.envs.physics.gymnasium_models import MODELS

    options: dict[str, Any] = {"engine": engine}
    if fast:
        options["integrator"] = "euler"
        if engine == "mjx":  # MuJoCo's own solver stops when it has converged.
            options["iterations"] = (4, 8)
    if iterations is not None:
        options["iterations"] = iterations
    if isinstance(which, _ModelFile):
        return MujocoEquations(which.name, which.model, **options)
    return MODELS[which](**options)


def _line(
    center: Float[np.ndarray, " 3"], rotation: Float[np.ndarray, " 9"], half: float
) -> Float[np.ndarray, "ends=2 2"]:
    """Return the ends of a capsule in the plane of x and z.

    Its axis is the last column of the rotation.
    """
    axis = rotation.reshape(3, 3)[:, 2] * half
    return (center + np.outer([-1, 1], axis))[:, [0, 2]]
