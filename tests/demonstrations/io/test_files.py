"""Every format gives back what went in, and says what is wrong with what it cannot read."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations, load, reserved_place, save
from robustirl.demonstrations.io.files import _is_missing
from tests.demonstrations.strategies import demonstrations

SUFFIXES = (".npz", ".jsonl", ".csv", ".parquet")
WALKS = Demonstrations.from_arrays(
    [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], terminated=[True, False, False]
)


@pytest.fixture(params=SUFFIXES)
def suffix(request):
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return request.param


@given(demonstrations())
def test_every_format_gives_back_what_went_in(demos):
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            save(demos, f"{folder}/demos{suffix}")
            assert load(f"{folder}/demos{suffix}") == demos


@pytest.mark.parametrize("with_actions", [False, True])
def test_start_states_alone_remember_whether_there_were_actions(tmp_path, suffix, with_actions):
    demos = Demonstrations.from_arrays([[2], [7]], [[], []] if with_actions else None)
    save(demos, tmp_path / f"demos{suffix}")
    assert load(tmp_path / f"demos{suffix}") == demos


def test_the_largest_states_survive(tmp_path, suffix):
    demos = Demonstrations.from_arrays([[2**53 + 1, 0]], [[10**17 + 1]], terminated=True)
    save(demos, tmp_path / f"demos{suffix}")
    assert load(tmp_path / f"demos{suffix}") == demos


def test_the_same_demonstrations_give_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        save(WALKS, tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


def test_a_file_cut_off_anywhere_is_recognized(tmp_path, suffix, refused):
    whole, part = tmp_path / f"whole{suffix}", tmp_path / f"part{suffix}"
    save(WALKS, whole)
    content = whole.read_bytes()
    # The newline at the end of a text file carries nothing.
    last = len(content) - 1 - (suffix in (".jsonl", ".csv"))
    for size in {*range(0, last, max(1, last // 60)), *range(last - 12, last + 1)}:
        part.write_bytes(content[:size])
        with refused("part"):
            load(part)


def test_saving_leaves_one_file_and_replaces_it_whole(tmp_path, suffix, refused):
    path = tmp_path / f"demos{suffix}"
    save(WALKS, path)
    save(WALKS[:1], path)
    assert load(path) == WALKS[:1]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    (tmp_path / "taken.csv").mkdir()
    with refused("taken.csv", "cannot be written"):
        save(WALKS, tmp_path / "taken.csv")
    with refused("nowhere", "existing folder"):
        save(WALKS, tmp_path / "nowhere" / f"demos{suffix}")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, "taken.csv"])


def test_missing_empty_and_unknown_files_are_refused(tmp_path, suffix, refused):
    with refused("absent", "cannot be read"):
        load(tmp_path / f"absent{suffix}")
    (tmp_path / f"hollow{suffix}").write_bytes(b"")
    with refused("hollow", "is empty"):
        load(tmp_path / f"hollow{suffix}")
    with refused("there is no file or folder", ".npz, .jsonl, .csv, .parquet"):
        load(tmp_path / "demos")
    (tmp_path / "demos").write_bytes(b"1")
    for suffix in (".txt", "", ".NPZ"):
        with refused(repr(suffix), ".npz, .jsonl, .csv, .parquet"):
            load(tmp_path / f"demos{suffix}")


def test_noise_is_no_file_of_any_format(tmp_path, suffix, refused):
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(np.random.default_rng(0).bytes(2000))
    with refused("noise"):
        load(path)


def test_a_name_that_cannot_be_looked_up_is_not_missing(tmp_path):
    assert _is_missing(tmp_path / "nothing")
    assert not _is_missing(tmp_path)
    assert not _is_missing(Path("a\0b"))


def test_names_survive_and_long_versions_are_words(tmp_path, suffix, refused):
    named = Demonstrations(np.array([0, 1]), np.array([0]), np.array([2]), state_names=("A", "B"), action_names=("go",))
    save(named, tmp_path / f"named{suffix}")
    assert load(tmp_path / f"named{suffix}") == named
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(tmp_path / "named.parquet")
        for digits, said in ((18, f"schema {'1' * 18}"), (19, f"schema '{'1' * 19}'")):  # More may not be a number.
            changed = {**table.schema.metadata, b"robustirl.schema": b"1" * digits}
            parquet.write_table(table.replace_schema_metadata(changed), tmp_path / "late.parquet")
            with refused(said):
                load(tmp_path / "late.parquet")


def test_a_folder_of_imitation_has_a_name(tmp_path, monkeypatch, refused):
    """Without one it would be the folder where the command was called."""
    monkeypatch.chdir(tmp_path)
    for path in ("imitation:", "imitation: "):
        with refused(f"{path!r} names no folder"):
            save(WALKS, path)
        with refused(f"{path!r} names no folder"), reserved_place(path):
            pass
        with refused(f"{path!r} names no folder"):
            load(path)
    assert list(tmp_path.iterdir()) == []
