"""Read folders of trajectories that imitation saved, without imitation.

`imitation.data.serialize.save(folder, trajectories)` writes a dataset of Hugging Face: `state.json` names files in
Arrow's stream format, whose rows are trajectories with the columns `obs`, `acts` and `terminal`. The column `infos`,
which holds pickled Python objects as text, is not read.
"""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from robustirl._runtime import one_line, read_regular, short_repr
from robustirl.demonstrations.io.trajectories_of_others import from_trajectories
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

STATE = "state.json"
COLUMNS = ("obs", "acts", "terminal")
LONGEST_NAME = 255  # Bytes that file systems take.


def read_imitation_folder(folder: Path) -> Demonstrations:
    """Return the trajectories in a folder that imitation saved."""
    rows: list[SimpleNamespace] = []
    for path in _data_files(folder):
        table = _read_arrow(path)
        found = table.column_names
        wrong = next((name for name in COLUMNS if found.count(name) != 1), None)
        if wrong is not None:
            raise InvalidInputError(
                f"{path} has {found.count(wrong) or 'no'} column{'s' * bool(found.count(wrong))} {wrong!r} among"
                f" {short_repr(found, 200)}, but one is needed; save the trajectories with"
                " imitation.data.serialize.save."
            )
        columns = [table.column(name).to_pylist() for name in COLUMNS]
        rows += [
            SimpleNamespace(obs=obs, acts=acts, terminal=terminal) for obs, acts, terminal in zip(*columns, strict=True)
        ]
    if not rows:
        raise InvalidInputError(f"{folder} holds no trajectories; save some with imitation.data.serialize.save.")
    try:
        return from_trajectories(rows)
    except InvalidInputError as error:
        raise InvalidInputError(f"{folder}: {error}") from None


def _data_files(folder: Path) -> list[Path]:
    state = folder / STATE
    if not state.is_file():
        raise InvalidInputError(
            f"{folder} is a folder without {STATE}, so that imitation has not saved it; give a file (.npz, .jsonl,"
            " .csv, .parquet), a folder of imitation's trajectories, or minari:ID."
        )
    try:
        names = [str(entry["filename"]) for entry in json.loads(read_regular(state))["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{state} does not name the files of a dataset ({one_line(error)}); save it anew."
        ) from None
    for name in names:
        if Path(name).name != name:
            raise InvalidInputError(f"{state} names the file {short_repr(name)}, which is outside of its folder.")
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise InvalidInputError(f"{state} names the file {short_repr(name)}, which is longer than any file's name.")
    return [folder / name for name in names]


def _read_arrow(path: Path) -> Any:
    import pyarrow

    try:
        with pyarrow.ipc.open_stream(pyarrow.py_buffer(read_regular(path))) as reader:
            return reader.read_all()
    except (OSError, pyarrow.ArrowException) as error:
        raise InvalidInputError(f"{path} cannot be read ({one_line(error)}); save the trajectories anew.") from None
