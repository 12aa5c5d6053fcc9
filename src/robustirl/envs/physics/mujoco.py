r"""MuJoCo models with physics that can be changed, through MJX: masses, friction, damping, gravity, lengths by name.

A parameter is a factor of what the model file says. `mass` is that of all bodies and `mass:torso` that of one; the same
holds for `friction` (of geometries), `damping` (of joints) and `length` (of bodies: places of parts and sizes of
geometries, lengthwise). MuJoCo derives constants from them (inverse weights, masses of subtrees), which MJX reads and
does not renew. They are computed anew by `mj_setConst` before a world is used (see mujoco #1607), and are arrays of the
world: worlds of different mass stack into one batch.

The state is (q, q̇, the accelerations that the contact solver starts from). MuJoCo is imported where it is needed:
`pip install robustirl[mujoco]`.
"""

import contextlib
import copy
import functools
import importlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import as_float
from robustirl.envs.physics.equations import Box, Equations, Parameters, PhysicsWorld
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_floats, require_discount
from robustirl.types import ArrayLike

FACTORS = ("mass", "friction", "damping", "gravity", "length")
FIELDS = (
    "body_mass",
    "body_inertia",
    "body_subtreemass",
    "body_invweight0",
    "body_pos",
    "body_ipos",
    "dof_invweight0",
    "dof_damping",
    "dof_M0",
    "geom_friction",
    "geom_pos",
    "geom_size",
    "jnt_pos",
    "site_pos",
)
"""The arrays of a model that the factors change, and those that MuJoCo derives from them."""

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
    ):
        mujoco = _mujoco()
        self.name: str = name
        self.horizon: int = as_count("the horizon", horizon, 1)
        self.model: Any = _loaded(mujoco, model)
        if iterations is not None:
            self.model.opt.iterations, self.model.opt.ls_iterations = _iterations(iterations)
        if integrator is not None:
            self.model.opt.integrator = _integrator(mujoco, integrator)
        self.frame_skip: int = as_count("frame_skip", frame_skip, 1)
        self.noise: float = float(noise)
        self._observe, self._reward, self._terminal = observe, reward, terminal
        self.bodies: tuple[str, ...] = tuple(self.model.body(index).name for index in range(self.model.nbody))
        self.defaults: Mapping[str, float] = dict.fromkeys(FACTORS, 1.0)
        self.action_space: Box = Box(*_action_bounds(self.model))

    def __deepcopy__(self, memo: object) -> "MujocoEquations":
        return self  # It does not change, and worlds of one batch share it.

    def check(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the factors, and the arrays of the model that follow from them."""
        given = {name: value for name, value in parameters.items() if name != "model"}
        factors = {**self.defaults, **given}
        for name, value in factors.items():
            kind, _, body = name.partition(":")
            if kind not in FACTORS or (body and (body not in self.bodies or kind == "gravity")):
                raise InvalidInputError(
                    f"{self.name} has no parameter {name!r}; choose among {', '.join(FACTORS)}, or one of a body, such"
                    f" as mass:{self.bodies[-1]} (bodies: {', '.join(self.bodies[1:])})."
                )
            number = np.asarray(as_floats(f"{name} of {self.name}", value))
            if number.ndim or not (np.isfinite(number) and number > 0):
                raise InvalidInputError(f"{name} of {self.name} is {value!r}, but a factor above 0 is needed.")
        return {**{name: float(value) for name, value in factors.items()}, "model": self._arrays(factors)}

    def get_default_params(self) -> dict[str, Any]:
        return self.check({})

    def _arrays(self, factors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the arrays of the model with these factors, the derived ones included."""
        mujoco, model = _mujoco(), copy.deepcopy(self.model)
        for name, value in factors.items():
            kind, _, body = name.partition(":")
            bodies = np.arange(model.nbody) if not body else np.array([model.body(body).id])
            _scale(model, kind, bodies, float(value))
        mujoco.mj_setConst(model, mujoco.MjData(model))
        return {**{field: np.array(getattr(model, field)) for field in FIELDS}, "gravity": np.array(model.opt.gravity)}

    def _engine(self, params: Parameters) -> Any:
        """Return the model for MJX in the current precision, with the arrays of these parameters."""
        mjx = _mjx()
        base, arrays = mjx.put_model(self.model), dict(params["model"])
        gravity = arrays.pop("gravity")
        changed = {name: jnp.asarray(array, dtype=float) for name, array in arrays.items() if hasattr(base, name)}
        return base.replace(opt=base.opt.replace(gravity=jnp.asarray(gravity, dtype=float)), **changed)

    def _split(self, state: Float[Array, " n"]) -> tuple[Float[Array, " q"], Float[Array, " v"], Float[Array, " v"]]:
        positions, velocities = self.model.nq, self.model.nq + self.model.nv
        return state[:positions], state[positions:velocities], state[velocities:]

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, " n"]:
        del params
        size = self.model.nq + self.model.nv
        start = jnp.concatenate([as_float(self.model.qpos0), jnp.zeros(self.model.nv, dtype=float)])
        moved = start + jax.random.uniform(rng, (size,), minval=-self.noise, maxval=self.noise, dtype=float)
        return jnp.concatenate([moved, jnp.zeros(self.model.nv, dtype=float)])

    def transition(
        self, state: Float[Array, " n"], action: Float[Array, " a"], rng: object, params: Parameters
    ) -> Float[Array, " n"]:
        del rng
        mjx = _mjx()
        model = self._engine(params)
        position, velocity, guess = self._split(state)
        data = mjx.make_data(self.model).replace(
            qpos=position, qvel=velocity, qacc_warmstart=guess, ctrl=jnp.asarray(action, dtype=float)
        )
        after, _ = jax.lax.scan(lambda data, _: (mjx.step(model, data), None), data, length=self.frame_skip)
        return jnp.concatenate([after.qpos, after.qvel, after.qacc_warmstart])

    def observation(self, state: Float[Array, " n"], rng: object, params: Parameters) -> Float[Array, " d"]:
        del rng, params
        position, velocity, _ = self._split(state)
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
        mujoco = _mujoco()
        data = mujoco.MjData(self.model)
        data.qpos[:] = state[: self.model.nq]
        mujoco.mj_kinematics(self.model, data)
        del params
        lines = []
        for index in np.flatnonzero(self.model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE):
            lines.append(_line(data.geom_xpos[index], data.geom_xmat[index], self.model.geom_size[index, 1]))
        return lines


def mujoco_world(
    which: str | Path | MujocoEquations,
    *,
    discount: float = 0.99,
    fast: bool = False,
    iterations: tuple[int, int] | None = None,
    **parameters: ArrayLike,
) -> PhysicsWorld:
    """Return a world of MuJoCo, with some of its parameters changed.

    Args:
        which: A name (`inverted-double-pendulum`, `inverted-pendulum`, `hopper`, `half-cheetah`, `walker-2d`: the rules
            and model files of Gymnasium's version 5), the path of a model file, or equations.
        discount: γ.
        fast: Take Euler's steps and four steps of the contact solver, several times faster. One step of Hopper and of
            HalfCheetah then agrees with Euler's steps of MuJoCo's own engine.
        iterations: Steps of the contact solver and of its line search, in place of those of the model or of `fast`.
            `(1, 4)` takes a third of the time of `fast`; see `docs/physics-study.md` for its error.
        parameters: Factors of what the model says, by name; those of one body by `**{"mass:torso": 2.0}`.

    Example:
        >>> mujoco_world("hopper", mass=1.5).parameters["mass"]  # doctest: +SKIP
        1.5
    """
    equations = which if isinstance(which, MujocoEquations) else _equations(str(which), fast, iterations)
    return PhysicsWorld(equations, equations.check(parameters), discount=require_discount(discount))


@functools.lru_cache(maxsize=16)
def _equations(which: str, fast: bool, iterations: tuple[int, int] | None) -> MujocoEquations:
    """Return equations by name or by file, the same object each time.

    Worlds thereby share compiled programs.
    """
    from robustirl.envs.physics.gymnasium_models import MODELS

    speed: dict[str, Any] = {"iterations": (4, 8), "integrator": "euler"} if fast else {}
    if iterations is not None:
        speed["iterations"] = iterations
    if which in MODELS:
        return MODELS[which](**speed)
    if not Path(which).is_file():
        raise InvalidInputError(
            f"there is no model {which!r}: it is neither a file nor one of {', '.join(MODELS)}; give one of them."
        )
    return MujocoEquations(Path(which).stem, which, **speed)


def _scale(model: Any, kind: str, bodies: np.ndarray, factor: float) -> None:
    """Multiply what belongs to these bodies, in place."""
    geometries, joints = np.isin(model.geom_bodyid, bodies), np.isin(model.dof_bodyid, bodies)
    match kind:
        case "mass":
            model.body_mass[bodies] *= factor
            model.body_inertia[bodies] *= factor
        case "friction":
            model.geom_friction[geometries, 0] *= factor
        case "damping":
            model.dof_damping[joints] *= factor
        case "gravity":
            model.opt.gravity[:] *= factor
        case _:
            inside = bodies[bodies > 0]  # The world itself does not grow.
            parts = geometries & (model.geom_bodyid > 0)
            model.body_ipos[inside] *= factor
            model.geom_pos[parts] *= factor
            model.geom_size[parts, 1] *= factor  # The length of a capsule; its radius stays.
            children = np.isin(model.body_parentid, inside) & (np.arange(model.nbody) > 0)
            model.body_pos[children] *= factor
            model.body_inertia[inside] *= factor**2


def _line(
    center: Float[np.ndarray, " 3"], rotation: Float[np.ndarray, " 9"], half: float
) -> Float[np.ndarray, "ends=2 2"]:
    """Return the ends of a capsule in the plane of x and z.

    Its axis is the last column of the rotation.
    """
    axis = rotation.reshape(3, 3)[:, 2] * half
    return (center + np.outer([-1, 1], axis))[:, [0, 2]]


def _mujoco() -> Any:
    try:
        mujoco = importlib.import_module("mujoco")
        with contextlib.redirect_stdout(io.StringIO()):  # It prints which of its own engines are not installed.
            importlib.import_module("mujoco.mjx")
    except ImportError as error:
        raise InvalidInputError(
            f"this needs mujoco and mujoco-mjx ({error}); run `pip install 'robustirl[mujoco]'`."
        ) from None
    return mujoco


def _mjx() -> Any:
    return importlib.import_module("mujoco.mjx")


def _loaded(mujoco: Any, model: Any) -> Any:
    if isinstance(model, mujoco.MjModel):
        return model
    try:
        return mujoco.MjModel.from_xml_path(str(model))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"{model} is no model that MuJoCo reads ({reason}); give an MJCF file.") from None


def _iterations(given: Any) -> tuple[int, int]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidInputError(
            f"iterations is {given!r}, but two counts are needed: steps of the contact solver and of its line search,"
            " such as (4, 8)."
        )
    return as_count("iterations[0]", given[0], 1), as_count("iterations[1]", given[1], 1)


def _integrator(mujoco: Any, name: str) -> Any:
    kinds = {"euler": "mjINT_EULER", "rk4": "mjINT_RK4", "implicitfast": "mjINT_IMPLICITFAST"}
    if name not in kinds:
        raise InvalidInputError(f"integrator is {name!r}, but one of {', '.join(kinds)} is needed.")
    return getattr(mujoco.mjtIntegrator, kinds[name])


def _action_bounds(model: Any) -> tuple[np.ndarray, np.ndarray]:
    if model.nu == 0:
        raise InvalidInputError("the model has no actuators, so there is nothing to act with; add some to the file.")
    limited = np.asarray(model.actuator_ctrllimited, bool)
    low, high = np.asarray(model.actuator_ctrlrange, float).T
    return np.where(limited, low, -1.0), np.where(limited, high, 1.0)
