"""Demonstrations in files: `save` and `load` by suffix, exact in both directions.

    .npz       NumPy arrays `states`, `actions` (if any), `lengths`, `terminated`, and `schema`
    .jsonl     a header, then one JSON object an episode: `states`, `actions` (if any), `terminated`
    .csv       one row a state (see `tables.py`)
    .parquet   the same table (see `parquet.py`)

No format runs code when it is read. A file is replaced whole or left as it was.
"""

import io
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from robustirl._runtime import in_brief, read_arrays, shown, write_atomically
from robustirl.demonstrations.arrays import as_flags, as_whole_numbers
from robustirl.demonstrations.io.parquet import parquet_bytes, read_parquet
from robustirl.demonstrations.io.tables import csv_text, read_csv
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def save(demonstrations: Demonstrations, path: str | os.PathLike[str]) -> None:
    """Write the demonstrations to a file, whose suffix says how: .npz, .jsonl, .csv or .parquet.

    Example:
        >>> import tempfile
        >>> demos = Demonstrations.from_arrays([[0, 1, 2], [1]], [[0, 0], []], terminated=[True, False])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(demos, f"{folder}/walks.jsonl")
        ...     load(f"{folder}/walks.jsonl") == demos
        True
    """
    path = Path(path)
    write, _ = _format(path)
    content = write(demonstrations)
    try:
        write_atomically(path, content)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be written to."
        ) from None


def require_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `save` would refuse, before the work of making something to save is done.

    Example:
        >>> require_place("walks.txt")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: walks.txt has the suffix '.txt', which names no known format; choose one of
        .npz, .jsonl, .csv, .parquet.
    """
    _format(Path(path))
    if not Path(path).parent.is_dir():
        raise InvalidInputError(
            f"{path} cannot be written, because {Path(path).parent} is not a folder; make it, or choose another place."
        )


def load(path: str | os.PathLike[str]) -> Demonstrations:
    """Read what `save` wrote, or a file made elsewhere with the same columns or fields."""
    path = Path(path)
    _, read = _format(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    if not content:
        raise InvalidInputError(f"{path} is empty; write it anew with save().")
    return read(content, str(path))


def _npz_bytes(demonstrations: Demonstrations) -> bytes:
    arrays = {name: getattr(demonstrations, name) for name in ("states", "lengths", "terminated")}
    if demonstrations.actions is not None:
        arrays["actions"] = demonstrations.actions
    buffer = io.BytesIO()
    np.savez_compressed(buffer, schema=np.int64(SCHEMA), **arrays)
    return buffer.getvalue()


def _read_npz(content: bytes, path: str) -> Demonstrations:
    try:
        arrays = read_arrays(content)
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({error}).") from None
    for name in ("schema", "states", "lengths", "terminated"):
        if name not in arrays:
            raise InvalidInputError(
                f"{path} has no array {name!r}, only {_some(arrays)};"
                " give schema, states, lengths, terminated and, if there are any, actions."
            )
    require_schema(path, arrays["schema"].item() if arrays["schema"].ndim == 0 else arrays["schema"].tolist())
    try:
        states, lengths = (as_whole_numbers(f"the array {name!r}", arrays[name]) for name in ("states", "lengths"))
        actions = as_whole_numbers("the array 'actions'", arrays["actions"]) if "actions" in arrays else None
        return Demonstrations(states, actions, lengths, as_flags(arrays["terminated"], lengths.size))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _some(names: Iterable[str], most: int = 6) -> str:
    """A few names of many."""
    kept = sorted(names)
    more = f" and {len(kept) - most} more" if len(kept) > most else ""
    return (", ".join(kept[:most]) or "nothing") + more


def _jsonl_bytes(demonstrations: Demonstrations) -> bytes:
    header = {
        "format": NAME,
        "schema": SCHEMA,
        "episodes": len(demonstrations),
        "has_actions": demonstrations.has_actions,
    }
    lines = [json.dumps(header)]
    for states, actions, terminated in demonstrations:
        line: dict[str, object] = {"states": states.tolist()}
        if actions is not None:
            line["actions"] = actions.tolist()
        lines.append(json.dumps(line | {"terminated": terminated}))
    return ("\n".join(lines) + "\n").encode()


def _read_jsonl(content: bytes, path: str) -> Demonstrations:
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not a text file in UTF-8 ({error.reason}); save it as one.") from None
    header = _json_object(path, 1, lines[0])
    if header.get("format") != NAME or not isinstance(header.get("has_actions"), bool):
        raise InvalidInputError(
            f'line 1 of {path} is not the header that is needed, {{"format": "{NAME}", "schema": {SCHEMA},'
            ' "episodes": how many, "has_actions": true or false}.'
        )
    require_schema(path, header.get("schema"))
    if header.get("episodes") != len(lines) - 1:
        raise InvalidInputError(
            f"{path} has {len(lines) - 1} episodes, but its header says {shown(header.get('episodes'))};"
            " it was cut off, or the header needs correcting."
        )
    states, actions, terminated = [], [], []
    for number, text in enumerate(lines[1:], start=2):
        line = _json_object(path, number, text)
        for name, needed in (("states", True), ("terminated", True), ("actions", header["has_actions"])):
            if (name in line) != needed:
                raise InvalidInputError(
                    f"line {number} of {path} has {'no' if needed else 'a'} field {name!r},"
                    f" {'which is needed' if needed else 'although the header says that there are no actions'}."
                )
        if not isinstance(line["terminated"], bool):
            raise InvalidInputError(
                f"`terminated` is {shown(line['terminated'])} in line {number} of {path}, but true or false is needed."
            )
        states.append(as_whole_numbers(f"line {number} of {path}: the array of states", line["states"]))
        if header["has_actions"]:
            actions.append(as_whole_numbers(f"line {number} of {path}: the array of actions", line["actions"]))
            if actions[-1].size != states[-1].size - 1:
                raise InvalidInputError(
                    f"line {number} of {path} has {states[-1].size} states and {actions[-1].size} actions,"
                    " but one action fewer than states is needed."
                )
        terminated.append(line["terminated"])
    try:
        return Demonstrations.from_arrays(states, actions if header["has_actions"] else None, terminated=terminated)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _json_object(path: str, number: int, text: str) -> dict:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"line {number} of {path} is not JSON ({in_brief(error)}); it may have been cut off."
        ) from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"line {number} of {path} is not a JSON object; write one object an episode.")
    return value


_FORMATS: dict[str, tuple[Callable[[Demonstrations], bytes], Callable[[bytes, str], Demonstrations]]] = {
    ".npz": (_npz_bytes, _read_npz),
    ".jsonl": (_jsonl_bytes, _read_jsonl),
    ".csv": (lambda demonstrations: csv_text(demonstrations).encode(), read_csv),
    ".parquet": (parquet_bytes, read_parquet),
}


def _format(path: Path) -> tuple[Callable[[Demonstrations], bytes], Callable[[bytes, str], Demonstrations]]:
    if path.suffix not in _FORMATS:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}, which names no known format; choose one of {', '.join(_FORMATS)}."
        )
    return _FORMATS[path.suffix]
