"""Short texts for objects: what a prompt and a notebook show instead of the types of arrays.

`field_repr` writes the fields of any module or dataclass with their numbers: a scalar as its value, a few numbers as a
list, more as their shape and range, a nested object by its class. `html_table` is the same for notebooks.
"""

import dataclasses
import html
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

MAX_NUMBERS = 6  # An array of more is shown as its shape and range.
MAX_WIDTH = 100
MAX_FIELDS = 9
MAX_RANGE = 1_000_000  # Of a larger array only the shape is shown: its range would take time.


class PlainModule(eqx.Module):
    """A module whose repr shows numbers."""

    def __repr__(self) -> str:
        return field_repr(self)


class ShortRepr:
    """Give dataclasses a repr that shows numbers; `dataclass` itself would print whole arrays."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # In the class itself, where `dataclass` leaves it alone.

    def __repr__(self) -> str:
        return field_repr(self)


def field_repr(obj: Any, fields: Mapping[str, Any] | None = None) -> str:
    """Return the class and the fields of an object with their numbers, in at most ten lines.

    Args:
        obj: A module or a dataclass.
        fields: What to show; its fields if omitted.

    Example:
        >>> from robustirl.planning import Verdict
        >>> Verdict(*(jnp.asarray(value) for value in (True, 7, 1e-12, 2e-11)))
        Verdict(converged=True, iterations=7, residual=1e-12, error_bound=2e-11)
    """
    if fields is None:
        fields = {f.name: getattr(obj, f.name, None) for f in dataclasses.fields(obj) if f.repr}
    parts = [f"{name}={short_value(value)}" for name, value in fields.items()]
    if len(parts) > MAX_FIELDS:
        parts = [*parts[: MAX_FIELDS - 1], f"and {len(parts) - MAX_FIELDS + 1} more fields"]
    return joined(type(obj).__name__, parts)


def joined(name: str, parts: Iterable[str]) -> str:
    """Return `name(parts)` on one line, or on a line a part if that gets long."""
    parts = list(parts)
    line = f"{name}({', '.join(parts)})"
    if len(line) <= MAX_WIDTH:
        return line
    return f"{name}(\n  " + ",\n  ".join(parts) + "\n)"


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
    if isinstance(value, str | int) or value is None:
        return _cut(repr(value), 60)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return _sequence(value)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if isinstance(value, Mapping):
        return f"<{len(value)} entries>" if value else "{}"
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
    return _cut(left + ", ".join(map(short_value, value)) + comma + right, 60)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


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
    body = "".join(
        f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return f"<table><caption><b>{_escape(title)}</b></caption><tr>{head}</tr>{body}</table>"


def _escape(value: object) -> str:
    text = value if isinstance(value, str) else short_value(value)
    return html.escape(text)
