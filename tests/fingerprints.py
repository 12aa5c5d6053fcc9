"""Short descriptions of worlds, settings and tables, for comparison with what they were when somebody last looked.

An array of more than a few numbers is described by three sums in which every entry has a weight of its own.
"""

import dataclasses
import enum
import json
from collections.abc import Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from robustirl.mdp import MDP

FEW = 8
GOLDEN = Path(__file__).parent / "golden"


def fingerprint(value: Any) -> Any:
    """What JSON can hold of a value: numbers, words, and the parts of what has parts."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, MDP):
        parts = {"kernel": value.kernel.to_array(), "discount": value.discount, "initial": value.initial}
        return fingerprint({**parts, "mask": np.asarray(value.mask)})
    if isinstance(value, int | float | np.generic | np.ndarray | jax.Array):
        return _numbers(np.asarray(value))
    if isinstance(value, Mapping | MappingProxyType):
        return {str(key): fingerprint(each) for key, each in value.items()}
    if isinstance(value, Set):
        return sorted(map(str, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: fingerprint(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return fingerprint(value._asdict())
    if isinstance(value, list | tuple):
        return [fingerprint(each) for each in value]
    return getattr(value, "__qualname__", type(value).__name__)


def _numbers(array: np.ndarray) -> Any:
    flat = array.astype(float).ravel()
    if array.ndim == 0:
        return _rounded(flat[0])
    if flat.size <= FEW:
        return [_rounded(each) for each in flat]
    places = np.arange(flat.size)
    weights = (np.ones(flat.size), np.cos(places), np.sin(1.7 * places + 0.3))
    finite = np.where(np.isfinite(flat), flat, 1e3 * np.cos(3.1 * places))
    return [f"{array.shape}", *(_rounded(float(finite @ weight)) for weight in weights)]


def _rounded(number: float) -> Any:
    return float(f"{number:.9g}") if np.isfinite(number) else str(number)


def differences(now: Any, before: Any, place: str = "") -> list[str]:
    """Where two descriptions differ; numbers may in the seventh digit, as rounding does."""
    if isinstance(before, dict) and isinstance(now, dict) and now.keys() == before.keys():
        return [line for key in before for line in differences(now[key], before[key], f"{place}/{key}")]
    if isinstance(before, list) and isinstance(now, list) and len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [line for index, pair in pairs for line in differences(*pair, f"{place}/{index}")]
    if isinstance(before, int | float) and isinstance(now, int | float):
        return [] if np.isclose(now, before, rtol=1e-6, atol=1e-6) else [f"{place} is {now}, and was {before}"]
    return [] if now == before else [f"{place} is {now!r}, and was {before!r}"]


def read_golden(name: str) -> Any:
    """What was written before."""
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def write_golden(name: str, found: dict[str, Any]) -> None:
    """Write the descriptions, a line for each part of a part."""
    parts = []
    for key, part in found.items():
        inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(each, ensure_ascii=False)}" for k, each in part.items())
        parts.append(f" {json.dumps(key)}: {{\n{inner}\n }}")
    (GOLDEN / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
