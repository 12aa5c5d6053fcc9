"""Read and write files of demonstrations: `save` and `load` by suffix, exact in both directions.

    .npz       NumPy arrays `states`, `actions`, `lengths`, `terminated`, and `schema`
    .jsonl     a header, then one JSON object per episode: `states`, `actions`, `terminated`
    .csv       one row per state (see `tables.py` and `csv_files.py`)
    .parquet   the same table (see `parquet.py`)

Actions, ends and names are absent if they are unknown.

No format runs code when it is read. A file is replaced whole or left as it was.
"""

import dataclasses
import io
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from robustirl._runtime import (
    is_folder,
    one_line,
    read_arrays,
    read_regular,
    require_output_file,
    require_output_folder,
    short_repr,
    short_traceback,
    write_atomically,
)
from robustirl.demonstrations.arrays import as_flags, as_whole_numbers
from robustirl.demonstrations.io.csv_files import csv_text, read_csv, require_names
from robustirl.demonstrations.io.imitation import read_imitation_folder, write_imitation_folder
from robustirl.demonstrations.io.minari import from_minari, to_minari
from robustirl.demonstrations.io.parquet import parquet_bytes, read_parquet
from robustirl.demonstrations.io.tables import Names, TableOptions
from robustirl.demonstrations.io.versions import NAME, SCHEMA, require_schema
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
    if str(path).startswith(MINARI):
        to_minari(demonstrations, str(path).removeprefix(MINARI))
        return
    if str(path).startswith(IMITATION):
        write_imitation_folder(demonstrations, Path(str(path).removeprefix(IMITATION)))
        return
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
    if str(path).startswith(IMITATION):
        require_output_folder(Path(str(path).removeprefix(IMITATION)))
    elif not str(path).startswith(MINARI):
        _format(Path(path))
        require_output_file(Path(path))


@short_traceback
def load(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    state_names: Names = None,
    action_names: Names = None,
    first_state: int = 0,
    first_action: int = 0,
    time_step: float | None = None,
    separator: str | None = None,
) -> Demonstrations:
    r"""Read what `save` wrote, or a table made elsewhere. The log says in one line what was understood.

    Args:
        path: The file: .npz, .jsonl, .csv (.tsv) or .parquet; the other arguments are for the last two. Or a folder
            that imitation saved, or `minari:ID` for a dataset of Minari on this machine.
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`. Ours are `episode`,
            `state`, and if there are any `step`, `action`, `terminated`.
        state_names: The name of each state in order, or a number for each name. If omitted, a column of names is
            numbered in alphabetical order, and the result has them as `state_names`.
        action_names: The same for actions.
        first_state: The number of the first state in the table: 0, or 1 for tables that count from 1.
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
        _require_no_options(str(path), options)
        found = from_minari(str(path).removeprefix(MINARI))
        return found, f"{path}: {found.describe()}"
    path = Path(str(path).removeprefix(IMITATION))
    if is_folder(path):
        _require_no_options(str(path), options)
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


def _is_missing(path: Path) -> bool:
    """Return whether it is certain that nothing has this name; a name that cannot be looked up is another fault."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _npz_bytes(demonstrations: Demonstrations) -> bytes:
    arrays = {name: getattr(demonstrations, name) for name in ("states", "lengths")}
    if demonstrations.ends_known:
        arrays["terminated"] = demonstrations.terminated
    if demonstrations.actions is not None:
        arrays["actions"] = demonstrations.actions
    arrays |= {name: np.array(words) for name, words in demonstrations.names.items() if words is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, schema=np.int64(SCHEMA), **arrays)
    return buffer.getvalue()


def _read_npz(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    _require_no_options(path, options)
    try:
        arrays = read_arrays(content)
    except ValueError as error:
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({error}).") from None
    for name in ("schema", "states", "lengths"):
        if name not in arrays:
            raise InvalidInputError(
                f"{path} has no array {name!r}, only {_some(arrays)};"
                " give schema, states, lengths and, if they are known, actions and terminated."
            )
    require_schema(path, arrays["schema"].item() if arrays["schema"].ndim == 0 else arrays["schema"].tolist())
    try:
        states, lengths = (as_whole_numbers(f"the array {name!r}", arrays[name]) for name in ("states", "lengths"))
        actions = as_whole_numbers("the array 'actions'", arrays["actions"]) if "actions" in arrays else None
        ends = as_flags(arrays["terminated"], lengths.size) if "terminated" in arrays else None
        names = {name: arrays[name].tolist() for name in ("state_names", "action_names") if name in arrays}
        found = Demonstrations(states, actions, lengths, ends, **names)
        return found, f"{path}: {found.describe()}"
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _some(names: Iterable[str], most: int = 6) -> str:
    """Return a few names of many."""
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
    if not demonstrations.ends_known:
        header["ends_known"] = False
    header |= {name: words for name, words in demonstrations.names.items() if words is not None}
    lines = [json.dumps(header)]
    for states, actions, terminated in demonstrations:
        line: dict[str, object] = {"states": states.tolist()}
        if actions is not None:
            line["actions"] = actions.tolist()
        lines.append(json.dumps(line | ({"terminated": terminated} if demonstrations.ends_known else {})))
    return ("\n".join(lines) + "\n").encode()


def _read_jsonl(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    _require_no_options(path, options)
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
            f"{path} has {len(lines) - 1} episodes, but its header says {short_repr(header.get('episodes'))};"
            " it was cut off, or the header needs correcting."
        )
    ends_known = header.get("ends_known", True) is not False
    names = {name: header[name] for name in ("state_names", "action_names") if name in header}
    require_names(names, f"line 1 of {path}")
    states, actions, terminated = [], [], []
    for number, text in enumerate(lines[1:], start=2):
        line = _json_object(path, number, text)
        for name, needed in (("states", True), ("terminated", ends_known), ("actions", header["has_actions"])):
            if (name in line) != needed:
                raise InvalidInputError(
                    f"line {number} of {path} has {'no' if needed else 'a'} field {name!r},"
                    f" {'which is needed' if needed else 'although the header says that there is none'}."
                )
        if ends_known and not isinstance(line["terminated"], bool):
            raise InvalidInputError(
                f"`terminated` is {short_repr(line['terminated'])} in line {number} of {path}, but true or false is"
                " needed."
            )
        states.append(as_whole_numbers(f"line {number} of {path}: the array of states", line["states"]))
        if header["has_actions"]:
            actions.append(as_whole_numbers(f"line {number} of {path}: the array of actions", line["actions"]))
            if actions[-1].size != states[-1].size - 1:
                raise InvalidInputError(
                    f"line {number} of {path} has {states[-1].size} states and {actions[-1].size} actions,"
                    " but one action fewer than states is needed."
                )
        terminated.append(line.get("terminated"))
    try:
        joined = np.concatenate(actions) if header["has_actions"] else None
        lengths, ends = [len(episode) for episode in states], terminated if ends_known else None
        found = Demonstrations(np.concatenate(states), joined, lengths, ends, **names)
        return found, f"{path}: {found.describe()}"
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _json_object(path: str, number: int, text: str) -> dict:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"line {number} of {path} is not JSON ({one_line(error)}); it may have been cut off."
        ) from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"line {number} of {path} is not a JSON object; write one object an episode.")
    return value


def _require_no_options(path: str, options: TableOptions) -> None:
    """Refuse options that only tables have a use for."""
    for name, value in dataclasses.asdict(options).items():
        if value and name not in ("command_line", "renumbered"):
            raise InvalidInputError(f"{name} is for tables (.csv, .parquet), but {path} is none; leave it out.")


_Write = Callable[[Demonstrations], bytes]
_Read = Callable[[bytes, str, TableOptions], tuple[Demonstrations, str]]
_FORMATS: dict[str, tuple[_Write, _Read]] = {
    ".npz": (_npz_bytes, _read_npz),
    ".jsonl": (_jsonl_bytes, _read_jsonl),
    ".csv": (lambda demonstrations: csv_text(demonstrations).encode(), read_csv),
    ".parquet": (parquet_bytes, read_parquet),
}


def _format(path: Path) -> tuple[_Write, _Read]:
    if path.suffix not in _FORMATS:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}, which names no known format; choose one of {', '.join(_FORMATS)}."
        )
    return _FORMATS[path.suffix]
