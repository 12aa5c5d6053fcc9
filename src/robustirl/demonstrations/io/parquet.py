"""Read and write the table of `tables.py` as Parquet. The only file that imports pyarrow, and only if it is called.

Columns are int64, `terminated` is boolean, and empty cells are null. The metadata of the file carry
`robustirl.schema`, `robustirl.has_actions` and, if there are any, `robustirl.names`; files made elsewhere need not have
them.
"""

import io
import json
from typing import Any

import numpy as np

from robustirl._runtime import excess, one_line, require_memory, unique_fields
from robustirl.demonstrations.io.csv_files import require_names
from robustirl.demonstrations.io.frames import read_columns
from robustirl.demonstrations.io.parquet_pages import pages_bytes, read_columns_of
from robustirl.demonstrations.io.table_options import TableOptions
from robustirl.demonstrations.io.tables import Source, find_columns, table
from robustirl.demonstrations.io.versions import SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

CELL_BYTES = 60  # A cell, from the column of the file to the column of Python's values.
REMEDY = "split the file, or use a machine with more"


def parquet_bytes(demonstrations: Demonstrations) -> bytes:
    """Return the table as a Parquet file."""
    pyarrow, parquet = _pyarrow()
    arrays = {
        name: pyarrow.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column))
        for name, column in table(demonstrations).items()
    }
    metadata = {
        "robustirl.schema": str(SCHEMA),
        "robustirl.has_actions": str(demonstrations.has_actions).lower(),
    }
    names = {key: value for key, value in demonstrations.names.items() if value is not None}
    if names:
        metadata["robustirl.names"] = json.dumps(names)
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays).replace_schema_metadata(metadata), buffer)
    return buffer.getvalue()


def read_parquet(content: bytes, path: str, options: TableOptions) -> tuple[Demonstrations, str]:
    """Return the demonstrations of a Parquet file, and a line that says what was understood."""
    options.require_no_separator(path)
    pyarrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        found = file.schema_arrow
        chosen = find_columns(path, found.names, options)
        parts = [part for part in read_columns_of(content) if part.name in chosen.values()]
        # Of a column of lists, their values.
        cells = max(sum(max(part.values, part.rows) for part in parts), file.metadata.num_rows * len(chosen))
        require_memory(float(CELL_BYTES) * cells, f"the table of {path}", REMEDY)
        if reason := excess(pages_bytes(content, parts)):
            raise MemoryError(f"unpacked, its columns would hold {reason}")
        # Words stay in a dictionary, each once, until it is known what they take.
        words = [name for name in chosen.values() if pyarrow.types.is_string(found.field(name).type)]
        file = parquet.ParquetFile(io.BytesIO(content), read_dictionary=words)
        data = file.read(columns=list(chosen.values()))
        data.validate(full=True)
    except MemoryError as error:  # Before the others: pyarrow's is both.
        raise InvalidInputError(f"{path} does not fit into memory ({one_line(error)}); {REMEDY}.") from None
    except InvalidInputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(f"{path} is damaged or not a Parquet file ({one_line(error)}).") from None
    needed = float(CELL_BYTES) * data.num_rows * data.num_columns + sum(map(_letters, data.columns))
    require_memory(needed, f"the table of {path}", REMEDY)
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace") for key, value in (found.metadata or {}).items()
    }
    has_actions, names = None, {}
    if (version := metadata.get("robustirl.schema")) is not None:
        require_schema(path, int(version) if version.isdecimal() and len(version) < 19 else version)
        has_actions = metadata.get("robustirl.has_actions") == "true"
        names = _names(metadata.get("robustirl.names", "{}"), path)
    source = Source(path, lambda i: f"row {i} of {path}", has_actions, saved=version is not None, names=names)
    return read_columns(data, options, source)


def _letters(column: Any) -> int:
    """Return the bytes of the words of a dictionary column, each as often as it occurs."""
    import pyarrow
    from pyarrow.compute import call_function

    count = 0
    for chunk in column.chunks if hasattr(column.type, "index_type") else ():
        kind = chunk.dictionary.type
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            lengths = call_function("binary_length", [chunk.dictionary]).cast(pyarrow.int64())
            count += call_function("sum", [lengths.take(chunk.indices)]).as_py() or 0
    return count


def _names(text: str, path: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the names in the metadata of {path} are damaged ({one_line(error)}).") from None
    return require_names(found, f"the metadata of {path}")


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInputError(
            "Parquet files need pyarrow, which is not installed; run `pip install pyarrow`,"
            " or choose .npz, .jsonl or .csv."
        ) from None
    return pyarrow, pyarrow.parquet
