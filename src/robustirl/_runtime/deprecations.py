"""The names of version 0.1 that changed, and what gives the new object with a warning that says the new name.

`NAMES` holds single names, `MODULES` whole modules, `FIELDS` the fields of dataclasses, `METHODS` methods, attributes
and arguments. To rename a public name, add a line to `NAMES`, and see that the module which had the old name ends with

    __getattr__ = deprecated_names(__name__)

under `if not TYPE_CHECKING:`, so that type checkers still report unknown names. Entries go with the next version.
"""

import enum
import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

NAMES: dict[str, str] = {
    "robustirl.precision.enable_x64": "robustirl.enable_x64",
    "robustirl.demonstrations.absorbing_states": "robustirl.mdp.absorbing_states",
    "robustirl.planning.METHODS": "robustirl.planning._methods.METHODS",
}
"""By the full old name, the full new one."""

MODULES: dict[str, str] = {
    "robustirl.files": "robustirl._runtime",
    "robustirl.memory": "robustirl._runtime",
    "robustirl.precision": "robustirl._runtime",
    "robustirl.threads": "robustirl._runtime",
    "robustirl.demonstrations.alpha": "robustirl.demonstrations",
    "robustirl.demonstrations.chain": "robustirl.demonstrations",
    "robustirl.demonstrations.concentration": "robustirl.demonstrations",
    "robustirl.demonstrations.files": "robustirl.demonstrations",
    "robustirl.demonstrations.gymnasium": "robustirl.demonstrations",
    "robustirl.demonstrations.minari": "robustirl.demonstrations",
    "robustirl.demonstrations.occupancy": "robustirl.demonstrations",
    "robustirl.envs.gymnasium_continuous": "robustirl.envs.as_gymnasium",
    "robustirl.envs.gymnasium_functional": "robustirl.envs.physics",
    "robustirl.envs.gymnasium_tables": "robustirl.envs",
    "robustirl.envs.gymnasium_worlds": "robustirl.envs.as_gymnasium",
    "robustirl.irl.callbacks": "robustirl.irl",
    "robustirl.irl.relative_entropy_callbacks": "robustirl.irl",
    "robustirl.irl.relative_entropy_config": "robustirl.irl",
    "robustirl.irl.relative_entropy_result": "robustirl.irl",
    "robustirl.irl.result": "robustirl.irl",
}
"""By its old name, the module that has what an old module had, except for the entries of `NAMES`."""

IMPORTED_WITH_WARNING = frozenset(
    {
        "robustirl.envs.gymnasium_continuous",
        "robustirl.envs.gymnasium_functional",
        "robustirl.envs.gymnasium_worlds",
    }
)
"""Old modules whose import imports the new module, with a warning: the import itself may be all that a program does.

`import robustirl.envs.gymnasium_worlds` registered the ids of Gymnasium."""

METHODS: dict[str, str] = {
    "FitVerdict.planned": "FitVerdict.valid",
    "RelativeEntropyVerdict.sound": "RelativeEntropyVerdict.valid",
    "RobustIRL.score(occupancy)": (
        "RobustIRL.score(demonstrations): score demonstrations instead, since the score of an occupancy, minus its l1"
        " distance, prefers α = 1"
    ),
    "Status.BUDGET": "Status.MAX_STEPS",
    "Training.sound": "Training.valid",
    "TrainingHistory.sound": "TrainingHistory.valid",
    "kernel.staying()": "kernel.self_transitions()",
    "kernel.tilted(value, radius)": "kernel.worst_case(value, radius)",
    "planning.choose_method(game)": "planning.choose_solver(game), which returns a solver",
    "planning.newton(game, reward, ...)": (
        "planning.solve(game, reward, solver=planning.Newton(), ...), or with solver=planning.NewtonKrylov() in large"
        " worlds"
    ),
    "planning.newton_sparse(game, reward, ...)": "planning.solve(game, reward, solver=planning.NewtonSparse(), ...)",
    "planning.solve(..., method='auto')": "planning.solve without a method",
    "planning.solve(..., method='newton')": "planning.solve with solver=planning.Newton()",
    "planning.solve(..., method='newton-krylov')": "planning.solve with solver=planning.NewtonKrylov()",
    "planning.solve(..., method='newton-sparse')": "planning.solve with solver=planning.NewtonSparse()",
    "planning.solve(..., method='value-iteration')": "planning.solve with solver=planning.ValueIteration()",
    "planning.value_iteration(game, reward, ...)": (
        "planning.solve(game, reward, solver=planning.ValueIteration(), ...)"
    ),
    "robustirl.planning.METHODS": (
        "planning.ValueIteration, Newton, NewtonKrylov and NewtonSparse, given as planning.solve(..., solver=...)"
    ),
    "tail='renormalise'": "tail='renormalize'",
}
"""By the old method, attribute, argument or function, what to write now; `warn_renamed` reads it.

An entry for a name of `NAMES` is what its warning says, where the new object is not public."""


def deprecated_names(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that gives the new object for an old name, with a warning.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     enable = deprecated_names("robustirl.precision")("enable_x64")
        >>> str(caught[0].message)
        'robustirl.precision.enable_x64 is now robustirl.enable_x64; the old name goes with the next version.'
    """

    def find(name: str) -> Any:
        old = f"{module}.{name}"
        if old in NAMES:
            new = NAMES[old]
        elif module in MODULES and not name.startswith("_") and hasattr(_import(MODULES[module]), name):
            new = f"{MODULES[module]}.{name}"
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(old, METHODS.get(old, new))
        home, _, attribute = new.rpartition(".")
        return getattr(_import(home), attribute)

    return find


def warn_renamed(old: str) -> None:
    """Warn at the caller's line that what it used by an old name of `METHODS` has a new one.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     warn_renamed("kernel.staying()")
        >>> str(caught[0].message)
        'kernel.staying() is now kernel.self_transitions(); the old name goes with the next version.'
    """
    _warn(old, METHODS[old])


BETWEEN = {"robustirl", "equinox", "jax", "jaxtyping", "beartype", "importlib", "enum", "dataclasses"}
"""Packages whose frames may stand between the caller of an old name and the warning."""


def _warn(old: str, new: str) -> None:
    private = ", which is private" if "robustirl._" in new else ""
    message = f"{old} is now {new}{private}; the old name goes with the next version."
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame = frame.f_back
    caller = frame.f_globals
    seen = caller.setdefault("__warningregistry__", {})
    place = (frame.f_code.co_filename, frame.f_lineno, caller.get("__name__", ""))
    warnings.warn_explicit(message, DeprecationWarning, *place, registry=seen)


Kind = TypeVar("Kind")

FIELDS: dict[str, dict[str, str]] = {
    "PolicyGradientConfig": {"normalise": "normalize"},
    "RelativeEntropyConfig": {"centre": "center"},
}
"""By the name of a dataclass, its old fields and the new ones; `renamed_fields` reads it."""


def renamed_fields(kind: type[Kind]) -> type[Kind]:
    """Decorate a dataclass of `FIELDS`: old fields are accepted and readable, with a warning.

    Example:
        >>> import warnings
        >>> from robustirl.irl import RelativeEntropyConfig
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     config = RelativeEntropyConfig(centre="none")
        >>> config.center, str(caught[0].message).partition(";")[0]
        ('none', 'RelativeEntropyConfig.centre is now RelativeEntropyConfig.center')
    """
    fields, create = FIELDS[kind.__name__], kind.__init__

    @functools.wraps(create)
    def initialize(self: Any, *args: Any, **values: Any) -> None:
        # `dataclasses.replace` gives the new field as well, with the value that is to be replaced.
        for old in fields.keys() & values.keys():
            _warn(f"{kind.__name__}.{old}", f"{kind.__name__}.{fields[old]}")
            values[fields[old]] = values.pop(old)
        create(self, *args, **values)

    def reader(old: str) -> property:
        def read(self: Any) -> Any:
            _warn(f"{kind.__name__}.{old}", f"{kind.__name__}.{fields[old]}")
            return getattr(self, fields[old])

        return property(read)

    kind.__init__ = initialize
    for old in fields:
        setattr(kind, old, reader(old))
    return kind


class RenamedMembers(enum.EnumMeta):
    """Metaclass of an enumeration: old members in `METHODS` give the new ones, with a warning.

    Example:
        >>> import warnings
        >>> from robustirl.irl import Status
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     status = Status.BUDGET
        >>> status, str(caught[0].message).partition(";")[0]
        (<Status.MAX_STEPS: 'budget'>, 'Status.BUDGET is now Status.MAX_STEPS')
    """

    if not TYPE_CHECKING:  # Type checkers shall report unknown members.

        def __getattr__(cls, name: str) -> Any:
            old = f"{cls.__name__}.{name}"
            if old not in METHODS:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            warn_renamed(old)
            return cls[METHODS[old].rpartition(".")[2]]


def _import(module: str) -> types.ModuleType:
    return importlib.import_module(module)


class _MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import the modules of `MODULES` as empty ones that forward to their successors."""

    def find_spec(
        self, fullname: str, path: object, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname not in MODULES:
            return None
        # Old modules of old packages are found by their full names, so that the path of such a package stays empty.
        has_parts = any(name.startswith(f"{fullname}.") for name in MODULES)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=has_parts)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ in IMPORTED_WITH_WARNING:
            _warn(module.__name__, MODULES[module.__name__])
            _import(MODULES[module.__name__])
        module.__dict__["__getattr__"] = deprecated_names(module.__name__)


def support_moved_modules() -> None:
    """Make modules of version 0.1 importable.

    They are looked for first, because a folder that an old installation left behind would pass for the old package.
    """
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedModules())
