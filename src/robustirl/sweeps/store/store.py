"""The store: an append-only folder of finished runs, which any number of interruptions cannot spoil.

A batch is one file, `batches/<name>.npz`, named after the runs in it and written whole or not at all (`batch_files`).
Nothing is ever changed in place. What a later command needs to do is what it asks for minus what is here.

One configuration has one store: the request (its specs) and whatever else decides the digits (versions, precision, kind
of device) stand in `store.json` (`store_note`), the last thing to be written when a store is made, and in every batch.
A command or a batch that differs in any of them is refused rather than mixed in.

A damaged batch file is never read as valid and never deleted: a writer moves it to `quarantine/` and computes its runs
again, a reader continues without it; both say so.
"""

import contextlib
import hashlib
import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from robustirl._runtime import as_path, exclusive, one_line, require_output_folder, warn_renamed
from robustirl._runtime import write_atomically as write_atomically
from robustirl.errors import DamagedStoreWarning, InvalidInputError
from robustirl.sweeps.configuration import configuration, difference
from robustirl.sweeps.kinds import kind_of
from robustirl.sweeps.specs import RunResult, Spec
from robustirl.sweeps.store.batch_files import DamagedFileError, encode, read_batch, read_results
from robustirl.sweeps.store.note import as_text, note_of, read_note, require_same

QUARANTINE = "quarantine"
"""The folder of damaged batch files in a store."""
_STALE_TEMP = re.compile(r"\.[0-9a-f]{20}\.npz\.\w+")


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Say in a sentence why files cannot be written, such as a full disk or a read-only folder."""
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"{folder} cannot be written to ({error.strerror or one_line(error)}); what is finished is kept; make room"
            " or choose another --out."
        ) from None


class Store:
    """The finished runs of one request.

    Attributes:
        folder: Where they are.
        specs: The request.
        configuration: What they were computed under.
        damaged: A sentence for every batch file that was found damaged.
    """

    def __init__(self, folder: Path, specs: Sequence[Spec], made_under: dict[str, str] | None = None):
        self.folder = folder
        self.specs: tuple[Spec, ...] = tuple(specs)
        self.configuration: dict[str, str] = configuration() if made_under is None else made_under
        self.damaged: list[str] = []
        self._known: dict[Spec, Path] = {}

    @property
    def batches(self) -> Path:
        """The folder of the batch files."""
        return self.folder / "batches"

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path, specs: Sequence[Spec], *, extend: bool = False) -> "Iterator[Store]":
        """Open the folder for this request, or make it; refuse one of another request or in use.

        The folder is locked until the context ends, and a second command is refused. The lock ends with the process.

        Args:
            folder: The store.
            specs: The request.
            extend: Accept the store of another request. The request becomes this one and the finished runs of that.
        """
        folder = as_path(folder)
        store, note, path = cls(folder, specs), note_of(specs), folder / "store.json"
        with writing_to(folder):
            require_output_folder(folder, empty=False)  # Before any run, by writing to it.
            store._require_own_folders()
            if folder.exists() and not path.exists() and not all(_ours(entry) for entry in folder.iterdir()):
                raise InvalidInputError(
                    f"{folder} holds files but no store; choose an empty or new folder as --out, or remove that one."
                )
            store.batches.mkdir(parents=True, exist_ok=True)
            with store._lock():
                if path.exists():
                    found = read_note(path)
                    require_same(found, note, folder, extend=extend)
                    store._clean()
                    store._scan(store._quarantine)
                    if extend:
                        asked = set(specs)
                        kept = (spec for spec in found["specs"] if spec in store and spec not in asked)
                        store.specs = (*specs, *kept)
                        note = note_of(store.specs)
                    if path.read_text(encoding="utf-8") != as_text(note):
                        write_atomically(path, as_text(note))  # Extended, or of an earlier schema.
                else:
                    write_atomically(path, as_text(note))
                yield store

    @classmethod
    def read(cls, folder: Path, *, strict: bool = False) -> "Store":
        """Open a store to look at, whatever was asked for and wherever it was made.

        Nothing in it is touched.

        Args:
            folder: The store.
            strict: Refuse a store with a damaged batch, rather than warn and go on without the batch.
        """
        folder = as_path(folder)
        note = read_note(folder / "store.json")
        store = cls(folder, note["specs"], note["configuration"])
        store._require_own_folders()

        def leave(_: Path, error: InvalidInputError) -> None:
            if strict:
                raise error
            store.damaged.append(str(error))
            warnings.warn(str(error), DamagedStoreWarning, stacklevel=4)

        store._scan(leave)
        return store

    def _require_own_folders(self) -> None:
        """Refuse a store whose folders are links: files elsewhere would be moved or written."""
        for folder in (self.batches, self.folder / QUARANTINE):
            if folder.is_symlink():
                raise InvalidInputError(
                    f"{folder} is a link, but files in it may be moved; put the folder itself in its place."
                )

    def _scan(self, spoiled: Callable[[Path, InvalidInputError], None]) -> None:
        """Find out what is here; batch files that cannot be read are the caller's to deal with."""
        for path in sorted(self.batches.glob("*.npz")):
            try:
                records, found = read_batch(path)
            except InvalidInputError as error:
                spoiled(path, error)
                continue
            if found != self.configuration:
                raise InvalidInputError(
                    f"{path} was computed under another configuration ({difference(found, self.configuration)});"
                    " remove that file."
                )
            self._known |= {record.spec: path for record in records}

    def _quarantine(self, path: Path, error: InvalidInputError) -> None:
        """Set a damaged batch file aside, where its runs count as missing."""
        if not isinstance(error, DamagedFileError):
            raise error  # It may be sound, and only out of reach.
        folder = self.folder / QUARANTINE
        folder.mkdir(exist_ok=True)
        others = (f"{path.stem}-{count}{path.suffix}" for count in itertools.count(2))
        place = next(folder / name for name in itertools.chain([path.name], others) if not (folder / name).exists())
        path.rename(place)
        self.damaged.append(f"{path} was damaged ({error.reason}) and is now {place}; its runs are computed again.")

    def _clean(self) -> None:
        """Remove temporary files of writes that were killed; the lock keeps other writers out."""
        for path in self.batches.iterdir():
            if _STALE_TEMP.fullmatch(path.name):
                path.unlink()

    def __contains__(self, spec: Spec) -> bool:
        return spec in self._known

    def __len__(self) -> int:
        return len(self._known)

    def append(self, results: Sequence[RunResult]) -> None:
        """Add a finished batch."""
        specs = [item.record.spec for item in results]
        name = hashlib.sha256("".join(spec.identity for spec in specs).encode()).hexdigest()[:20]
        path = self.batches / f"{name}.npz"
        write_atomically(path, encode(results))
        self._known |= dict.fromkeys(specs, path)

    def records(self) -> list[Any]:
        """Return the finished runs, in the order of the request."""
        found = {record.spec: record for path in set(self._known.values()) for record in read_batch(path)[0]}
        return [found[spec] for spec in self.specs if spec in found]

    def result(self, spec: Spec) -> RunResult:
        """Return a finished run with its arrays."""
        if spec not in self._known:
            raise InvalidInputError(f"{self.folder} holds no run {spec}.")
        return next(item for item in read_results(self._known[spec]) if item.record.spec == spec)

    def finding(self, spec: Spec) -> RunResult:
        """Return `result(spec)`, which is the name since version 0.2."""
        warn_renamed("Store.finding")
        return self.result(spec)

    def results(self, *kinds: str) -> Iterator[RunResult]:
        """Return the finished runs of some kinds with their arrays, in no special order.

        Every file is read once.
        """
        for path in dict.fromkeys(self._known.values()):
            yield from (item for item in read_results(path) if kind_of(item.record.spec).name in kinds)

    def _lock(self) -> AbstractContextManager[None]:
        taken = f"another command is working in {self.folder}; wait for it, or choose another --out."
        return exclusive(self.folder / ".lock", taken)


def _ours(entry: Path) -> bool:
    """Return whether a file may be what a command left that was killed while it made a store."""
    return entry.name.startswith(".") or (entry.name == "batches" and entry.is_dir() and not any(entry.glob("[!.]*")))
