r"""MuJoCo models: how they are read, and how masses, friction, damping, lengths and gravity are changed in them.

MuJoCo derives constants from these numbers (inverse weights, masses of subtrees, bounding spheres). They are computed
anew whenever a number is changed, because neither engine renews them by itself (see mujoco #1607). MuJoCo is imported
where it is needed: `pip install robustirl[mujoco]`.
"""

import contextlib
import copy
import hashlib
import importlib
import io
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count

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


def require_mjx() -> Any:
    """Return the module `mujoco.mjx`; refuse if it is not installed."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # It prints which of its own engines are not installed.
            return importlib.import_module("mujoco.mjx")
    except ImportError as error:
        raise InvalidInputError(
            f"the engine mjx needs mujoco-mjx ({error}); run `pip install 'robustirl[mujoco]'`, or choose"
            " engine='mujoco'."
        ) from None


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


def as_iterations(given: Any) -> tuple[int, int]:
    """Return steps of the contact solver and of its line search, checked."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidInputError(
            f"iterations is {given!r}, but two counts are needed: steps of the contact solver and of its line search,"
            " such as (4, 8)."
        )
    return as_count("iterations[0]", given[0], 1), as_count("iterations[1]", given[1], 1)


def as_integrator(mujoco: Any, name: str) -> Any:
    """Return MuJoCo's constant for an integrator."""
    kinds = {"euler": "mjINT_EULER", "rk4": "mjINT_RK4", "implicitfast": "mjINT_IMPLICITFAST"}
    if name not in kinds:
        raise InvalidInputError(f"integrator is {name!r}, but one of {', '.join(kinds)} is needed.")
    return getattr(mujoco.mjtIntegrator, kinds[name])
