"""Read and write folders of trajectories as imitation saves them, without imitation.

`imitation.data.serialize.save(folder, trajectories)` writes a dataset of Hugging Face: `state.json` names files in
Arrow's stream format, whose rows are trajectories with the columns `obs`, `acts` and `terminal`. The column `infos`,
which holds pickled Python objects as text, is not read, and written as empty dictionaries. Reads and writes were
compared with imitation 1.0.1 and datasets 5.0.
"""

import collections
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from robustirl._runtime import (
    OutputFolder,
    filled_whole,
    one_line,
    read_regular,
    require_memory,
    short_repr,
    unique_fields,
    write_atomically,
)
from robustirl.demonstrations.io.arrow_sizes import require_stream_fits
from robustirl.demonstrations.io.trajectories_of_others import from_trajectories
from robustirl.demonstrations.trajectories import Demonstrations, Episode
from robustirl.errors import InvalidInputError

STATE = "state.json"
DATA = "data-00000-of-00001.arrow"
COLUMNS = ("obs", "acts", "terminal")
LONGEST_NAME = 255  # Bytes that file systems take.
CELL_BYTES = 100  # A value, from the column of the file to demonstrations; a row has more to it.
ROW_BYTES = 400


def read_imitation_folder(folder: Path) -> Demonstrations:
    """Return the trajectories in a folder that imitation saved."""
    rows: list[SimpleNamespace] = []
    for path in _data_files(folder):
        try:
            rows += _read_rows(path)
        except UnicodeDecodeError as error:  # pyarrow decodes the names in a schema when it is asked for them.
            raise InvalidInputError(f"{path} is damaged ({one_line(error)}); save the trajectories anew.") from None
    if not rows:
        raise InvalidInputError(f"{folder} holds no trajectories; save some with imitation.data.serialize.save.")
    try:
        return from_trajectories(rows)
    except InvalidInputError as error:
        raise InvalidInputError(f"{folder}: {error}") from None


def _read_rows(path: Path) -> list[SimpleNamespace]:
    """Return the trajectories of one file."""
    table = _read_arrow(path)
    found = table.column_names
    wrong = next((name for name in COLUMNS if found.count(name) != 1), None)
    if wrong is not None:
        raise InvalidInputError(
            f"{path} has {found.count(wrong) or 'no'} column{'s' * bool(found.count(wrong))} {wrong!r} among"
            f" {short_repr(found, 200)}, but one is needed; save the trajectories with"
            " imitation.data.serialize.save."
        )
    for name in COLUMNS:
        _require_plain(table.column(name).type, f"the column {name!r} of {path}")
    _require_whole(table, path)
    cells = sum(_cells(chunk) for name in COLUMNS for chunk in table.column(name).chunks)
    needed = float(CELL_BYTES) * cells + float(ROW_BYTES) * table.num_rows
    require_memory(needed, f"the trajectories of {path}", "save fewer in a folder")
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    return [
        SimpleNamespace(obs=obs, acts=acts, terminal=terminal) for obs, acts, terminal in zip(*columns, strict=True)
    ]


def write_imitation_folder(demonstrations: Demonstrations, folder: Path | OutputFolder) -> None:
    """Write demonstrations to a new folder that `imitation.data.serialize.load` reads.

    The folder is written whole or not at all. It may be reserved already.

    Example:
        >>> import tempfile
        >>> walks = Demonstrations.from_arrays([[0, 1, 2], [0, 1]], [[1, 1], [1]], terminated=[True, False])
        >>> with tempfile.TemporaryDirectory() as place:
        ...     write_imitation_folder(walks, Path(place, "walks"))
        ...     read_imitation_folder(Path(place, "walks")) == walks
        True
    """
    import pyarrow

    _require_writable(demonstrations)
    whole = pyarrow.list_(pyarrow.int64())
    columns = {
        "obs": pyarrow.array([episode.states.tolist() for episode in demonstrations], whole),
        "acts": pyarrow.array([_taken(episode) for episode in demonstrations], whole),
        "infos": pyarrow.array([["{}"] * len(_taken(e)) for e in demonstrations], pyarrow.list_(pyarrow.string())),
        "terminal": pyarrow.array(demonstrations.terminated.tolist(), pyarrow.bool_()),
    }
    table = pyarrow.table(columns)
    buffer = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    # Without features here, datasets takes those of the table, whose names have changed from version to version.
    info = {"citation": "", "description": "", "features": None, "homepage": "", "license": ""}
    state = {
        "_data_files": [{"filename": DATA}],
        "_fingerprint": hashlib.sha256(buffer.getvalue()).hexdigest()[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    with filled_whole(folder) as building:
        write_atomically(building / DATA, buffer.getvalue().to_pybytes())
        write_atomically(building / STATE, json.dumps(state, indent=2))
        write_atomically(building / "dataset_info.json", json.dumps(info, indent=2))


def _taken(episode: Episode) -> list[int]:
    return [] if episode.actions is None else episode.actions.tolist()


def _require_writable(demonstrations: Demonstrations) -> None:
    """Refuse what imitation's trajectories cannot hold."""
    if not demonstrations.has_actions:
        raise InvalidInputError(
            "imitation's trajectories have actions, but only states were recorded; choose another format."
        )
    short = np.flatnonzero(demonstrations.lengths == 1)
    if short.size:
        raise InvalidInputError(
            f"imitation's trajectories have at least one action, but episode {int(short[0])} is a start state alone;"
            " leave it out, as demos[demos.lengths > 1]."
        )
    if not demonstrations.ends_known:
        raise InvalidInputError(
            "imitation's trajectories say whether they ended for good, which was not recorded; record it, or read it"
            " off a world with infer_terminated(world)."
        )


def _data_files(folder: Path) -> list[Path]:
    state = folder / STATE
    if not state.is_file():
        raise InvalidInputError(
            f"{folder} is a folder without {STATE}, so that imitation has not saved it; give a file (.npz, .jsonl,"
            " .csv, .parquet), a folder of imitation's trajectories, or minari:ID."
        )
    try:
        held = json.loads(read_regular(state), object_pairs_hook=unique_fields)
        names = [str(entry["filename"]) for entry in held["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{state} does not name the files of a dataset ({one_line(error)}); save it anew."
        ) from None
    for name in names:
        if Path(name).name != name or name in ("", ".."):
            raise InvalidInputError(f"{state} names the file {short_repr(name)}, which is not one in its folder.")
        if len(name.encode(errors="surrogatepass")) > LONGEST_NAME:
            raise InvalidInputError(f"{state} names the file {short_repr(name)}, which is longer than any file's name.")
    # Each would be read again: a file of a few bytes could stand for any number of trajectories.
    twice = next((name for name, count in collections.Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{state} names the file {short_repr(twice)} more than once; name it once.")
    return [folder / name for name in names]


def _require_plain(kind: Any, what: str) -> None:
    """Refuse columns of other types than numbers, words, and lists of them.

    Some of the others, such as nulls, have any number of values in a file of any size.
    """
    from pyarrow import types

    inner = kind
    while types.is_list(inner) or types.is_large_list(inner) or types.is_fixed_size_list(inner):
        inner = inner.value_type
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string)
    if not any(is_kind(inner) for is_kind in plain):
        raise InvalidInputError(
            f"{what} has the Arrow type {short_repr(str(kind), 60)}, but numbers or lists of them are needed; save the"
            " trajectories with imitation.data.serialize.save."
        )


def _require_whole(table: Any, path: Path) -> None:
    """Refuse columns whose lists lead outside their values."""
    import pyarrow

    try:
        table.select(COLUMNS).validate(full=True)
    except pyarrow.ArrowException as error:
        raise InvalidInputError(f"{path} is damaged ({one_line(error)}); save the trajectories anew.") from None


def _cells(array: Any) -> int:
    """Return how many values an array has, with the lists and the values in them."""
    count = len(array)
    while hasattr(array.type, "value_type"):
        array = array.flatten()
        count += len(array)
    return count


def _read_arrow(path: Path) -> Any:
    import pyarrow

    try:
        content = read_regular(path)
        require_stream_fits(content)
        with pyarrow.ipc.open_stream(pyarrow.py_buffer(content)) as reader:
            return reader.read_all()
    except MemoryError as error:  # Before the others: pyarrow's is both.
        raise InvalidInputError(
            f"{path} does not fit into memory ({one_line(error)}); save fewer trajectories in a folder."
        ) from None
    except (OSError, pyarrow.ArrowException, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read ({one_line(error)}); save the trajectories anew.") from None
