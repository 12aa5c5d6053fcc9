"""A batch of finished runs as a file: numbers as JSON, arrays beside them, and a checksum over both.

Reading runs no code, and what is read has been checked as a whole.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._runtime import in_brief, read_regular
from robustirl.errors import InvalidInputError
from robustirl.sweeps.configuration import configuration
from robustirl.sweeps.kinds import record_as_json, record_from_json
from robustirl.sweeps.specs import RunResult


class DamagedFileError(InvalidInputError):
    """A file of a store whose content is not what was written.

    Attributes:
        reason: What is wrong with it, without a full stop.
    """

    def __init__(self, path: Path, reason: str, remedy: str):
        super().__init__(f"{path} is damaged ({reason}); {remedy}.")
        self.reason = reason


def encode(results: Sequence[RunResult]) -> bytes:
    """A batch as the bytes of an npz file."""
    content = {"configuration": configuration(), "records": [record_as_json(item.record) for item in results]}
    text = json.dumps(content).encode()
    arrays = {f"all_{name}": np.stack([item.arrays[name] for item in results]) for name in results[0].arrays}
    checksum = digest(text, arrays)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, allow_pickle=False, records=np.frombuffer(text, np.uint8), checksum=np.array(checksum), **arrays
    )
    return buffer.getvalue()


def digest(text: bytes, arrays: dict[str, np.ndarray]) -> str:
    """The checksum of a batch."""
    found = hashlib.sha256(text)
    for name in sorted(arrays):
        found.update(name.encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def read_batch(path: Path) -> tuple[list[Any], dict[str, str]]:
    """The records of a batch file and their configuration, after checking all of it."""
    records, made_under, _ = _read(path)
    return records, made_under


def read_results(path: Path) -> list[RunResult]:
    """The runs of a batch file with their arrays, after checking all of it."""
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
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name.startswith("all_")}
            if str(file["checksum"]) != digest(file["records"].tobytes(), arrays):
                raise ValueError("its checksum does not match")
            note = json.loads(file["records"].tobytes().decode())
        records = [record_from_json(entry) for entry in note["records"]]
        if any(array.shape[:1] != (len(records),) for array in arrays.values()):
            raise ValueError("its arrays do not go with its records")
        return records, dict(note["configuration"]), arrays
    except Exception as error:  # A damaged archive can raise nearly anything.
        remedy = "remove that file, and the same command computes its runs again"
        raise DamagedFileError(path, in_brief(error), remedy) from None
