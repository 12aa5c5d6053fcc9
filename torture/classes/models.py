"""Saved models with one thing changed, under a sound checksum: each is refused, or can be used as any other."""

import copy
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robustirl import irl
from robustirl.errors import RobustIRLError
from robustirl.irl._archive import Archive, read_archive, write_archive
from torture.classes import BadInput
from torture.targets import kept

GONE = object()
VALUES: tuple[Any, ...] = (GONE, None, True, -1, 2.5, float("nan"), 10**30, "x", "", [], {}, [1, "a"], {"a": 1})
ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "nothing": lambda array: np.zeros(0, array.dtype),
    "one number": lambda array: np.array(1.0) if array.ndim else None,
    "words": lambda array: np.full(array.shape, "x"),
    "complex": lambda array: array.astype(complex),
    "turned": lambda array: array.T if array.ndim > 1 and array.shape[0] != array.shape[1] else None,
    "twice": lambda array: np.concatenate([array, array]) if array.ndim else None,
    "an axis more": lambda array: array[None],
    "one less": lambda array: array[:-1] if array.ndim and len(array) > 1 else None,
    "dates": lambda array: np.zeros(array.shape, "M8[s]"),
}


def bad_models() -> Iterator[BadInput]:
    """Yield a model of robust imitation with every entry of its note, and every array, changed in every way."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(kept("imitation-model")[0])
        note, arrays = read_archive(path)
    for place in _places(note):
        for value in VALUES:
            words = "gone" if value is GONE else repr(value)
            name = f"note, {'.'.join(map(str, place))}: {words}"
            yield BadInput(name, functools.partial(_use, place, value, None, note, arrays))
    for name, array in arrays.items():
        for what, change in ARRAYS.items():
            changed = change(array)
            if changed is not None:
                use = functools.partial(_use, (), None, {name: changed}, note, arrays)
                yield BadInput(f"array, {name}: {what}", use)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every entry."""
    if place:
        yield place
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield from _places(inner, (*place, name))


def _use(
    place: tuple[Any, ...],
    value: Any,
    changed: dict[str, np.ndarray] | None,
    note: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> object:
    """Load the changed model and do with it what one does; raise an error of ours if all of that works."""
    note = copy.deepcopy(note)
    if place:
        holder = note
        for name in place[:-1]:
            holder = holder[name]
        if value is GONE:
            del holder[place[-1]]
        else:
            holder[place[-1]] = value
    write_archive(Archive(note, arrays | (changed or {})), "model.npz")
    model = irl.RobustImitation.load("model.npz")
    model.predict(np.zeros((2, 3)))
    model.fit_.reward(np.zeros(3), np.zeros(3))
    for shown in (model.judgment_, model, model.fit_):
        repr(shown)
    model.save("again.npz")
    raise RobustIRLError("it was read and could be used.")
