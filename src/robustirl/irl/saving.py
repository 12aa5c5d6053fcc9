"""Save fits to files and read them back exactly: one .npz with named arrays and a note in JSON, without pickles.

A fit is a tree of dataclasses (results, policies, reward models, layers) whose leaves are arrays, numbers, words and
members of enumerations. The note is the tree with the name of an array in place of each; a class is written by its
name. Reading runs no code of the file: names are looked up among the classes listed here and the reward models that
the program has defined, and objects are made from their fields.
"""

import dataclasses
import enum
import json
import os
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from robustirl._check import as_path, one_line
from robustirl._files import read_arrays, read_regular, write_arrays
from robustirl._jax import released, working_precision
from robustirl.errors import InvalidInputError

FORMAT = "robustirl-2"
NOTE = "note"


def save_fit(fit: Any, path: str | os.PathLike[str]) -> None:
    """Write a fit of any kind to an .npz file.

    Example:
        >>> import tempfile
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit, load_fit, save_fit
        >>> found = fit(ThreeState().mdp(), [0.1, 0.8, 0.1], alpha=1.0, steps=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_fit(found, f"{folder}/fit.npz")
        ...     again = load_fit(f"{folder}/fit.npz")
        >>> bool((again.player == found.player).all()), again.verdict.status == found.verdict.status
        (True, True)
    """
    if type(fit).__name__ not in _kinds():
        raise InvalidInputError(
            f"a fit is needed, but {type(fit).__name__} was given; an estimator has its own save()."
        )
    write_record(path, {"fit": fit})


def load_fit(path: str | os.PathLike[str]) -> Any:
    """Read the fit that `save_fit` wrote, or that of a saved estimator.

    See the example of `save_fit`.
    """
    return read_record(path)["fit"]


def write_record(path: str | os.PathLike[str], parts: dict[str, Any]) -> None:
    """Write several objects by name, whole or not at all."""
    path = as_path(path)
    if path.suffix != ".npz":
        raise InvalidInputError(f"{path} has the suffix {path.suffix!r}, but fits are .npz files; name it so.")
    arrays: dict[str, np.ndarray] = {}
    note = {"format": FORMAT, "parts": {name: _encode(part, name, arrays) for name, part in parts.items()}}
    try:
        write_arrays(path, {NOTE: np.frombuffer(json.dumps(note).encode(), np.uint8), **arrays})
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be written to."
        ) from None


@working_precision
def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_record` wrote."""
    path = as_path(path)
    try:
        arrays = read_arrays(read_regular(path))
        note = json.loads(arrays.pop(NOTE).tobytes())
        if note["format"] != FORMAT:
            raise ValueError(f"its format is {note['format']!r}")
        kinds = _kinds()
        return {name: released(_decode(part, arrays, kinds)) for name, part in note["parts"].items()}
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a saved fit.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InvalidInputError(
            f"{path} is not a fit that this robustirl has saved, or is damaged ({reason}); save it anew."
        ) from None


def is_data(value: Any) -> bool:
    """Return whether a value can be written into a file.

    Example:
        >>> is_data({"weights": np.zeros(2)}), is_data(print)
        (True, False)
    """
    try:
        _encode(value, "", {})
    except InvalidInputError:
        return False
    return True


def _encode(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON; arrays go into `arrays` under their place in the tree."""
    if isinstance(value, enum.Enum):
        return {"enum": [type(value).__name__, value.value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, jax.Array | np.ndarray) and np.asarray(value).dtype.kind in "biuf":
        arrays[name] = np.asarray(value)
        return {"device" if isinstance(value, jax.Array) else "array": name}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        named = zip(fields, value, strict=True)
        return {type(value).__name__: {k: _encode(v, f"{name}.{k}", arrays) for k, v in named}}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, f"{name}.{key}", arrays) for key, item in value.items()}}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _kinds():
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {type(value).__name__: {k: _encode(item, f"{name}.{k}", arrays) for k, item in held.items()}}
    raise InvalidInputError(
        f"{name} holds a {type(value).__name__}, which cannot be written as data; keep arrays, numbers, words and"
        " modules of layers in it."
    )


def _decode(note: Any, arrays: dict[str, np.ndarray], kinds: dict[str, type]) -> Any:
    """Invert `_encode`."""
    if not isinstance(note, dict):
        return note
    ((kind, content),) = note.items()
    if kind in ("array", "device"):
        return arrays[content] if kind == "array" else jnp.asarray(arrays[content])
    if kind in ("tuple", "list"):
        items = [_decode(item, arrays, kinds) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "enum":
        return kinds[content[0]](content[1])
    fields = {key: _decode(item, arrays, kinds) for key, item in content.items()}
    if kind == "dict":
        return fields
    if kind not in kinds:
        raise ValueError(f"{kind} is not defined here; import its module before loading")
    made, names = kinds[kind], set(content)
    if issubclass(made, tuple):
        return made(**fields)
    if names != {field.name for field in dataclasses.fields(made)}:
        raise ValueError(f"the fields of {kind} are {', '.join(sorted(names))}")
    held = object.__new__(made)  # Not by its constructor, which may take other arguments.
    for field, item in fields.items():
        object.__setattr__(held, field, item)
    return held


def _kinds() -> dict[str, type]:
    """Return the classes that files may name: results, settings, policies, layers and all reward models."""
    from robustirl.control import policies, policy_gradient, ppo
    from robustirl.demonstrations import occupancy
    from robustirl.irl import checks, discriminator, imitation, relative_entropy, result
    from robustirl.planning import operators
    from robustirl.rewards import AbstractReward

    modules = (checks, discriminator, imitation, relative_entropy, result, policies, policy_gradient, ppo)
    modules += (occupancy, operators)
    own = (kind for module in modules for kind in vars(module).values() if _is_kind(kind, module.__name__))
    return {kind.__name__: kind for kind in (*own, eqx.nn.Linear, eqx.nn.Conv2d, *_subclasses(AbstractReward))}


def _is_kind(kind: Any, module: str) -> bool:
    """Return whether an object is a class of data that this module defines."""
    if not isinstance(kind, type) or kind.__module__ != module:
        return False
    return dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum) or hasattr(kind, "_fields")


def _subclasses(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)
