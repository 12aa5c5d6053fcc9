"""Folders of imitation's trajectories that are small, and would not be in memory."""

import json

import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.io.imitation import DATA, STATE, read_imitation_folder, write_imitation_folder

pyarrow = pytest.importorskip("pyarrow")
WHOLE = pyarrow.list_(pyarrow.int64())


def folder_of(folder, **changes):
    columns = {
        "obs": pyarrow.array([[0, 1]], WHOLE),
        "acts": pyarrow.array([[1]], WHOLE),
        "terminal": pyarrow.array([True]),
    } | changes
    table = pyarrow.table(columns)
    with pyarrow.OSFile(str(folder / DATA), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (folder / STATE).write_text(json.dumps({"_data_files": [{"filename": DATA}]}))
    return folder


def test_a_folder_is_read(tmp_path):
    assert read_imitation_folder(folder_of(tmp_path))[0].states.tolist() == [0, 1]


def test_columns_of_nulls_are_refused_before_they_are_unpacked(tmp_path, refused):
    many = pyarrow.nulls(2 * 10**9)
    folder_of(tmp_path, obs=many, acts=many, terminal=many)
    assert (tmp_path / DATA).stat().st_size < 1000
    with refused("the column 'obs' of", "has the Arrow type 'null'", "save the trajectories"):
        read_imitation_folder(tmp_path)


def test_columns_of_runs_and_lists_of_nulls_are_refused(tmp_path, refused):
    runs = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([1], pyarrow.int32()), pyarrow.array([True]))
    with refused("the column 'terminal' of", "has the Arrow type 'run_end_encoded"):
        read_imitation_folder(folder_of(tmp_path, terminal=runs))
    with refused("the column 'acts' of", "has the Arrow type 'list<item: null>'"):
        read_imitation_folder(folder_of(tmp_path, acts=pyarrow.array([[None]])))


def test_empty_lists_take_no_room_in_the_file_but_in_memory(tmp_path, monkeypatch, refused):
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 2**34)
    rows = 2 * 10**9  # Of lists of length zero.
    empty = pyarrow.FixedSizeListArray.from_buffers(
        pyarrow.list_(pyarrow.int64(), 0), rows, [None], children=[pyarrow.array([], pyarrow.int64())]
    )
    columns = {"obs": empty, "acts": empty}
    table = pyarrow.table(columns).append_column("terminal", empty)
    folder_of(tmp_path, **{name: table.column(name) for name in table.column_names})
    with refused("the trajectories of", "needs about", "GiB"):
        read_imitation_folder(tmp_path)


def test_trajectories_beyond_memory_are_refused(tmp_path, monkeypatch, refused):
    walks = Demonstrations.from_arrays([[0] * 1000], [[1] * 999], terminated=True)
    write_imitation_folder(walks, tmp_path / "walks")
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 150_000)
    with refused("the trajectories of", "needs about", "save fewer"):
        read_imitation_folder(tmp_path / "walks")


def test_lists_that_lead_outside_their_values_are_refused(tmp_path, refused):
    offsets, values = pyarrow.array([0, 10**6, 2], pyarrow.int32()), pyarrow.array([1, 2], pyarrow.int64())
    wild = pyarrow.Array.from_buffers(WHOLE, 2, [None, offsets.buffers()[1]], children=[values])
    folder_of(tmp_path, obs=wild, acts=pyarrow.array([[1], [1]], WHOLE), terminal=pyarrow.array([True, True]))
    with refused("is damaged", "save the trajectories anew"):
        read_imitation_folder(tmp_path)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([DATA, DATA], "more than once"),
        ([".."], "names the file '..', which is not one in its folder"),
        ([""], "names the file '', which is not one in its folder"),
        (["\ud800.arrow"], "cannot be read ([Errno 22] its name holds a character that no name here can have)"),
    ],
)
def test_a_note_names_files_of_its_folder_once(tmp_path, refused, names, says):
    folder_of(tmp_path)
    (tmp_path / STATE).write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    with refused(says):
        read_imitation_folder(tmp_path)
