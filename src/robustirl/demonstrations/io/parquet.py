"""The table of `tables.py` as Parquet. The one file that imports pyarrow, and only when it is called.

Columns are int64, `terminated` is boolean, and empty cells are null. The metadata of the file carry
`robustirl.schema` and `robustirl.has_actions`; files made elsewhere need not have them.
"""

import io

import numpy as np

from robustirl._runtime import in_brief
from robustirl.demonstrations.io.tables import COLUMNS, from_table, require_columns, table
from robustirl.demonstrations.io.versions import SCHEMA, require_schema
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def parquet_bytes(demonstrations: Demonstrations) -> bytes:
    """The table as a Parquet file."""
    pyarrow, parquet = _pyarrow()
    arrays = {
        name: pyarrow.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column))
        for name, column in table(demonstrations).items()
    }
    metadata = {
        "robustirl.schema": str(SCHEMA),
        "robustirl.has_actions": str(demonstrations.has_actions).lower(),
    }
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays).replace_schema_metadata(metadata), buffer)
    return buffer.getvalue()


def read_parquet(content: bytes, path: str) -> Demonstrations:
    """Demonstrations from a Parquet file with these columns, in any order; others are ignored."""
    pyarrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        found = file.schema_arrow
        require_columns(path, found.names)
        data = file.read(columns=[name for name in COLUMNS if name in found.names])
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is damaged or not a Parquet file ({in_brief(error)}).") from None
    metadata = {
        key.decode(errors="replace"): value.decode(errors="replace") for key, value in (found.metadata or {}).items()
    }
    has_actions = None
    if (version := metadata.get("robustirl.schema")) is not None:
        require_schema(path, int(version) if version.isdecimal() and len(version) < 19 else version)
        has_actions = metadata.get("robustirl.has_actions") == "true"
    if data.num_rows == 0:
        raise InvalidInputError(f"{path} has no rows; there must be at least one episode.")

    def row(i: int) -> str:
        return f"row {i} of {path}"

    columns = {}
    for name in data.column_names:
        kind, column = found.field(name).type, data.column(name).combine_chunks()
        wanted = pyarrow.types.is_boolean if name == "terminated" else pyarrow.types.is_integer
        if not wanted(kind) and not (pyarrow.types.is_null(kind) and name == "action"):
            noun = "true and false" if name == "terminated" else "whole numbers"
            raise InvalidInputError(f"the column {name!r} of {path} holds {kind}, but {noun} are needed; convert it.")
        hollow = column.is_null().to_numpy(zero_copy_only=False)
        fill = False if name == "terminated" else 0
        if pyarrow.types.is_null(kind):
            values = np.zeros(len(column), dtype=np.int64)
        else:
            values = column.fill_null(fill).to_numpy(zero_copy_only=False)
        if name != "terminated" and (values < 0).any():
            i = int(np.argmax(values < 0))
            raise InvalidInputError(
                f"the column {name!r} holds {values[i]} in {row(i)}, but a whole number of at least 0 is needed."
            )
        columns[name] = np.ma.array(values if name == "terminated" else values.astype(np.int64), mask=hollow)
    return from_table(columns, path, row, has_actions)


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
