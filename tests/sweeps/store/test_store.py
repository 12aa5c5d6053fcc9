"""The store: what is finished is kept, whatever happens, and never mixed with anything else."""

import numpy as np
import pytest

from robustirl._runtime import write_atomically
from robustirl.sweeps import Store
from robustirl.sweeps.store.packing import pack_store
from tests.sweeps.store.stores import SPECS, contents, reopened, result, store

__all__ = ["store"]  # A fixture.


def test_what_is_appended_comes_back_exactly(store):
    store.append([result(SPECS[2], 0.1 + 0.2), result(SPECS[0], -1e300)])
    again = reopened(store)
    assert [record.spec for record in again.records()] == [SPECS[0], SPECS[2]]
    assert again.records()[1] == result(SPECS[2], 0.1 + 0.2).record
    assert SPECS[2] in again
    assert SPECS[1] not in again
    found = again.result(SPECS[2])
    assert np.array_equal(found.arrays["reward"], np.arange(3.0) * (0.1 + 0.2))
    assert found.record == result(SPECS[2], 0.1 + 0.2).record
    assert Store.read(store.folder).records() == again.records()


def test_litter_of_a_killed_write_is_ignored_and_swept_up_by_the_next_command(store):
    store.append([result(SPECS[0])])
    (batch,) = store.batches.iterdir()
    litter, other = store.batches / f".{batch.name}.123", store.batches / ".mine.npz.123"
    for path in (litter, other):
        path.write_bytes(b"PK")
    assert len(Store.read(store.folder)) == 1
    assert litter.exists()  # Readers touch nothing.
    assert len(reopened(store)) == 1
    assert sorted(store.batches.iterdir()) == sorted([batch, other])


@pytest.mark.parametrize("name", ["batches", "quarantine"])
def test_folders_that_are_links_are_refused_and_where_they_lead_nothing_changes(store, tmp_path, refused, name):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "mine.npz").write_bytes(b"not a batch")
    if name == "batches":
        store.batches.rmdir()
    else:
        (store.batches / f"{'0' * 20}.npz").write_bytes(b"damaged")
    (store.folder / name).symlink_to(theirs)
    before = contents(tmp_path)
    with refused(f"{name} is a link, but files in it may be moved; put the folder itself in its place"):
        reopened(store)
    with refused(f"{name} is a link"):
        Store.read(store.folder)
    with refused(f"{name} is a link"):
        pack_store(store.folder, tmp_path / "packed.npz")
    assert contents(tmp_path) == before


def test_a_store_behind_a_link_is_opened(store, tmp_path):
    store.append([result(SPECS[0])])
    (tmp_path / "link").symlink_to(store.folder)
    assert len(Store.read(tmp_path / "link")) == 1
    with Store.open(tmp_path / "link", SPECS) as opened:
        assert len(opened) == 1


def test_a_folder_with_other_things_is_left_alone(tmp_path, refused):
    (tmp_path / "thesis.txt").write_text("mine")
    with refused("holds files but no store"), Store.open(tmp_path, SPECS):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_there_is_nothing_to_read_where_there_is_no_store(tmp_path, refused):
    with refused("there is no store in"):
        Store.read(tmp_path)


@pytest.mark.parametrize("left", [["batches"], ["batches", ".lock"], [".store.json.123", ".lock"], []])
def test_a_command_killed_while_it_made_its_store_starts_over(tmp_path, left):
    for name in left:
        if name == "batches":
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_text("")
    with Store.open(tmp_path, SPECS) as opened:
        opened.append([result(SPECS[0])])
    assert len(Store.read(tmp_path)) == 1


def test_one_command_at_a_time(store, refused):
    with Store.open(store.folder, SPECS), refused("another command is working in"):
        reopened(store)
    reopened(store)


def test_a_full_disk_keeps_what_was_there(store, monkeypatch, refused):
    store.append([result(SPECS[0])])
    before = contents(store.folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    with refused("No space left on device", "what is finished is kept"), Store.open(store.folder, SPECS) as opened:
        monkeypatch.setattr("os.fsync", full)
        opened.append([result(SPECS[1])])
    assert contents(store.folder) == before


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "table.csv"
    write_atomically(path, "old")
    with pytest.raises(TypeError):
        write_atomically(path, 3)  # pyright: ignore[reportArgumentType]
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_method_of_version_0_1_says_its_new_name(store):
    store.append([result(SPECS[0])])
    with pytest.warns(DeprecationWarning, match=r"Store\.result"):
        found = store.finding(SPECS[0])
    assert found.record == store.result(SPECS[0]).record
