"""What a store says of itself in `store.json`: its schema, the request, the configuration, and a checksum over them.

A later schema comes with a migration from the one before, so that whatever was ever written can be read. A writer
brings the note up to date; a reader does so in memory and leaves the file as it is.

    schema 1: specs and configuration.
    schema 2: a checksum besides, so that a changed digit in a spec cannot make its run vanish.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from robustirl._runtime import one_line, read_regular
from robustirl.errors import InvalidInputError
from robustirl.sweeps.configuration import configuration, difference
from robustirl.sweeps.kinds import UnknownKindError, spec_as_json, spec_from_json
from robustirl.sweeps.specs import Spec
from robustirl.sweeps.store.batch_files import DamagedFileError

SCHEMA = 2

Note = dict[str, Any]


def note_of(specs: Sequence[Spec]) -> Note:
    """Return the note of a request that is computed here and now, as JSON can hold it."""
    entries = [spec_as_json(spec) for spec in specs]
    return with_checksum({"schema": SCHEMA, "configuration": configuration(), "specs": entries})


def with_checksum(note: Note) -> Note:
    """Return the note with its checksum.

    Example:
        >>> with_checksum({"schema": 2, "configuration": {}, "specs": []})["checksum"][:8]
        'e77c4258'
    """
    rest = {name: value for name, value in note.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True)
    return {**rest, "checksum": hashlib.sha256(text.encode()).hexdigest()}


def _to_2(note: Note) -> Note:
    """Migrate a note of schema 1, which had no checksum."""
    return with_checksum({**note, "schema": 2})


MIGRATIONS: dict[int, Callable[[Note], Note]] = {1: _to_2}
"""By schema, how to get to the next one."""


def migrated(note: Note) -> Note:
    """Return a note of any earlier schema as one of this schema.

    Example:
        >>> sorted(migrated({"schema": 1, "configuration": {}, "specs": []}))
        ['checksum', 'configuration', 'schema', 'specs']
    """
    while note["schema"] < SCHEMA:
        note = MIGRATIONS[note["schema"]](note)
    return note


def as_text(note: Note) -> str:
    """Return a note as its file holds it."""
    return json.dumps(note, indent=0) + "\n"


def read_note(path: Path) -> Note:
    """Return what a store says of itself, its specs as such, whatever schema it was written in."""
    try:
        text = read_regular(path).decode("utf-8")
        note = json.loads(text)
        schema = int(note["schema"])
        if schema <= SCHEMA:
            if schema not in (*MIGRATIONS, SCHEMA):
                raise ValueError(f"there is no schema {schema}")
            specs, unknown = _specs(note["specs"])
            if not isinstance(note["configuration"], dict):
                raise TypeError("its configuration is none")
            note = migrated(note)
            if note != with_checksum(note):
                raise ValueError("its checksum does not match")
            if unknown is not None:  # After the checksum, because a changed letter makes a kind unknown, too.
                raise unknown
            note["specs"] = specs
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInputError(f"there is no store in {path.parent}; give the folder of a finished command.") from None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from None
    except UnknownKindError as error:
        raise error.in_file(path) from None
    except Exception as error:  # What JSON can hold is as varied as damage is.
        remedy = f"move {path.parent} away to start over, or choose another --out"
        raise DamagedFileError(path, one_line(error), remedy) from None
    if schema > SCHEMA:
        raise InvalidInputError(
            f"{path} was written by a newer robustirl (schema {schema}, this one reads up to {SCHEMA});"
            " update robustirl."
        )
    return note


def _specs(entries: Any) -> tuple[list[Spec], UnknownKindError | None]:
    """Return the specs of a note, and the first kind of run that is not registered, if any."""
    found: list[Spec] = []
    unknown = None
    for entry in entries:
        try:
            found.append(spec_from_json(entry))
        except UnknownKindError as error:
            unknown = unknown or error
    return found, unknown


def require_same(found: Note, asked: Note, folder: Path, *, extend: bool = False) -> None:
    """Refuse to add to a store of another request or of another configuration.

    Another request is accepted if the store may be extended.
    """
    if not extend and [spec_as_json(spec) for spec in found["specs"]] != asked["specs"]:
        raise InvalidInputError(
            f"{folder} holds results of another request; choose another --out or remove that folder first."
        )
    if found["configuration"] != asked["configuration"]:
        raise InvalidInputError(
            f"{folder} was computed under another configuration"
            f" ({difference(found['configuration'], asked['configuration'])});"
            " choose another --out or remove that folder first."
        )
