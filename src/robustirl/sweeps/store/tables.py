"""The results as tables: `results.csv` and `results.parquet`, one row a run."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

from robustirl.sweeps.configuration import configuration
from robustirl.sweeps.kinds import UNNAMED_KIND, Kind, get_kind, kind_of

CONFIGURATION = ("robustirl", "jax", "dtype", "device")  # The whole of it stands in store.json and in every batch.
TIME_COLUMNS = ("seconds",)


def columns(kind: Kind) -> dict[str, object]:
    """Return a kind's table columns and types: the spec's, the record's, the configuration's."""
    renamed = kind.renamed
    spec = {field.name: field.type for field in dataclasses.fields(kind.spec)}  # pyright: ignore[reportArgumentType]
    outcomes = {
        renamed.get(field.name, field.name): field.type
        for field in dataclasses.fields(kind.record)
        if field.name != "spec"
    }
    return {**spec, **outcomes, **dict.fromkeys(CONFIGURATION, str)}


def row(record: Any, made_under: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return a record as a flat row; its configuration is the present one unless one is given."""
    renamed = kind_of(record.spec).renamed
    outcomes = {
        renamed.get(field.name, field.name): getattr(record, field.name)
        for field in dataclasses.fields(record)
        if field.name != "spec"
    }
    here = configuration() if made_under is None else made_under
    return {**dataclasses.asdict(record.spec), **outcomes, **{name: here[name] for name in CONFIGURATION}}


def results_csv(records: Sequence[Any], made_under: Mapping[str, str] | None = None) -> str:
    """Return the table of records of one kind as text, numbers in full precision.

    What is missing is left empty.
    """
    buffer = io.StringIO()
    kind = kind_of(records[0].spec) if records else get_kind(UNNAMED_KIND)
    writer = csv.DictWriter(buffer, columns(kind), lineterminator="\n")
    writer.writeheader()
    for record in records:
        entries = row(record, made_under)
        entries["seconds"] = f"{record.seconds:.6f}"
        writer.writerow({name: repr(value) if isinstance(value, float) else value for name, value in entries.items()})
    return buffer.getvalue()


def results_parquet(records: Sequence[Any], made_under: Mapping[str, str] | None = None) -> bytes:
    """Return the table of records of one kind as the bytes of a Parquet file."""
    import pyarrow  # Here, so that only a table loads it.
    import pyarrow.parquet

    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    types = columns(kind_of(records[0].spec))
    rows = [row(record, made_under) for record in records]
    schema = pyarrow.schema(
        [(name, next(kind for python, kind in kinds.items() if _has(found, python))) for name, found in types.items()]
    )
    buffer = io.BytesIO()
    values = {name: [entry[name] for entry in rows] for name in types}
    pyarrow.parquet.write_table(pyarrow.table(values, schema=schema), buffer)
    return buffer.getvalue()


def _has(annotation: object, python: type) -> bool:
    return annotation is python or python in getattr(annotation, "__args__", ())
