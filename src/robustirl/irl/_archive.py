"""Models as files: named arrays and a note in one .npz, with a schema version and a checksum over all of it.

Loading runs no code: arrays are plain, the note is JSON. A file is replaced whole or left as it was.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustirl._runtime import as_path, read_arrays, read_regular, write_atomically
from robustirl.errors import InvalidInputError

FORMAT, SCHEMA = "robustirl-model", 1
NOTE, CHECKSUM = "note", "checksum"


class Archive(NamedTuple):
    """What a file holds: a note of JSON values, and arrays by name."""

    note: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_archive(archive: Archive, path: str | os.PathLike[str]) -> None:
    """Write the file, or leave whatever was there as it was."""
    path = as_path(path)
    if path.suffix != ".npz":
        raise InvalidInputError(f"{path} has the suffix {path.suffix!r}, but models are .npz files; name it so.")
    text = json.dumps({"format": FORMAT, "schema": SCHEMA, **archive.note}, allow_nan=True).encode()
    buffer = io.BytesIO()
    checksum = np.frombuffer(_digest(text, archive.arrays).encode(), np.uint8)
    arrays = {NOTE: np.frombuffer(text, np.uint8), CHECKSUM: checksum, **archive.arrays}
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    try:
        write_atomically(path, buffer.getvalue())
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be written to."
        ) from None


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read what `write_archive` wrote, and nothing else."""
    path = as_path(path)
    try:
        content = read_regular(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a saved model.") from None
    arrays = _arrays(content, path)
    if NOTE not in arrays or CHECKSUM not in arrays:
        held = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise InvalidInputError(f"{path} is not a saved model: it holds {held}; give a file that save() has written.")
    text, checksum = arrays.pop(NOTE).tobytes(), arrays.pop(CHECKSUM).tobytes()
    note = _note(text, path)
    if _digest(text, arrays).encode() != checksum:
        raise InvalidInputError(
            f"{path} was altered or damaged: its content does not match its checksum; use a copy of the original."
        )
    return Archive(note, arrays)


def _arrays(content: bytes, path: Path) -> dict[str, np.ndarray]:
    try:
        return read_arrays(content)
    except ValueError as error:
        raise InvalidInputError(
            f"{path} is damaged, cut off or not an .npz file of plain arrays ({error}); use a copy of the original."
        ) from None


def _note(text: bytes, path: Path) -> dict[str, Any]:
    """Return the note, if it is one of ours.

    It is looked at before the checksum: another schema may sum up differently.
    """
    try:
        note = json.loads(text.decode())
        schema = note["schema"]
        if note["format"] != FORMAT or not isinstance(schema, int):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInputError(
            f"{path} is not a saved model, or its note was altered; give a file that save() has written."
        ) from None
    if schema > SCHEMA:
        raise InvalidInputError(
            f"{path} was written by a newer robustirl (schema {schema}, this one reads up to {SCHEMA});"
            " update robustirl."
        )
    return note


def _digest(text: bytes, arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 over the note and every array with its name, type and shape."""
    digest = hashlib.sha256(text)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
