"""The store: an append-only folder of finished runs, which any number of interruptions cannot spoil.

A batch is one file, `batches/<name>.npz`, named after the runs in it and written whole or not at all: numbers as
JSON, arrays beside them, and a checksum over both. Nothing is ever changed in place. What a later command
needs to do is what it asks for minus what is here.

One configuration has one store: the request (its specs) and whatever else decides the digits (versions, precision, kind
of device) stand in `store.json`, the last thing to be written when a store is made, and in every batch. A command or a
batch that differs in any of them is refused rather than mixed in.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import robustirl
from robustirl.errors import InvalidInputError
from robustirl.experiments.kinds import record_as_json, record_from_json, spec_as_json, spec_from_json
from robustirl.experiments.specs import Finding, Identified
from robustirl.files import in_brief
from robustirl.files import write_atomically as write_atomically

SCHEMA = 1


def configuration() -> dict[str, str]:
    """What decides the digits of a run besides its spec."""
    return {
        "robustirl": robustirl.__version__,
        **_versions(),
        "dtype": "float64" if jax.config.read("jax_enable_x64") else "float32",
        "device": jax.default_backend(),
    }


@functools.cache
def _versions() -> dict[str, str]:
    packages = ("jax", "jaxlib", "numpy", "scipy", "optax", "equinox")
    return {name: importlib.metadata.version(name) for name in packages}


class Store:
    """The finished runs of one request."""

    def __init__(self, folder: Path, specs: Sequence[Identified], made_under: dict[str, str] | None = None):
        self.folder = folder
        self.specs = tuple(specs)
        self.configuration = configuration() if made_under is None else made_under
        self._known: dict[Identified, Path] = {}

    @property
    def batches(self) -> Path:
        """The folder of the batch files."""
        return self.folder / "batches"

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path, specs: Sequence[Identified]) -> "Iterator[Store]":
        """Open the folder for this request, or make it; refuse one that belongs to another, or that is in use.

        The folder is ours until the context ends: a second command is kept out. The lock dies with the process.
        """
        folder = Path(folder)
        store = cls(folder, specs)
        note = {"schema": SCHEMA, "configuration": store.configuration, "specs": [spec_as_json(s) for s in specs]}
        path = folder / "store.json"
        if folder.exists() and not folder.is_dir():
            raise InvalidInputError(f"{folder} is a file, but --out must name a folder; choose another name.")
        if folder.exists() and not path.exists() and not all(_ours(entry) for entry in folder.iterdir()):
            raise InvalidInputError(
                f"{folder} holds files but no store; choose an empty or new folder as --out, or remove that one."
            )
        try:
            store.batches.mkdir(parents=True, exist_ok=True)
            with store._lock():
                if path.exists():
                    _require_same(read_note(path), note, folder)
                    store._scan(note["configuration"])
                else:
                    write_atomically(path, json.dumps(note, indent=0) + "\n")
                yield store
        except OSError as error:
            raise InvalidInputError(
                f"{folder} cannot be written to ({error.strerror}); what is finished is kept; make room or"
                " choose another --out."
            ) from None

    @classmethod
    def read(cls, folder: Path) -> "Store":
        """Open a store to look at, whatever was asked for and wherever it was made."""
        note = read_note(Path(folder) / "store.json")
        store = cls(Path(folder), note["specs"], note["configuration"])
        store._scan(note["configuration"])
        return store

    def _scan(self, expected: dict[str, str]) -> None:
        for path in sorted(self.batches.glob("*.npz")):
            records, found = read_batch(path)
            if found != expected:
                raise InvalidInputError(
                    f"{path} was computed under another configuration ({_difference(found, expected)});"
                    " remove that file."
                )
            self._known |= {record.spec: path for record in records}

    def __contains__(self, spec: Identified) -> bool:
        return spec in self._known

    def __len__(self) -> int:
        return len(self._known)

    def append(self, findings: Sequence[Finding]) -> None:
        """Add a finished batch."""
        specs = [item.record.spec for item in findings]
        name = hashlib.sha256("".join(spec.identity for spec in specs).encode()).hexdigest()[:20]
        path = self.batches / f"{name}.npz"
        write_atomically(path, encode(findings))
        self._known |= dict.fromkeys(specs, path)

    def records(self) -> list[Any]:
        """The finished runs, in the order of the request."""
        found = {record.spec: record for path in set(self._known.values()) for record in read_batch(path)[0]}
        return [found[spec] for spec in self.specs if spec in found]

    def finding(self, spec: Identified) -> Finding:
        """A finished run with its arrays."""
        if spec not in self._known:
            raise InvalidInputError(f"{self.folder} holds no run {spec}.")
        path = self._known[spec]
        records, _ = read_batch(path)
        index = next(i for i, record in enumerate(records) if record.spec == spec)
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = {name.removeprefix("all_"): file[name][index] for name in file.files if name.startswith("all_")}
        return Finding(records[index], arrays)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:  # Not on this system, where two commands in one folder do the work twice, but no harm.
            yield
            return
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidInputError(
                    f"another command is working in {self.folder}; wait for it, or choose another --out."
                ) from None
            yield


def _ours(entry: Path) -> bool:
    """Whether a file may be what a command left that was killed while it made a store."""
    return entry.name.startswith(".") or (entry.name == "batches" and entry.is_dir() and not any(entry.glob("[!.]*")))


def read_note(path: Path) -> dict:
    """What a store says of itself, its specs as such."""
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        schema = int(note["schema"])
        if schema <= SCHEMA:
            note["specs"] = [spec_from_json(entry) for entry in note["specs"]]
            if not isinstance(note["configuration"], dict):
                raise TypeError("its configuration is none")
    except FileNotFoundError:
        raise InvalidInputError(f"there is no store in {path.parent}; give the folder of a finished command.") from None
    except Exception as error:  # What JSON can hold is as varied as damage is.
        raise InvalidInputError(
            f"{path} is damaged ({in_brief(error)}); move {path.parent} away to start over, or choose another --out."
        ) from None
    if schema > SCHEMA:
        raise InvalidInputError(
            f"{path} was written by a newer robustirl (schema {schema}, this one reads up to {SCHEMA});"
            " update robustirl."
        )
    return note


def _require_same(found: dict, asked: dict, folder: Path) -> None:
    if [spec_as_json(spec) for spec in found["specs"]] != asked["specs"]:
        raise InvalidInputError(
            f"{folder} holds results of another request; choose another --out or remove that folder first."
        )
    if found["configuration"] != asked["configuration"]:
        raise InvalidInputError(
            f"{folder} was computed under another configuration"
            f" ({_difference(found['configuration'], asked['configuration'])});"
            " choose another --out or remove that folder first."
        )


def _difference(theirs: dict, ours: dict) -> str:
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    return "; ".join(f"{name} {theirs.get(name)} there, {ours.get(name)} here" for name in names)


def encode(findings: Sequence[Finding]) -> bytes:
    """A batch as the bytes of an npz file."""
    content = {"configuration": configuration(), "records": [record_as_json(item.record) for item in findings]}
    text = json.dumps(content).encode()
    arrays = {f"all_{name}": np.stack([item.arrays[name] for item in findings]) for name in findings[0].arrays}
    digest = _digest(text, arrays)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, allow_pickle=False, records=np.frombuffer(text, np.uint8), checksum=np.array(digest), **arrays
    )
    return buffer.getvalue()


def _digest(text: bytes, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def read_batch(path: Path) -> tuple[list[Any], dict[str, str]]:
    """The records of a batch file and their configuration, after checking all of it."""
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name.startswith("all_")}
            if str(file["checksum"]) != _digest(file["records"].tobytes(), arrays):
                raise ValueError("its checksum does not match")
            content = json.loads(file["records"].tobytes().decode())
            records = _records(content)
            if any(array.shape[:1] != (len(records),) for array in arrays.values()):
                raise ValueError("its arrays do not go with its records")
            return records, dict(content["configuration"])
    except Exception as error:  # A damaged archive can raise nearly anything.
        raise InvalidInputError(
            f"{path} is damaged ({in_brief(error)}); remove that file, and the same command computes its runs again."
        ) from None


def _records(content: dict) -> list[Any]:
    return [record_from_json(entry) for entry in content["records"]]
