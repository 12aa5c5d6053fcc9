"""Show objects in few words: what a prompt and a notebook show instead of whole arrays."""

import dataclasses
import html
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

MAX_NUMBERS = 6  # An array of more is shown as its shape and range.
MAX_WIDTH = 100
MAX_RANGE = 1_000_000  # Of a larger array only the shape is shown: its range would take time.


class ShortRepr:
    """Give dataclasses a repr that shows numbers; `dataclass` itself would print whole arrays."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # In the class itself, where `dataclass` leaves it alone.

    def __repr__(self) -> str:
        return field_repr(self)


def field_repr(obj: Any) -> str:
    """Return the class and the fields of a module or dataclass with their numbers.

    Example:
        >>> from robustirl.planning.verdict import Verdict
        >>> Verdict(*map(np.asarray, (True, 7, 1e-12, 2e-11)))
        Verdict(converged=True, iterations=7, residual=1e-12, error_bound=2e-11)
    """
    shown = [f.name for f in dataclasses.fields(obj) if f.repr]
    return joined(type(obj).__name__, [f"{name}={short_value(getattr(obj, name, None))}" for name in shown])


def joined(name: str, parts: Iterable[str]) -> str:
    """Return `name(parts)` on one line, or on a line a part if that gets long."""
    parts = list(parts)
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= MAX_WIDTH else f"{name}(\n  " + ",\n  ".join(parts) + "\n)"


def short_value(value: Any) -> str:
    """Return a value in a few words.

    Example:
        >>> short_value(np.float64(0.25)), short_value(np.eye(20)), short_value([1, 2]), short_value(short_value)
        ('0.25', '<20 × 20, from 0 to 1>', '[1, 2]', 'short_value')
    """
    if isinstance(value, Tracer):
        return f"<traced {_size(value)}>"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _array(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _sequence(value)
    if isinstance(value, dict):
        return f"<{len(value)} entries>" if value else "{}"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    text = repr(value)
    return text if "\n" not in text and len(text) <= 60 else f"{type(value).__name__}(...)"


def _array(value: Any) -> str:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return "<random key>"
    if value.ndim == 0:
        return short_value(np.asarray(value).item())
    if value.size <= MAX_NUMBERS and value.ndim == 1:
        return "[" + ", ".join(short_value(item) for item in np.asarray(value).tolist()) + "]"
    if value.size == 0 or value.size > MAX_RANGE or value.dtype.kind not in "fiu":
        return f"<{_size(value)}>"
    numbers = np.asarray(value)
    return f"<{_size(value)}, from {numbers.min():.4g} to {numbers.max():.4g}>"


def _size(value: Any) -> str:
    return " × ".join(map(str, value.shape)) if value.ndim else "number"


def _sequence(value: list | tuple) -> str:
    left, right = ("[", "]") if isinstance(value, list) else ("(", ")")
    if len(value) > MAX_NUMBERS:
        return f"<{len(value)} × {type(value[0]).__name__}>"
    comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
    text = left + ", ".join(map(short_value, value)) + comma + right
    return text if len(text) <= 60 else f"{text[:57]}..."


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a small table of names and values for notebooks.

    Example:
        >>> html_table("Fit", [("α", 0.9)])
        '<table><caption><b>Fit</b></caption><tr><th style="text-align:left">α</th><td>0.9</td></tr></table>'
    """
    lines = [f'<tr><th style="text-align:left">{_escape(n)}</th><td>{_escape(v)}</td></tr>' for n, v in rows]
    return f"<table><caption><b>{_escape(title)}</b></caption>{''.join(lines)}</table>"


def html_columns(title: str, columns: Mapping[str, Iterable[object]]) -> str:
    """Return a table of several columns for notebooks."""
    head = "".join(f"<th>{_escape(name)}</th>" for name in columns)
    rows = zip(*columns.values(), strict=True)
    body = "".join(f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption><b>{_escape(title)}</b></caption><tr>{head}</tr>{body}</table>"


def _escape(value: object) -> str:
    return html.escape(value if isinstance(value, str) else short_value(value))


def draw(function: str, *args: Any, **options: Any) -> Any:
    """Call a function of `robustirl.plotting` by its name and return its figure.

    Objects with a `plot` method are below plotting in the order of imports, and matplotlib is an extra.
    """
    return getattr(importlib.import_module("robustirl.plotting"), function)(*args, **options)
