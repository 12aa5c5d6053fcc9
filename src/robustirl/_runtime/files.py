"""What all files share: plain arrays and dataclasses out of whatever a file holds.

Nothing here runs code that a file brings along. Whatever is wrong with a file comes out as a `ValueError` of one line,
for the caller to put into a sentence that names the file.
"""

import dataclasses
import io
import os
import re
import tokenize
import types
import typing
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from robustirl._runtime.reading import require_unpacked_fits
from robustirl.errors import InvalidInputError

Built = TypeVar("Built")


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name, if all of them are plain.

    Example:
        >>> buffer = io.BytesIO()
        >>> np.savez(buffer, states=np.arange(2))
        >>> read_arrays(buffer.getvalue())["states"].tolist()
        [0, 1]
    """
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # NumPy would take it for an array, or for a pickle.
        raise ValueError("it holds a single array" if content.startswith(b"\x93NUMPY") else "it is not a zip archive")
    try:
        require_unpacked_fits(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Arrays of Python 2 are fine.
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: _member(file, name) for name in file.files}
    except Exception as error:  # Damaged archives and array headers raise nearly anything, MemoryError included.
        raise ValueError(one_line(error)) from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name!r} is not an array")
    return arrays


def _member(file: Any, name: str) -> Any:
    """Return one array of an open .npz file.

    The error that Python raises for a header it cannot parse differs by version.
    """
    try:
        return file[name]
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        if isinstance(error, ValueError) and "parse header" not in str(error):
            raise
        raise ValueError(f"the header of its array {short_repr(name)} cannot be read") from None


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; refuse two of one name.

    It is for `json.loads(text, object_pairs_hook=unique_fields)`. Python's own reader keeps the last of two values.

    Example:
        >>> unique_fields([("a", 1), ("a", 2)])
        Traceback (most recent call last):
        ValueError: the field 'a' occurs more than once
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {short_repr(twice)} occurs more than once")
    return found


def one_line(error: BaseException) -> str:
    r"""Return the first sentence of an error without its period, for use in another sentence.

    Example:
        >>> one_line(ValueError("no.\nReally not.")), one_line(MemoryError())
        ('no', 'MemoryError')
    """
    first = error.args[0] if len(error.args) > 1 and isinstance(error.args[0], str) else str(error)
    first = re.split(r"\n|\.\s", first.strip())[0].rstrip(". ")
    return re.sub(r" at 0x\w+", "", first) or type(error).__name__


def short_repr(value: object, most: int = 40) -> str:
    """Return a value as Python writes it, cut where it gets long.

    Example:
        >>> short_repr("1" * 5000, 10)
        "'111111111..."
    """
    try:
        text = repr(value)
    except Exception:  # A number of more digits than Python prints, or somebody's object.
        text = f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= most else f"{text[:most]}..."


def as_path(path: object) -> Path:
    """Return what names a file or a folder as a path, or refuse it.

    Example:
        >>> as_path(5)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: 5 is no path; give text or a pathlib.Path.
    """
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)  # pyright: ignore[reportUnknownArgumentType]
    raise InvalidInputError(f"{short_repr(path)} is no path; give text or a pathlib.Path.")


def printable(text: str, most: int = 20_000) -> str:
    r"""Return a text with its control characters written out, cut to what a terminal can show.

    Example:
        >>> print(printable("state\x1b[31m"))
        state\x1b[31m
    """
    shown = "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text[: most + 1])
    return shown if len(text) <= most else f"{shown[:most]}..."


def from_dict(kind: type[Built], values: Any) -> Built:
    """Make a dataclass of values by name; refuse values that are not of its fields' types.

    Example:
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: float
        ...     name: str | None = None
        >>> from_dict(Point, {"x": 1})
        Point(x=1, name=None)
        >>> from_dict(Point, {"x": "1"})
        Traceback (most recent call last):
        ValueError: 'x' is '1', which is not of the kind float
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{short_repr(values)} stands where fields by name are needed")
    fields: Any = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
    require_kinds(typing.get_type_hints(kind), values)
    for field in fields:
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and field.name not in values:
            raise ValueError(f"{field.name!r} is missing")
    return kind(**values)


def require_kinds(hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse values that are not of the type their name asks for.

    An array is only checked to be an array.
    """
    for name, value in values.items():
        if name not in hints:
            raise ValueError(f"{short_repr(name)} is not known here")
        if not _fits(value, hints[name]):
            kind = getattr(hints[name], "__name__", None) or str(hints[name])
            raise ValueError(f"{name!r} is {short_repr(value)}, which is not of the kind {kind}")


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a JSON value, or an array, may stand where the type is asked for."""
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
        # A run that failed may have an infinite gap; a whole number too large for a float is none.
        return isinstance(value, float) or (
            isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1024
        )
    if hint is int:  # What a machine's integer holds: larger ones break whatever counts with them.
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if hint in (str, bool, type(None)):
        return isinstance(value, hint)
    if isinstance(value, np.ndarray):
        return True
    return isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, hint)
