"""Recognize equal optimizers, so that `optax.adam(0.1)` made twice is compiled once.

An Optax optimizer is a pair of functions whose settings are in their closures. JAX tells functions apart as objects, so
that every new optimizer would be a new program. Here two optimizers are equal if their functions have the same code and
their closures, defaults and the globals they read hold equal values, all the way down. If anything in them can change
unseen (an object of a class of one's own, a module of one's own), an optimizer is equal to itself alone.
"""

import collections
import dataclasses
import enum
import functools
import threading
import types
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np
import optax

MAX_REMEMBERED = 256
LIBRARIES = (
    "optax",
    "jax",
    "jaxlib",
    "chex",
    "numpy",
    "equinox",
    "builtins",
    "functools",
    "math",
    "operator",
    "typing",
)
"""Packages whose modules are taken not to change while a program runs."""

_known: collections.OrderedDict[Hashable, optax.GradientTransformation] = collections.OrderedDict()
_lock = threading.Lock()


class _OpaqueError(Exception):
    """Something in an optimizer cannot be compared by content."""


def canonical_optimizer(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """Return the first optimizer seen that is equal to this one; itself, if there is none.

    Example:
        >>> first = canonical_optimizer(optax.adam(0.1))
        >>> canonical_optimizer(optax.adam(0.1)) is first, canonical_optimizer(optax.adam(0.2)) is first
        (True, False)
    """
    try:
        key = _content(optimizer, {})
        hash(key)
    except (_OpaqueError, TypeError, RecursionError):
        return optimizer
    with _lock:
        found = _known.setdefault(key, optimizer)
        _known.move_to_end(key)
        while len(_known) > MAX_REMEMBERED:
            _known.popitem(last=False)
    return found


def _content(value: Any, seen: dict[int, tuple[int, Any]]) -> Hashable:
    """Return a key that is equal for equal content; refuse what may change unseen."""
    if value is None or isinstance(value, str | bytes | bool | int | float | complex):
        return type(value), repr(value)  # The representation tells 0.0 from -0.0, and NaN equals itself.
    if isinstance(value, enum.Enum | np.dtype | type):
        return value
    if id(value) in seen:
        return "seen before", seen[id(value)][0]  # Functions may refer to each other.
    seen[id(value)] = len(seen), value  # Kept, so that no other object gets its id meanwhile.
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        array = np.asarray(value)
        return "array", array.dtype.str, array.shape, array.tobytes()
    if isinstance(value, tuple | list):
        return type(value), tuple(_content(item, seen) for item in value)
    if isinstance(value, set | frozenset):
        return type(value), frozenset(_content(item, seen) for item in value)
    if isinstance(value, dict | types.MappingProxyType):
        return "dict", tuple((_content(key, seen), _content(item, seen)) for key, item in value.items())
    if isinstance(value, functools.partial):
        return "partial", _content((value.func, value.args, value.keywords), seen)
    if isinstance(value, types.FunctionType):
        return _function_content(value, seen)
    if isinstance(value, types.MethodType):
        return "method", _content((value.__self__, value.__func__), seen)
    if _of_a_library(value):
        return "object", id(value)  # A module, a class or a function of a library, alive as long as the library is.
    if dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen:  # pyright: ignore[reportAttributeAccessIssue]
        fields = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
        return type(value), _content(fields, seen)
    raise _OpaqueError


def _function_content(function: types.FunctionType, seen: dict[int, tuple[int, Any]]) -> Hashable:
    code = function.__code__
    cells = tuple(_cell_content(cell) for cell in function.__closure__ or ())
    settings = (cells, function.__defaults__, function.__kwdefaults__)
    read: Hashable = ()
    if not _of_a_library(function):
        names = sorted(name for name in _names(code) if name in function.__globals__)
        read = tuple((name, _content(function.__globals__[name], seen)) for name in names)
    return "function", function.__module__, code, _content(settings, seen), read


def _cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty cell"  # A variable that the enclosing function never assigned.


def _names(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that a function and its inner functions mention."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _of_a_library(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        name = value.__name__
    elif isinstance(value, types.FunctionType | types.BuiltinFunctionType | np.ufunc) or callable(value):
        name = getattr(value, "__module__", None) or ""
    else:
        return False
    return name.split(".")[0] in LIBRARIES
