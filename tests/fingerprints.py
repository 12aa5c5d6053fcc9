"""Short descriptions of worlds, settings and tables, for comparison with what they were when somebody last looked.

An array of more than a few numbers is described by three sums in which every entry has a weight of its own.
"""

import dataclasses
import enum
import json
import os
from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from robustirl.mdp import MDP
from tests.goldens import FOLDER as GOLDEN
from tests.goldens import WRITE

FEW = 8


def fingerprint(value: Any) -> Any:
    """What JSON can hold of a value: numbers, words, and the parts of what has parts."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, MDP):
        parts = {"kernel": value.kernel.dense(), "discount": value.discount, "initial": value.initial}
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


def require_golden_parts(name: str, found: dict[str, Any]) -> None:
    """Compare descriptions with those of the same names in `tests/golden/NAME`; `WRITE_GOLDENS=1` writes them."""
    path = GOLDEN / name
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    now = {key: fingerprint(part) for key, part in found.items()}
    if os.environ.get(WRITE):
        path.write_text(_as_text({**before, **now}), encoding="utf-8")
        return
    changed = [line for key, part in now.items() for line in differences(part, before.get(key), key)]
    if changed:
        shown = "\n".join(changed[:12])
        raise AssertionError(f"{name} has changed; if this is meant, run with WRITE_GOLDENS=1 and look at it:\n{shown}")


def _as_text(found: dict[str, Any]) -> str:
    """The descriptions as JSON, a line for each part of a part."""
    parts = []
    for key, part in found.items():
        inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(each, ensure_ascii=False)}" for k, each in part.items())
        parts.append(f" {json.dumps(key)}: {{\n{inner}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
