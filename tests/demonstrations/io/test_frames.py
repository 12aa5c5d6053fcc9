"""Frames are read as tables are, and what is no frame is refused."""

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, is_frame, load

TRIP = {"episode": "trip", "state": "link"}


LOG = {"trip": [7, 7, 9], "link": [3, 4, 3], "action": [1.0, float("nan"), None], "terminated": [None, True, False]}
WALKS = Demonstrations.from_arrays([[3, 4], [3]], [[1], []], terminated=[True, False])


@pytest.mark.parametrize("library", ["a mapping", "pyarrow", "pandas", "polars"])
def test_frames_are_read(library, refused):
    frame = LOG
    if library != "a mapping":
        module = pytest.importorskip(library)
        frame = module.table(LOG) if library == "pyarrow" else module.DataFrame(LOG)
    assert Demonstrations.from_frame(frame, columns=TRIP) == WALKS
    with refused("the frame has no column 'episode', only trip, link, action, terminated"):
        Demonstrations.from_frame(frame)


def test_what_is_no_frame_is_refused(refused):
    with refused("list was given"):
        Demonstrations.from_frame([1, 2])
    with refused("differ in length"):
        Demonstrations.from_frame({"episode": [0, 0], "state": [1]})
    with refused("no rows"):
        Demonstrations.from_frame({"episode": [], "state": []})
    with refused("'state' holds True in row 0"):
        Demonstrations.from_frame({"episode": [0], "state": [True]})


class Closed:
    def tolist(self):
        raise RuntimeError("closed.\nReally.")


@pytest.mark.parametrize("column", ["state", "step", "action", "terminated"])
@pytest.mark.parametrize(
    "cells",
    [
        *(np.array([1, 2], "M8[ns]"), np.array([1, 2], "m8[ns]"), list(np.array([1, 2], "m8[s]"))),
        *(list(np.array([1, 2], "M8[D]")), np.array([1j, 0]), [10**30, 0]),
    ],
    ids=["dates", "spans", "a list of spans", "a list of dates", "complex", "large"],
)
def test_dates_and_spans_are_no_numbers(column, cells, refused):
    rows = {"episode": [0, 0], "state": [0, 1]} | {column: cells}
    with refused(f"the column '{column}' holds", "in row 0 of the frame"):
        Demonstrations.from_frame(rows)


def test_values_that_cannot_be_read_are_refused(tmp_path, refused):
    with refused("the values of the column 'state' cannot be read (closed)"):
        Demonstrations.from_frame({"episode": [0], "state": Closed()})
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for times in (
        pyarrow.array([0], pyarrow.timestamp("s", tz="Nowhere/X")),
        pyarrow.array([10**15], pyarrow.timestamp("s")),
    ):
        table = pyarrow.table({"episode": [0], "state": [0], "time": times})
        parquet.write_table(table, tmp_path / "log.parquet")
        with refused("the values of the column 'time' cannot be read"):
            Demonstrations.from_frame(table, time_step=1.0)
        with refused("the values of the column 'time' cannot be read"):
            load(tmp_path / "log.parquet", time_step=1.0)


def test_frames_that_are_yet_to_be_computed(refused):
    polars = pytest.importorskip("polars")
    rows = {"episode": [0, 0], "state": ["3", "x"]}
    whole = polars.LazyFrame(rows).with_columns(polars.col("state").cast(polars.Int64))
    missing = polars.scan_csv("nowhere.csv")
    absent = polars.LazyFrame(rows).with_columns(polars.col("link"))
    for frame in (whole, missing, absent):
        assert is_frame(frame)
        with refused("the frame cannot be computed", "frame.collect()"):
            Demonstrations.from_frame(frame)
    assert Demonstrations.from_frame(polars.LazyFrame({"episode": [0, 0], "state": [3, 4]})).states.tolist() == [3, 4]


def test_nanoseconds_of_frames_are_kept():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    times = np.array([0, 100, 200], "M8[ns]")
    for frame in (
        pandas.DataFrame({"episode": [0] * 3, "state": [0, 1, 2], "time": times}),
        polars.DataFrame({"episode": [0] * 3, "state": [0, 1, 2], "time": times}),
    ):
        assert Demonstrations.from_frame(frame, time_step=1e-7).states.tolist() == [0, 1, 2]


def test_columns_are_named_by_words(refused):
    pandas = pytest.importorskip("pandas")
    with refused("the columns of the frame are named ('a', 'episode') and the like, but words are needed"):
        Demonstrations.from_frame(pandas.DataFrame({("a", "episode"): [0], ("a", "state"): [1]}))
    with refused("the columns of the frame are named 0 and the like"):
        Demonstrations.from_frame({0: [0], 1: [1]})


@pytest.mark.parametrize("library", ["a range", "pyarrow"])
def test_columns_that_take_nothing_until_they_are_read_are_refused(library, refused):
    if library == "pyarrow":
        pyarrow = pytest.importorskip("pyarrow")
        empty = pyarrow.Array.from_buffers(pyarrow.null(), 10**12, [None])
        frame = pyarrow.table({"episode": empty, "state": empty})
    else:
        frame = {"episode": range(10**12), "state": range(10**12)}
    with refused("the column 'episode' of 1000000000000 rows needs about", "of memory", "give fewer"):
        Demonstrations.from_frame(frame)
