"""Read and write files of demonstrations: `save` and `load` by suffix, exact in both directions.

    .npz       NumPy arrays (see `npz.py`)
    .jsonl     a header, then one JSON object per episode (see `json_lines.py`)
    .csv       one row per state (see `tables.py` and `csv_files.py`)
    .parquet   the same table (see `parquet.py`)

Actions, ends and names are absent if they are unknown.

No format runs code when it is read. A file is replaced whole or left as it was.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from robustirl._runtime import (
    as_path,
    is_folder,
    read_regular,
    reserved_file,
    reserved_folder,
    short_traceback,
    write_atomically,
)
from robustirl.demonstrations.arguments import require_demonstrations
from robustirl.demonstrations.io.csv_files import csv_text, read_csv
from robustirl.demonstrations.io.imitation import read_imitation_folder, write_imitation_folder
from robustirl.demonstrations.io.json_lines import jsonl_bytes, read_jsonl
from robustirl.demonstrations.io.minari import from_minari, reserved_dataset, to_minari
from robustirl.demonstrations.io.names import Names
from robustirl.demonstrations.io.npz import npz_bytes, read_npz
from robustirl.demonstrations.io.parquet import parquet_bytes, read_parquet
from robustirl.demonstrations.io.table_options import TableOptions
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

MINARI = "minari:"
"""What a path begins with that is the id of a Minari dataset."""
IMITATION = "imitation:"
"""What a path begins with that is a folder of imitation's trajectories."""

_log = logging.getLogger("robustirl")


@short_traceback
def save(demonstrations: Demonstrations, path: str | os.PathLike[str]) -> None:
    """Write the demonstrations to a file, whose suffix says how: .npz, .jsonl, .csv or .parquet.

    The path `minari:ID` makes a dataset of Minari instead, and `imitation:FOLDER` a folder that
    `imitation.data.serialize.load` reads.

    Example:
        >>> import tempfile
        >>> demos = Demonstrations.from_arrays([[0, 1, 2], [1]], [[0, 0], []], terminated=[True, False])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(demos, f"{folder}/walks.jsonl")
        ...     load(f"{folder}/walks.jsonl") == demos
        True
    """
    require_demonstrations(demonstrations)
    if str(path).startswith(MINARI):
        to_minari(demonstrations, str(path).removeprefix(MINARI))
        return
    if str(path).startswith(IMITATION):
        write_imitation_folder(demonstrations, _imitation_folder(path))
        return
    path = as_path(path)
    write, _ = _format(path)
    content = write(demonstrations)
    try:
        write_atomically(path, content)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be written to."
        ) from None


@contextlib.contextmanager
def reserved_place(path: str | os.PathLike[str]) -> Iterator[Callable[[Demonstrations], object]]:
    """Reserve a path for `save` before what is to be saved is made; yield what saves there.

    A path that `save` would refuse is refused now, and so is one that another command is writing to.

    Example:
        >>> with reserved_place("walks.txt"):
        ...     pass
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: walks.txt has the suffix '.txt', which names no known format; choose one of
        .npz, .jsonl, .csv, .parquet.
    """
    if str(path).startswith(IMITATION):
        with reserved_folder(_imitation_folder(path)) as held:
            yield lambda demonstrations: write_imitation_folder(demonstrations, held)
    elif str(path).startswith(MINARI):
        name = str(path).removeprefix(MINARI)
        with reserved_dataset(name):
            yield lambda demonstrations: to_minari(demonstrations, name)
    else:
        _format(as_path(path))
        with reserved_file(as_path(path)):
            yield lambda demonstrations: save(demonstrations, path)


@short_traceback
def load(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    state_names: Names = None,
    action_names: Names = None,
    first_state: int | None = None,
    first_action: int | None = None,
    time_step: float | None = None,
    separator: str | None = None,
) -> Demonstrations:
    r"""Read what `save` wrote, or a table made elsewhere.

    The log says in one line what was understood.

    Args:
        path: The file: .npz, .jsonl, .csv (.tsv) or .parquet; the other arguments are for the last two. Or a folder
            that imitation saved, or `minari:ID` for a dataset of Minari on this machine.
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`. Ours are `episode`,
            `state`, and if there are any `step`, `action`, `terminated`.
        state_names: The name of each state in order, or a number for each name. If omitted, a column of names is
            numbered in alphabetical order, and the result has them as `state_names`.
        action_names: The same for actions.
        first_state: The number of the first state in the table: 0, or 1 for tables that count from 1; 0 if omitted.
        first_action: The same for actions.
        time_step: For tables with a column `time` (numbers, or timestamps such as 2024-05-01 08:30:00): the seconds
            between two steps; at each the latest state is taken. Such tables have no actions.
        separator: What separates the cells of a text table, a character or a word (`semicolon`, `tab`). If omitted,
            commas, semicolons, tabs and | are told apart by the header.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(f"{folder}/log.csv").write_text("trip,link,done\n7,A,0\n7,B,1\n8,A,0\n")
        ...     walks = load(
        ...         f"{folder}/log.csv", columns={"episode": "trip", "state": "link", "terminated": "done"}
        ...     )
        >>> walks.states.tolist(), walks.state_names, walks.terminated.tolist()
        ([0, 1, 0], ('A', 'B'), [True, False])
    """
    options = TableOptions(columns, state_names, action_names, first_state, first_action, time_step, separator)
    found, understood = load_with_note(path, options)
    _log.info(understood)
    return found


def load_with_note(path: str | os.PathLike[str], options: TableOptions = TableOptions()) -> tuple[Demonstrations, str]:
    """Return what `load` reads, and the line that says what was understood."""
    if str(path).startswith(MINARI):
        options.require_none(str(path))
        found = from_minari(str(path).removeprefix(MINARI))
        return found, f"{path}: {found.describe()}"
    path = _imitation_folder(path) if str(path).startswith(IMITATION) else Path(path)
    if is_folder(path):
        options.require_none(str(path))
        found = read_imitation_folder(path)
        return found, f"{path}, trajectories of imitation: {found.describe()}"
    # Tab-separated files of others are read, and never written.
    if not path.suffix and _is_missing(path):
        raise InvalidInputError(
            f"there is no file or folder {path}; give a file of demonstrations ({', '.join(_FORMATS)}) or a folder that"
            " imitation saved."
        )
    read = read_csv if path.suffix == ".tsv" else _format(path)[1]
    try:
        content = read_regular(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    if not content:
        raise InvalidInputError(f"{path} is empty; write it anew with save().")
    return read(content, str(path), options)


def _imitation_folder(path: str | os.PathLike[str]) -> Path:
    """Return the folder in `imitation:FOLDER`.

    Without a name it would be the one where the command was called.
    """
    name = str(path).removeprefix(IMITATION)
    if not name.strip():
        raise InvalidInputError(f"{str(path)!r} names no folder; give one, as {IMITATION}walks.")
    return Path(name)


def _is_missing(path: Path) -> bool:
    """Return whether it is certain that nothing has this name.

    A name that cannot be looked up is another fault.
    """
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


_Write = Callable[[Demonstrations], bytes]
_Read = Callable[[bytes, str, TableOptions], tuple[Demonstrations, str]]
_FORMATS: dict[str, tuple[_Write, _Read]] = {
    ".npz": (npz_bytes, read_npz),
    ".jsonl": (jsonl_bytes, read_jsonl),
    ".csv": (lambda demonstrations: csv_text(demonstrations).encode(), read_csv),
    ".parquet": (parquet_bytes, read_parquet),
}


def _format(path: Path) -> tuple[_Write, _Read]:
    if path.suffix not in _FORMATS:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}, which names no known format; choose one of {', '.join(_FORMATS)}."
        )
    return _FORMATS[path.suffix]
