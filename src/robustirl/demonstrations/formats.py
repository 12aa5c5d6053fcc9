"""Read and write files of demonstrations: `save` and `load` by suffix, exact in both directions.

    .npz       NumPy arrays `states`, `lengths`, and what is known of `actions`, `final_actions`, `terminated`,
               `state_names`, `action_names`; read are those of imitation and stable-baselines too (`others.py`)
    .jsonl     a header, then one JSON object per episode with `states`, `actions`, `terminated`
    .csv       one row per state (see `tables.py`), under comments that hold the number of rows and names
    .parquet   the same table

No format runs code when it is read. A file is replaced whole or left as it was.
"""

import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._check import as_path, one_line, short_repr
from robustirl._files import read_regular, require_new_file, write_atomically
from robustirl.demonstrations.episodes import NO_EPISODES, Demonstrations, require_demonstrations
from robustirl.demonstrations.others import (
    arrays_of_others,
    from_minari,
    read_imitation_folder,
    require_new_dataset,
    to_minari,
    write_imitation_folder,
)
from robustirl.demonstrations.tables import Names, TableOptions, pandas_module, read_table, table_of
from robustirl.errors import InvalidInputError

NAME = "robustirl.demonstrations"
MINARI = "minari:"  # What a path begins with that is the id of a Minari dataset.
IMITATION = "imitation:"  # What a path begins with that is a folder of imitation's trajectories.
SEPARATORS = ",;\t|"
ARRAYS = ("states", "actions", "lengths", "terminated", "final_actions", "state_names", "action_names")
_COMMENT = re.compile(rf"# {re.escape(NAME)} schema=1 rows=(\d+) actions=(true|false)")
_log = logging.getLogger("robustirl")


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
    elif str(path).startswith(IMITATION):
        write_imitation_folder(demonstrations, _folder(path))
    else:
        path = as_path(path)
        content = _format(path)[0](demonstrations)
        try:
            write_atomically(path, content)
        except OSError as error:
            raise InvalidInputError(
                f"{path} cannot be written ({error.strerror}); choose a place in an existing folder that may be"
                " written to."
            ) from None


def require_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `save` would refuse, before what is to be saved is made.

    Example:
        >>> require_place("walks.txt")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: walks.txt has the suffix '.txt', which names no known format; choose one of
        .npz, .jsonl, .csv, .parquet.
    """
    if str(path).startswith(MINARI):
        require_new_dataset(str(path).removeprefix(MINARI))
    elif not str(path).startswith(IMITATION):
        _format(as_path(path))
        require_new_file(as_path(path))


def load(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    state_names: Names = None,
    action_names: Names = None,
) -> Demonstrations:
    r"""Read what `save` wrote, or a table made elsewhere.

    The log says in one line what was understood. A table with an action in every row, as logs of decisions are, is read
    as it is; the action in the last row of an episode is then a final action, whose outcome was not recorded.

    Args:
        path: The file: .npz, .jsonl, .csv (.tsv) or .parquet; the other arguments are for the last two. Or a folder
            that imitation saved, or `minari:ID` for a dataset of Minari on this machine.
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`. Ours are `episode`,
            `state`, and if there are any `step`, `action`, `terminated`.
        state_names: The name of each state in order, or a number for each name. If omitted, a column of names is
            numbered in alphabetical order, and the result has them as `state_names`.
        action_names: The same for actions.

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
    result, understood = load_with_note(path, TableOptions(columns, state_names, action_names))
    _log.info(understood)
    return result


def load_with_note(path: str | os.PathLike[str], options: TableOptions = TableOptions()) -> tuple[Demonstrations, str]:
    """Return what `load` reads, and the line that says what was understood."""
    if str(path).startswith(MINARI):
        options.require_none(str(path))
        result = from_minari(str(path).removeprefix(MINARI))
        return result, f"{path}: {result.describe()}"
    path = _folder(path) if str(path).startswith(IMITATION) else as_path(path)
    if path.is_dir():
        options.require_none(str(path))
        result = read_imitation_folder(path)
        return result, f"{path}: {result.describe()}"
    read = _read_csv if path.suffix == ".tsv" else _format(path)[1]  # Tab-separated files of others are only read.
    try:
        content = read_regular(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); give the path of a file.") from None
    if not content:
        raise InvalidInputError(f"{path} is empty; write it anew with save().")
    try:
        return read(content, str(path), options)
    except InvalidInputError as error:
        raise error if str(path) in str(error) else InvalidInputError(f"{path}: {error}") from None


def _folder(path: str | os.PathLike[str]) -> Path:
    name = str(path).removeprefix(IMITATION)
    if not name.strip():
        raise InvalidInputError(f"{str(path)!r} names no folder; give one, as {IMITATION}walks.")
    return Path(name)


def _npz_bytes(demonstrations: Demonstrations) -> bytes:
    arrays = {name: getattr(demonstrations, name) for name in ARRAYS}
    if not demonstrations.ends_known:
        del arrays["terminated"]
    buffer = io.BytesIO()
    plain: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    np.savez_compressed(buffer, **plain)
    return buffer.getvalue()


def _read_npz(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    options.require_none(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            names = set(file.files)
            if {"states", "lengths"} <= names:
                held = {name: file[name] for name in ARRAYS if name in names}
                for name in ("state_names", "action_names"):
                    held[name] = held[name].tolist() if name in held else None
                result = Demonstrations(held.pop("states"), held.pop("actions", None), **held)
            else:
                result = arrays_of_others(file)
    except InvalidInputError:
        raise
    except Exception as error:  # Damaged archives and array headers raise nearly anything.
        raise InvalidInputError(f"{path} is damaged or not an .npz file of plain arrays ({one_line(error)}).") from None
    return result, f"{path}: {result.describe()}"


def _jsonl_bytes(demonstrations: Demonstrations) -> bytes:
    header: dict[str, Any] = {
        "format": NAME,
        "schema": 1,
        "episodes": len(demonstrations),
        "has_actions": demonstrations.has_actions,
        "ends_known": demonstrations.ends_known,
    }
    header |= {name: words for name, words in demonstrations.names.items() if words is not None}
    lines = [json.dumps(header)]
    final = demonstrations.final_actions
    for e, (states, actions, terminated) in enumerate(demonstrations):
        line: dict[str, object] = {"states": states.tolist()}
        if actions is not None:
            line["actions"] = actions.tolist() + ([] if final is None or final[e] < 0 else [int(final[e])])
        lines.append(json.dumps(line | ({"terminated": terminated} if demonstrations.ends_known else {})))
    return ("\n".join(lines) + "\n").encode()


def _read_jsonl(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    options.require_none(path)
    try:
        # Editors begin a file with a byte-order mark. Lines end at \n alone: a name may hold other separators.
        lines = [json.loads(line) for line in content.decode("utf-8-sig").split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} is no file of lines of JSON ({one_line(error)}); write it anew.") from None
    for number, line in enumerate(lines):
        if not isinstance(line, dict) or not ("states" in line or (number == 0 and line.get("format") == NAME)):
            raise InvalidInputError(f"line {number + 1} of {path} is {short_repr(line)}, but an object with states.")
    header = lines.pop(0) if lines and "states" not in lines[0] else {}
    if header.get("episodes", len(lines)) != len(lines):
        raise InvalidInputError(
            f"{path} has {len(lines)} episodes, but its header says {header['episodes']}; it was cut off."
        )
    if not lines:
        raise InvalidInputError(f"{path}: {NO_EPISODES}")
    parts = {name: [line.get(name) for line in lines] for name in ("states", "actions", "terminated")}
    for name in ("actions", "terminated"):
        missing = [value is None for value in parts[name]]
        if any(missing) and not all(missing):
            raise InvalidInputError(
                f"episode {missing.index(True)} of {path} has no {name}, but others have; give them for all or none."
            )
    actions, ends = (None if parts[name][0] is None else parts[name] for name in ("actions", "terminated"))
    result = Demonstrations.from_arrays(parts["states"], actions, terminated=ends)
    result = result.replace(**{name: header.get(name) for name in ("state_names", "action_names")})
    return result, f"{path}: {result.describe()}"


def _csv_bytes(demonstrations: Demonstrations) -> bytes:
    has_actions = str(demonstrations.has_actions).lower()
    head = f"# {NAME} schema=1 rows={demonstrations.states.size} actions={has_actions}\n"
    names = {name: words for name, words in demonstrations.names.items() if words is not None}
    if names:
        head += f"# robustirl.names {json.dumps(names, ensure_ascii=False)}\n"
    table = table_of(demonstrations)
    words = {True: "true", False: "false"}
    table["terminated"] = table["terminated"].astype(object).map(words.get)
    return (head + table.to_csv(index=False, lineterminator="\n")).encode()


def _read_csv(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    library = pandas_module()
    comments, start = [], 0
    while content[start:].lstrip(b'\xef\xbb\xbf"').startswith(b"#"):
        end = content.find(b"\n", start) + 1 or len(content)
        comments.append(content[start:end].decode("utf-8-sig", errors="replace").strip())
        start = end
    header = content[start : content.find(b"\n", start)].decode("utf-8-sig", errors="replace")
    separator = max(SEPARATORS, key=header.count)
    try:
        frame = library.read_csv(
            io.BytesIO(content[start:]),
            sep=separator,
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values=[""],
            skipinitialspace=True,
            index_col=False,
        )
    except Exception as error:  # What pandas raises is as varied as files are.
        raise InvalidInputError(f"{path} is no table of text in UTF-8 ({one_line(error)}); correct the file.") from None
    frame = frame.rename(columns=lambda name: str(name).strip()).dropna(how="all")
    told = next((found for found in map(_COMMENT.match, comments) if found), None)
    if told and int(told[1]) != len(frame):
        raise InvalidInputError(f"{path} has {len(frame)} rows, but line 1 says {told[1]}; it was cut off.")
    words = [line.removeprefix("# robustirl.names ") for line in comments if line.startswith("# robustirl.names ")]
    return read_table(
        frame, path, options, has_actions=None if told is None else told[2] == "true", names=_names(words, path)
    )


def _parquet_bytes(demonstrations: Demonstrations) -> bytes:
    pandas_module()
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(table_of(demonstrations), preserve_index=False)
    names = {name: words for name, words in demonstrations.names.items() if words is not None}
    notes = {"robustirl.has_actions": str(demonstrations.has_actions).lower(), "robustirl.names": json.dumps(names)}
    buffer = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **notes}), buffer)
    return buffer.getvalue()


def _read_parquet(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    pandas_module()
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(content))
        frame, notes = table.to_pandas(), dict(table.schema.metadata or {})
    except Exception as error:  # pyarrow has many errors of its own.
        raise InvalidInputError(f"{path} is damaged or not a Parquet file ({one_line(error)}).") from None
    told = notes.get(b"robustirl.has_actions")
    words = [notes[b"robustirl.names"].decode(errors="replace")] if b"robustirl.names" in notes else []
    return read_table(
        frame, path, options, has_actions=None if told is None else told == b"true", names=_names(words, path)
    )


def _names(found: Iterable[str], path: str) -> dict[str, Any]:
    """Return the names that a file holds beside its table."""
    result: dict[str, Any] = {}
    for text in found:
        try:
            result |= json.loads(text)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"the names in {path} are damaged ({one_line(error)}); leave them out.") from None
    return result


_FORMATS: dict[str, tuple[Callable, Callable]] = {
    ".npz": (_npz_bytes, _read_npz),
    ".jsonl": (_jsonl_bytes, _read_jsonl),
    ".csv": (_csv_bytes, _read_csv),
    ".parquet": (_parquet_bytes, _read_parquet),
}


def _format(path: Path) -> tuple[Callable, Callable]:
    if path.suffix not in _FORMATS:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}, which names no known format; choose one of {', '.join(_FORMATS)}."
        )
    return _FORMATS[path.suffix]
