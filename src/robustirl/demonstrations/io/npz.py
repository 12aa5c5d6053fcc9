"""Demonstrations as NumPy arrays in an .npz file: `states`, `lengths`, `schema`, and what is known of the rest.

The rest is `actions`, `terminated`, `state_names` and `action_names`.
"""

import io
from collections.abc import Iterable

import numpy as np

from robustirl._runtime import read_arrays
from robustirl.demonstrations.arrays import as_flags, as_whole_numbers
from robustirl.demonstrations.io.table_options import TableOptions
from robustirl.demonstrations.io.versions import SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def npz_bytes(demonstrations: Demonstrations) -> bytes:
    """Return the bytes of an .npz file."""
    arrays = {name: getattr(demonstrations, name) for name in ("states", "lengths")}
    if demonstrations.ends_known:
        arrays["terminated"] = demonstrations.terminated
    if demonstrations.actions is not None:
        arrays["actions"] = demonstrations.actions
    arrays |= {name: np.array(words) for name, words in demonstrations.names.items() if words is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, schema=np.int64(SCHEMA), **arrays)
    return buffer.getvalue()


def read_npz(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    """Return what an .npz file holds, and the line that says what was understood."""
    options.require_none(path)
    try:
        arrays = read_arrays(content)
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({error}).") from None
    for name in ("schema", "states", "lengths"):
        if name not in arrays:
            raise InvalidInputError(
                f"{path} has no array {name!r}, only {_some(arrays)};"
                " give schema, states, lengths and, if they are known, actions and terminated."
            )
    require_schema(path, arrays["schema"].item() if arrays["schema"].ndim == 0 else arrays["schema"].tolist())
    try:
        states, lengths = (as_whole_numbers(f"the array {name!r}", arrays[name]) for name in ("states", "lengths"))
        actions = as_whole_numbers("the array 'actions'", arrays["actions"]) if "actions" in arrays else None
        ends = as_flags(arrays["terminated"], lengths.size) if "terminated" in arrays else None
        names = {name: arrays[name].tolist() for name in ("state_names", "action_names") if name in arrays}
        found = Demonstrations(states, actions, lengths, ends, **names)
        return found, f"{path}: {found.describe()}"
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _some(names: Iterable[str], most: int = 6) -> str:
    """Return a few names of many."""
    kept = sorted(names)
    more = f" and {len(kept) - most} more" if len(kept) > most else ""
    return (", ".join(kept[:most]) or "nothing") + more
