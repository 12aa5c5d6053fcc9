"""Parquet files made elsewhere, and machines without pyarrow."""

import sys
from pathlib import Path

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load, save

WALKS = Demonstrations.from_arrays(
    [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], terminated=[True, False, False]
)


def test_parquet_files_made_elsewhere_are_read_and_their_faults_named(tmp_path, refused):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "demos.parquet"

    def write(metadata=None, **changes):
        columns = {
            "state": pyarrow.array([3, 4, 5], pyarrow.int32()),
            "episode": pyarrow.array([0, 0, 1], pyarrow.uint8()),
            "step": [0, 1, 0],
            "action": [1, None, None],
            "terminated": [None, True, False],
        } | changes
        table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
        parquet.write_table(table.replace_schema_metadata(metadata), path)
        return path

    expected = Demonstrations.from_arrays([[3, 4], [5]], [[1], []], terminated=[True, False])
    assert load(write()) == expected
    assert load(write(action=None)) == expected.without_actions()
    assert load(write(action=pyarrow.nulls(3))) == expected.without_actions()
    for changes, culprits in (
        ({"state": None}, ["no column 'state'"]),
        ({"state": [3, None, 5]}, ["'state'", "row 1", "empty"]),
        ({"state": [3.0, 4.0, float("nan")]}, ["'state'", "row 2", "empty"]),
        ({"state": [3.0, 4.5, 5.0]}, ["'state'", "row 1", "4.5"]),
        ({"state": [3, -4, 5]}, ["'state'", "row 1", "-4"]),
        ({"step": [0, 2, 0]}, ["row 1", "step 2", "step 1 is due"]),
        ({"episode": [0, 0, 0]}, ["row 2"]),
        ({"terminated": [None, 2, 0]}, ["'terminated'", "row 1", "2"]),
        ({"terminated": [None, True, None]}, ["'terminated'", "row 2", "says nothing"]),
        ({"action": [None, 1, None]}, ["'action'", "row 0", "empty"]),
        ({"metadata": {"robustirl.schema": "2"}}, ["schema 2", "upgrade"]),
        ({"metadata": {"robustirl.schema": "x"}}, ["schema 'x'"]),
        ({"metadata": {"robustirl.schema": "1", "robustirl.has_actions": "false"}}, ["'action'", "filled"]),
    ):
        with refused("demos.parquet", *culprits):
            load(write(**changes))
    empty = pyarrow.table({name: pyarrow.array([], pyarrow.int64()) for name in ("episode", "step", "state")})
    parquet.write_table(empty.append_column("terminated", pyarrow.array([], pyarrow.bool_())), path)
    with refused("no rows"):
        load(path)


def test_a_machine_without_pyarrow_is_told_what_to_install(tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused("pyarrow", "pip install pyarrow"):
        save(WALKS, tmp_path / "demos.parquet")
    assert list(Path(tmp_path).iterdir()) == []


def test_a_small_file_of_more_rows_than_memory_holds_is_refused_before_it_is_read(tmp_path, monkeypatch, refused):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    zeros = np.zeros(10**5, dtype=np.int64)
    table = pyarrow.table({"episode": zeros, "step": zeros, "state": zeros, "other": zeros})
    parquet.write_table(table, tmp_path / "demos.parquet")
    read = []
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_, **__: read.append(1))
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 60 * 3 * 10**5 - 1)
    with refused("the table of", "demos.parquet needs about", "split the file"):
        load(tmp_path / "demos.parquet")
    assert not read


def test_a_file_that_runs_out_of_memory_is_not_called_damaged(tmp_path, monkeypatch, refused):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    save(WALKS, tmp_path / "demos.parquet")

    def full(*_, **__):
        raise pyarrow.ArrowMemoryError("malloc of size 99 failed")

    monkeypatch.setattr(parquet.ParquetFile, "read", full)
    with refused("demos.parquet does not fit into memory (malloc of size 99 failed); split"):
        load(tmp_path / "demos.parquet")


def test_a_long_word_counts_as_often_as_it_occurs(tmp_path, monkeypatch, refused):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"episode": [0] * 100, "step": list(range(100)), "state": ["x" * 10**4] * 100})
    parquet.write_table(table, tmp_path / "demos.parquet")
    assert len(load(tmp_path / "demos.parquet").states) == 100
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 10**6)
    with refused("the table of", "demos.parquet needs about", "split the file"):
        load(tmp_path / "demos.parquet")
