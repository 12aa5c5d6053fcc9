"""The results as tables: `results.csv` and `results.parquet`, one row a run."""

import csv
import dataclasses
import io
from collections.abc import Sequence

from robustirl.experiments.specs import Record, RunSpec
from robustirl.experiments.store import configuration

SPEC_COLUMNS = tuple(field.name for field in dataclasses.fields(RunSpec))
# The record's own, under the names they have had from the start where those differ.
_RENAMED = {"total_return": "return", "steps": "steps_taken"}
OUTCOMES = tuple(field.name for field in dataclasses.fields(Record) if field.name != "spec")
CONFIGURATION = ("robustirl", "jax", "dtype", "device")  # The whole of it stands in store.json and in every batch.
COLUMNS = (*SPEC_COLUMNS, *(_RENAMED.get(name, name) for name in OUTCOMES), *CONFIGURATION)
TIME_COLUMNS = ("seconds",)


def row(record: Record) -> dict[str, object]:
    """A record as one flat row."""
    outcomes = {_RENAMED.get(name, name): getattr(record, name) for name in OUTCOMES}
    here = configuration()
    return {**dataclasses.asdict(record.spec), **outcomes, **{name: here[name] for name in CONFIGURATION}}


def results_csv(records: Sequence[Record]) -> str:
    """The table as text: numbers in full precision, nothing where there is nothing."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in records:
        entries = row(record)
        entries["seconds"] = f"{record.seconds:.6f}"
        writer.writerow({name: repr(value) if isinstance(value, float) else value for name, value in entries.items()})
    return buffer.getvalue()


def results_parquet(records: Sequence[Record]) -> bytes:
    """The table as the bytes of a Parquet file."""
    import pyarrow  # Here, so that only a table loads it.
    import pyarrow.parquet

    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    fields = {field.name: field.type for field in (*dataclasses.fields(RunSpec), *dataclasses.fields(Record))}
    fields |= dict.fromkeys(CONFIGURATION, str)
    origin = {_RENAMED.get(name, name): name for name in OUTCOMES}
    rows = [row(record) for record in records]
    columns = {name: [entry[name] for entry in rows] for name in COLUMNS}
    schema = pyarrow.schema(
        [
            (name, next(kind for python, kind in kinds.items() if _has(fields[origin.get(name, name)], python)))
            for name in COLUMNS
        ]
    )
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), buffer)
    return buffer.getvalue()


def _has(annotation: object, python: type) -> bool:
    return annotation is python or python in getattr(annotation, "__args__", ())
