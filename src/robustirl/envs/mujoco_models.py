r"""Read MuJoCo models, change masses, friction, damping, lengths and gravity in them, and step many of them at once.

MuJoCo derives constants from these numbers (inverse weights, masses of subtrees, bounding spheres). They are computed
anew whenever a number is changed, because the engine does not renew them by itself (see mujoco #1607).

`NativeEngine` is MuJoCo's own engine as a function of arrays: compiled programs call it with the states of all
environments of all fits at once, and each step runs in as many threads as there are cores. Steps do not depend on the
number of threads or on the other environments. MuJoCo is imported where it is needed: `pip install robustirl[mujoco]`.
"""

import collections
import contextlib
import copy
import functools
import hashlib
import importlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.errors import InvalidInputError

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
    "geom_rbound",
    "jnt_pos",
    "pair_friction",
    "site_pos",
)
"""The arrays of a model that the factors change, and those that MuJoCo derives from them."""

SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = 2, 3, 4, 5, 6
"""MuJoCo's numbers of kinds of geometries."""
NO_TREES = 1 << 14
"""MuJoCo's flag that leaves out the trees of boxes in which contacts are looked for."""

ONE_AT_A_TIME = threading.RLock()
"""Held while MuJoCo's own engine is at work: its handler of warnings is one for the whole process."""


def require_mujoco() -> Any:
    """Return the module `mujoco`; refuse if it is not installed."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise InvalidInputError(f"this needs mujoco ({error}); run `pip install 'robustirl[mujoco]'`.") from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep MuJoCo from printing warnings, and from writing them to a file in the current folder.

    A simulation that becomes unstable ends its episode, and learning meets many of them.
    """
    mujoco = require_mujoco()
    with ONE_AT_A_TIME:
        usual = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(_ignore)
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(usual)


def _ignore(warning: object) -> None:
    del warning


def load_model(model: Any) -> Any:
    """Return a copy of a model that is given, or read one from a file."""
    mujoco = require_mujoco()
    if isinstance(model, mujoco.MjModel):
        _require_usable(model, "the model")
        return copy.deepcopy(model)  # Options are set in it.
    try:
        with quiet():
            found = mujoco.MjModel.from_xml_path(str(model))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"{model} is no model that MuJoCo reads ({reason}); give an MJCF file.") from None
    _require_usable(found, str(model))
    return found


def content_of(model: Any) -> str:
    """Return a checksum of all that is in a model, with the files that it includes."""
    mujoco = require_mujoco()
    content = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, content)
    return hashlib.sha256(content.data).hexdigest()


def _require_usable(model: Any, name: str) -> None:
    """Refuse a model whose time does not go on, or with numbers that are none.

    MuJoCo reads both.
    """
    seconds = float(model.opt.timestep)
    if not (np.isfinite(seconds) and seconds > 0):
        raise InvalidInputError(f"{name} has a timestep of {seconds:g} s, but a finite one above 0 is needed.")
    # What follows from other numbers comes last.
    fields = sorted((*FIELDS, "actuator_ctrlrange"), key=lambda field: field.endswith(("0", "subtreemass")))
    arrays = {field: getattr(model, field) for field in (*fields, "qpos0")}
    for field, array in {**arrays, "gravity": model.opt.gravity}.items():
        if not np.isfinite(array).all():
            raise InvalidInputError(f"{name} has numbers in {field} that are not finite; correct the file.")


def change_model(model: Any, factors: Mapping[str, float]) -> Any:
    """Return a copy of a model with these factors and the constants that follow from them.

    Of huge factors these may be infinite.
    """
    mujoco, changed = require_mujoco(), copy.deepcopy(model)
    for name, value in factors.items():
        kind, _, body = name.partition(":")
        bodies = np.arange(changed.nbody) if not body else np.array([changed.body(body).id])
        if value != 1:
            with np.errstate(all="ignore"):
                _scale(changed, kind, bodies, np.float64(value))
    with quiet():
        mujoco.mj_setConst(changed, mujoco.MjData(changed))
    return changed


def arrays_of_model(model: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a model that factors change, gravity among them."""
    return {**{field: np.array(getattr(model, field)) for field in FIELDS}, "gravity": np.array(model.opt.gravity)}


def _scale(model: Any, kind: str, bodies: np.ndarray, factor: np.float64) -> None:
    """Multiply what belongs to these bodies, in place."""
    geometries = np.isin(model.geom_bodyid, bodies)
    match kind:
        case "mass":
            model.body_mass[bodies] *= factor
            model.body_inertia[bodies] *= factor
        case "friction":
            model.geom_friction[geometries, 0] *= factor
            # Pairs that a file names have a friction of their own, along two axes.
            pairs = geometries[model.pair_geom1] | geometries[model.pair_geom2]
            model.pair_friction[pairs, :2] *= factor
        case "damping":
            model.dof_damping[np.isin(model.dof_bodyid, bodies)] *= factor
        case "gravity":
            model.opt.gravity[:] *= factor
        case _:
            _lengthen(model, bodies[bodies > 0], factor)  # The world itself does not grow.


def _lengthen(model: Any, bodies: np.ndarray, factor: np.float64) -> None:
    """Move the parts of these bodies apart, and make their geometries longer, in place.

    Radii and masses stay, and inertias grow with the square of the factor.
    """
    parts = np.flatnonzero(np.isin(model.geom_bodyid, bodies)).tolist()
    for part in parts:
        _lengthen_geometry(model, part, factor)
    model.geom_pos[parts] *= factor
    model.body_ipos[bodies] *= factor
    model.body_inertia[bodies] *= factor**2
    model.body_pos[np.isin(model.body_parentid, bodies) & (np.arange(model.nbody) > 0)] *= factor
    # Where joints and sites are is told from the origin of the body, often the middle of a rod and not its end.
    model.jnt_pos[np.isin(model.jnt_bodyid, bodies)] *= factor
    model.site_pos[np.isin(model.site_bodyid, bodies)] *= factor
    model.opt.disableflags |= NO_TREES  # They would be those of the shorter bodies.


def _lengthen_geometry(model: Any, part: int, factor: np.float64) -> None:
    """Multiply the length of a geometry, and renew the bounds by which contacts are looked for."""
    kind, size = int(model.geom_type[part]), model.geom_size[part]
    if kind == SPHERE:
        return
    if kind not in (CAPSULE, CYLINDER, ELLIPSOID, BOX):
        raise InvalidInputError(
            f"the length of the geometry {model.geom(part).name or part} cannot be changed; only capsules, cylinders,"
            " boxes and ellipsoids have one, so name bodies that consist of them, such as length:leg."
        )
    size[1 if kind in (CAPSULE, CYLINDER) else int(np.argmax(size))] *= factor
    radius, half = size[0], size[1]
    half_sides, reach = {
        CAPSULE: ((radius, radius, radius + half), radius + half),
        CYLINDER: ((radius, radius, half), np.hypot(radius, half)),
        ELLIPSOID: (size, np.max(size)),
        BOX: (size, np.linalg.norm(size)),
    }[kind]
    model.geom_aabb[part, 3:], model.geom_rbound[part] = half_sides, reach


def action_bounds(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest action; ±1 if the model has no limits."""
    if model.nu == 0:
        raise InvalidInputError("the model has no actuators, so there is nothing to act with; add some to the file.")
    limited = np.asarray(model.actuator_ctrllimited, bool)
    low, high = np.asarray(model.actuator_ctrlrange, float).T
    return np.where(limited, low, -1.0), np.where(limited, high, 1.0)


def as_integrator(mujoco: Any, name: str) -> Any:
    """Return MuJoCo's constant for an integrator."""
    kinds = {"euler": "mjINT_EULER", "rk4": "mjINT_RK4", "implicitfast": "mjINT_IMPLICITFAST"}
    if name not in kinds:
        raise InvalidInputError(f"integrator is {name!r}, but one of {', '.join(kinds)} is needed.")
    return getattr(mujoco.mjtIntegrator, kinds[name])


MODELS_KEPT = 512
"""Changed models that an engine keeps; a model takes about a megabyte."""
HUGE = 1e10
"""Numbers of this size or larger are MuJoCo's own sign of an unstable simulation."""

NO_RESET = 1 << 16
"""MuJoCo's flag that leaves an unstable simulation as it is; else it would begin anew within an episode."""


def count_threads() -> int:
    """Return how many threads step bodies: one a core, or as many as XLA was given by `NPROC`."""
    given = os.environ.get("NPROC", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class NativeEngine:
    """Step copies of a model whose factors may differ.

    Args:
        name: What errors call the world.
        model: The model that factors are of.
        frame_skip: Steps of the simulation within a step of the world.
        change: Return a model with these factors.
    """

    def __init__(self, name: str, model: Any, frame_skip: int, change: Callable[[Mapping[str, float]], Any]):
        mujoco = require_mujoco()
        self._size: int = 1 + model.nq + model.nv + model.na
        full = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        if full != self._size:
            raise InvalidInputError(
                f"{name} has a state beyond positions, velocities and activations ({full - self._size} more numbers, of"
                " plugins or delays); choose a model without them."
            )
        self._model, self._frame_skip, self._change = model, frame_skip, change
        self._forget()

    def _forget(self) -> None:
        """Begin without threads and changed models; both are made when they are needed."""
        self._models: collections.OrderedDict[tuple[Any, ...], Any] = collections.OrderedDict()
        self._last: tuple[object, list[Any]] = (None, [])
        self._pool: tuple[Any, list[Any]] | None = None
        self._named: dict[tuple[str, ...], Callable[..., np.ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: threads and changed models stay in this process."""
        kept = ("_size", "_model", "_frame_skip", "_change")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def advance_with(self, names: tuple[str, ...]) -> Callable[..., np.ndarray]:
        """Return `advance` with these names, the same object each time.

        JAX compiles a program for every object.
        """
        return self._named.setdefault(names, functools.partial(self.advance, names))

    def advance(
        self,
        names: Sequence[str],
        states: Float[np.ndarray, "*n x"],
        actions: Float[np.ndarray, "*n a"],
        factors: Float[np.ndarray, "*n f"],
    ) -> Float[np.ndarray, "*n x"]:
        """Return the states after a step of each; those of an unstable simulation are not a number.

        Args:
            names: What the factors are of.
            states: MuJoCo's full state, time apart.
            actions: What the actuators are told.
            factors: Of each environment.
        """
        states, shape = np.asarray(states), np.shape(states)
        rows = states.reshape(-1, shape[-1])
        begun = np.zeros((len(rows), self._size))
        begun[:, 1:] = rows
        actions = np.asarray(actions, dtype=float).reshape(len(rows), 1, -1)
        control = np.repeat(actions, self._frame_skip, axis=1)
        factors = np.ascontiguousarray(np.asarray(factors).reshape(len(rows), -1))
        with quiet():
            pool, data = self._threads()
            after = pool.rollout(self._models_for(tuple(names), factors), data, begun, control)[0][:, -1, 1:]
        return np.where(np.abs(after) < HUGE, after, np.nan).astype(states.dtype).reshape(shape)

    def _threads(self) -> tuple[Any, list[Any]]:
        """Return the pool of threads, and what each of them works on."""
        if self._pool is None:
            from mujoco import rollout

            count = count_threads()
            # A pool without threads works in the calling one.
            pool = rollout.Rollout(nthread=count if count > 1 else 0)
            self._pool = pool, [require_mujoco().MjData(self._model) for _ in range(count)]
        return self._pool

    def _models_for(self, names: tuple[str, ...], factors: Float[np.ndarray, "n f"]) -> list[Any]:
        """Return the model of every environment; factors seldom change from one step to the next."""
        asked = names, factors.shape, factors.tobytes()
        if asked != self._last[0]:
            self._last = None, []  # The models of a large batch should not be there twice.
            self._last = asked, [self._find(names, row) for row in factors]
        return self._last[1]

    def _find(self, names: tuple[str, ...], row: Float[np.ndarray, " f"]) -> Any:
        key = names, row.tobytes()
        if key not in self._models:
            model = self._change(dict(zip(names, row.tolist(), strict=True)))
            model.opt.disableflags |= NO_RESET
            self._models[key] = model
        self._models.move_to_end(key)
        while len(self._models) > MODELS_KEPT:
            self._models.popitem(last=False)
        return self._models[key]
