"""What all readers of files share: plain arrays out of .npz bytes, and dataclasses out of JSON values.

Nothing here runs code that a file brings along, and whatever is wrong with a file comes out as a `ValueError` of one
line, for the caller to put into a sentence that names the file.
"""

import dataclasses
import io
import types
import typing
import warnings
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import numpy as np

Built = TypeVar("Built")


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name, if all of them are plain.

    Example:
        >>> buffer = io.BytesIO()
        >>> np.savez(buffer, states=np.arange(2))
        >>> read_arrays(buffer.getvalue())["states"].tolist()
        [0, 1]
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Arrays of Python 2 are fine.
            file = np.load(io.BytesIO(content), allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            with file:
                arrays = {name: file[name] for name in file.files}
    except Exception as error:  # Damaged archives and array headers raise nearly anything, MemoryError included.
        raise ValueError(in_brief(error)) from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name!r} is not an array")
    return arrays


def in_brief(error: BaseException) -> str:
    r"""An error in one line without a full stop, to be put into a sentence.

    Example:
        >>> in_brief(ValueError("no.\nReally not.")), in_brief(MemoryError())
        ('no', 'MemoryError')
    """
    lines = str(error).strip().splitlines()
    return (lines[0].rstrip(". ") if lines else "") or type(error).__name__


def build(kind: type[Built], values: Mapping[str, Any]) -> Built:
    """The dataclass with these values, if each is of the type that its field asks for.

    Example:
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: float
        ...     name: str | None = None
        >>> build(Point, {"x": 1})
        Point(x=1, name=None)
        >>> build(Point, {"x": "1"})
        Traceback (most recent call last):
        ValueError: 'x' is '1', which is not of the kind float
    """
    fields: Any = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
    require_kinds(typing.get_type_hints(kind), values)
    for field in fields:
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and field.name not in values:
            raise ValueError(f"{field.name!r} is missing")
    return kind(**values)


def require_kinds(hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse values that are not of the type their name asks for; of arrays, only that they are arrays is checked."""
    for name, value in values.items():
        if name not in hints:
            raise ValueError(f"{str(name)[:40]!r} is not known here")
        if not _fits(value, hints[name]):
            kind = getattr(hints[name], "__name__", None) or str(hints[name])
            raise ValueError(f"{name!r} is {repr(value)[:40]}, which is not of the kind {kind}")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value, or an array, may stand where the type is asked for."""
    if hint is Any:
        return True
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return any(_fits(value, option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is Literal:
        return isinstance(value, str | int | None) and value in typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)[0]
        return isinstance(value, tuple) and all(_fits(item, inner) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1024
    if hint is int:  # What a machine's integer holds: larger ones break whatever counts with them.
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if hint in (str, bool, type(None)):
        return isinstance(value, hint)
    if isinstance(value, np.ndarray):
        return True
    return isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, hint)
