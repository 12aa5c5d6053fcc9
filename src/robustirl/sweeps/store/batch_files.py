"""A batch of finished runs as a file: numbers as JSON, arrays beside them, and a checksum over both.

Reading runs no code, and what is read has been checked as a whole.

    schema 1: configuration and records; the schema is not named.
    schema 2: the schema is named, and the checksum covers types and shapes of the arrays.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._runtime import one_line, read_arrays, read_regular, short_repr
from robustirl.errors import InvalidInputError
from robustirl.sweeps.configuration import configuration
from robustirl.sweeps.kinds import UnknownKindError, kind_of, record_as_json, record_from_json
from robustirl.sweeps.specs import RunResult

SCHEMA = 2


class DamagedFileError(InvalidInputError):
    """A file of a store whose content is not what was written.

    Attributes:
        reason: What is wrong with it, without a full stop.
    """

    def __init__(self, path: Path, reason: str, remedy: str):
        super().__init__(f"{path} is damaged ({reason}); {remedy}.")
        self.reason = reason


def encode(results: Sequence[RunResult]) -> bytes:
    """Return a batch as the bytes of an npz file."""
    records = [record_as_json(item.record) for item in results]
    content = {"schema": SCHEMA, "configuration": configuration(), "records": records}
    text = json.dumps(content).encode()
    arrays = {f"all_{name}": np.stack([item.arrays[name] for item in results]) for name in results[0].arrays}
    checksum = digest(text, arrays)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, allow_pickle=False, records=np.frombuffer(text, np.uint8), checksum=np.array(checksum), **arrays
    )
    return buffer.getvalue()


def digest(text: bytes, arrays: dict[str, np.ndarray], schema: int = SCHEMA) -> str:
    """Return the checksum of a batch."""
    found = hashlib.sha256(text)
    for name in sorted(arrays):
        found.update(name.encode())
        if schema > 1:
            found.update(f" {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def read_batch(path: Path) -> tuple[list[Any], dict[str, str]]:
    """Return the records of a batch file and their configuration, after checking all of it."""
    records, made_under, _ = _read(path)
    return records, made_under


def read_results(path: Path) -> list[RunResult]:
    """Return the runs of a batch file with their arrays, after checking all of it."""
    records, _, arrays = _read(path)
    named = {name.removeprefix("all_"): array for name, array in arrays.items()}
    return [
        RunResult(record, {name: array[index] for name, array in named.items()}) for index, record in enumerate(records)
    ]


def _read(path: Path) -> tuple[list[Any], dict[str, str], dict[str, np.ndarray]]:
    try:
        content = read_regular(path)
    except OSError as error:  # A file out of reach is not a damaged one.
        raise InvalidInputError(
            f"{path} cannot be read ({error.strerror}); see to its permissions and its disk."
        ) from None
    try:
        members = read_arrays(content)
        text, arrays = members["records"].tobytes(), {k: v for k, v in members.items() if k.startswith("all_")}
        note = json.loads(text.decode())
        schema = note.get("schema", 1)
        if not isinstance(schema, int) or schema < 1:
            raise ValueError(f"there is no schema {short_repr(schema)}")
        if schema > SCHEMA:  # Before the checksum is looked at, since another schema may sum up differently.
            raise _NewerFileError(schema)
        if str(members["checksum"]) != digest(text, arrays, schema):
            raise ValueError("its checksum does not match")
        records = [record_from_json(entry) for entry in note["records"]]
        if any(array.shape[:1] != (len(records),) for array in arrays.values()):
            raise ValueError("its arrays do not go with its records")
        for record in records[:1]:  # All runs of a batch are of one kind, and their arrays are stacked.
            _require_shapes(arrays, kind_of(record.spec).axes)
        made_under = dict(note["configuration"])
        if not all(isinstance(entry, str) for entry in made_under.values()):
            raise ValueError("its configuration does not consist of texts")
        return records, made_under, arrays
    except _NewerFileError as error:
        raise InvalidInputError(
            f"{path} was written by a newer robustirl (schema {error}, this one reads up to {SCHEMA});"
            " update robustirl."
        ) from None
    except UnknownKindError as error:  # The checksum was right.
        raise error.in_file(path) from None
    except Exception as error:  # A damaged archive can raise nearly anything.
        remedy = "remove that file, and the same command computes its runs again"
        raise DamagedFileError(path, one_line(error), remedy) from None


class _NewerFileError(Exception):
    """A batch of a later schema: not damaged, and not to be set aside."""


def _require_shapes(arrays: dict[str, np.ndarray], axes: Mapping[str, str]) -> None:
    """Refuse arrays that hold no numbers, or whose axes differ from those of their kind of run."""
    lengths: dict[str, int] = {}
    for name, stacked in sorted(arrays.items()):
        own = name.removeprefix("all_")
        if stacked.dtype.kind not in "fiub":
            raise ValueError(f"its array {own!r} holds {stacked.dtype} instead of numbers")
        if own not in axes:
            continue
        named, shape = axes[own].split(), stacked.shape[1:]
        if len(named) != len(shape) or any(lengths.setdefault(a, n) != n for a, n in zip(named, shape, strict=True)):
            due = ", ".join(f"{axis} = {lengths[axis]}" if axis in lengths else axis for axis in named)
            raise ValueError(f"its array {own!r} has the shape {shape} instead of ({due})")
