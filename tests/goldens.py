"""Texts that were looked at once and are compared ever after: what figures, pages and commands show.

`WRITE_GOLDENS=1` writes them into `tests/golden`; `git diff` says what has changed.
"""

import dataclasses
import os
import re
from pathlib import Path

from tests.drawn import numbers

FOLDER = Path(__file__).parent / "golden"
WRITE = "WRITE_GOLDENS"
_NUMBER = re.compile(r"(?<![\w.#])[-−]?\d+(?:\.\d+)?(?:e[-+]\d+)?(?![\w.]*[A-Za-z])")


def require_golden(name: str, text: str, *, close: float = 2e-4) -> None:
    """Compare a text with `tests/golden/NAME`, numbers to a relative precision, words and all else exactly."""
    path, text = FOLDER / name, text.rstrip("\n") + "\n"
    if os.environ.get(WRITE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path} is missing; run with WRITE_GOLDENS=1 and look at it"
    golden = path.read_text(encoding="utf-8").splitlines()
    now = text.splitlines()
    changed = [
        f"line {place}:\n- {before}\n+ {after}"
        for place, (before, after) in enumerate(zip(golden, now, strict=False), start=1)
        if not agree(before, after, close)
    ]
    if len(golden) != len(now):
        changed.append(f"{len(golden)} lines before, {len(now)} now")
    if changed:
        shown = "\n".join(changed[:12])
        raise AssertionError(f"{name} has changed; if this is meant, run with WRITE_GOLDENS=1 and look at it:\n{shown}")


def agree(before: str, after: str, close: float) -> bool:
    """Whether two lines agree: words exactly, numbers up to what rounding may do."""
    if before == after:
        return True
    if _NUMBER.split(before) != _NUMBER.split(after):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True)
    return all(_close(*(float(text.replace("−", "-")) for text in pair), close) for pair in pairs)


def _close(before: float, after: float, close: float) -> bool:
    return abs(before - after) <= close * max(abs(before), abs(after)) + 1e-9


def as_lines(value, place=""):
    """Nested data as lines of names and values."""
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in as_lines(item, f"{place}.{name}".lstrip("."))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [f"{place}: {' | '.join(str(getattr(value, field.name)) for field in dataclasses.fields(value))}"]
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float | str | type(None)):
        return [line for number, item in enumerate(value) for line in as_lines(item, f"{place}[{number}]")]
    if isinstance(value, list | tuple):
        sound = all(isinstance(item, int | float) for item in value)
        return [f"{place}: {numbers(value) if sound else list(value)}"]
    return [f"{place}: {value!r}"]
