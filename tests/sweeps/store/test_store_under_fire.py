"""Damage, full and read-only disks, two commands at once, older schemas: never a silent loss, never a crash on read."""

import contextlib
import errno
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from robustirl.cli import main
from robustirl.cli.console import run_with_progress
from robustirl.errors import DamagedStoreWarning, InvalidInputError
from robustirl.paper.finite import RunSpec
from robustirl.sweeps import Store, compute
from robustirl.sweeps.store.note import SCHEMA, migrated, with_checksum
from robustirl.sweeps.store.packing import pack_store
from tests.sweeps.store.stores import SPECS, contents, reopened, result, store

__all__ = ["store"]  # A fixture.

RUNS = [RunSpec("three-state", "slip", 0.0, noise, 0.9, steps=1) for noise in np.linspace(0, 0.5, 7).tolist()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed sweep of two batches, and its folder."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return compute(RUNS, out), out


def returns(outcome):
    return [(record.spec, record.total_return) for record in outcome.records]


@pytest.fixture
def spoiled(store):
    """A store of three runs in two batches, one of which is cut off, with that one."""
    store.append([result(SPECS[0])])
    (bad,) = store.batches.iterdir()
    store.append([result(SPECS[1]), result(SPECS[2])])
    bad.write_bytes(bad.read_bytes()[:100])
    return store, bad


def test_a_writer_sets_a_damaged_batch_aside_and_says_so(spoiled):
    store, bad = spoiled
    content = bad.read_bytes()
    again = reopened(store)
    place = store.folder / "quarantine" / bad.name
    assert [SPECS[0] in again, SPECS[1] in again, SPECS[2] in again] == [False, True, True]
    assert (bad.exists(), place.read_bytes()) == (False, content)
    (sentence,) = again.damaged
    assert sentence == f"{bad} was damaged (File is not a zip file) and is now {place}; its runs are computed again."
    assert reopened(store).damaged == []  # Said once.


def test_what_is_set_aside_is_never_overwritten(spoiled):
    store, bad = spoiled
    content = bad.read_bytes()
    reopened(store)
    for other in (b"PK", b"PK again"):
        bad.write_bytes(other)
        reopened(store)
    kept = sorted(path.read_bytes() for path in (store.folder / "quarantine").iterdir())
    assert kept == sorted([content, b"PK", b"PK again"])


def test_a_reader_goes_on_without_a_damaged_batch_says_so_and_touches_nothing(spoiled):
    store, bad = spoiled
    before = contents(store.folder)
    with pytest.warns(DamagedStoreWarning, match=f"{bad.name} is damaged"):
        found = Store.read(store.folder)
    assert [record.spec for record in found.records()] == [SPECS[1], SPECS[2]]
    assert len(found.damaged) == 1
    assert contents(store.folder) == before


def test_nothing_damaged_is_packed(spoiled, tmp_path, refused):
    store, bad = spoiled
    with refused(f"{bad.name} is damaged"):
        pack_store(store.folder, tmp_path / "packed.npz")
    assert not (tmp_path / "packed.npz").exists()


def test_a_batch_out_of_reach_is_not_taken_for_damaged(store, refused):
    store.append([result(SPECS[0])])
    (path,) = store.batches.iterdir()
    path.unlink()
    path.mkdir()
    with refused("cannot be read (Is a directory)"):
        reopened(store)
    assert path.is_dir()


def test_runs_of_a_damaged_batch_are_computed_again_to_the_same_numbers(whole, tmp_path, capsys):
    out = tmp_path / "spoiled"
    shutil.copytree(whole[1], out)
    batches = sorted((out / "batches").iterdir())
    assert len(batches) == 2
    content = bytearray(batches[0].read_bytes())
    for at in np.random.default_rng(0).integers(len(content), size=20):
        content[at] ^= 0xFF
    batches[0].write_bytes(bytes(content))
    again = run_with_progress(lambda progress: compute(RUNS, out, progress), len(RUNS))
    printed = capsys.readouterr()
    (line,) = (line for line in printed.err.splitlines() if "was damaged" in line)
    assert line.startswith(f"robustirl: {batches[0]} was damaged (")
    assert line.endswith(f") and is now {out}/quarantine/{batches[0].name}; its runs are computed again.")
    assert again.new in (2, 5)
    assert returns(again) == returns(whole[0])


@contextlib.contextmanager
def files_of_at_most(size):
    """No file can grow beyond that: the kernel refuses the write, as it does on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_write_that_the_kernel_cuts_short_leaves_no_half_batch(store, refused):
    store.append([result(SPECS[0])])
    before = contents(store.folder)
    sentence = "cannot be written to (File too large); what is finished is kept; make room or choose another --out."
    with refused(sentence), Store.open(store.folder, SPECS) as opened, files_of_at_most(500):
        opened.append([result(SPECS[1])])
    assert contents(store.folder) == before
    assert len(reopened(store)) == 1


@pytest.mark.parametrize(("at", "missing"), [(0, 7), (1, 7), (2, 2), (3, 0), (4, 0)])
def test_a_disk_that_fills_up_gets_a_sentence_and_the_same_command_goes_on(at, missing, whole, tmp_path, monkeypatch):
    """The disk is full from some write on: that of the note, of one of two batches, or of one of two tables."""
    writes, usual, out = iter(range(100)), os.fsync, tmp_path / "full"

    def full(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode) or next(writes) < at:
            return usual(handle)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InvalidInputError, match=r"cannot be written to \(No space left on device\); what is"):
            compute(RUNS, out)
    assert not [path for path in out.rglob(".*") if path.name != ".lock"]
    resumed = compute(RUNS, out)
    assert resumed.complete
    assert resumed.new == missing
    assert returns(resumed) == returns(whole[0])


@contextlib.contextmanager
def an_ordinary_user():
    """Root may write everywhere, so be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_store_is_read_but_not_written_to(refused):
    with tempfile.TemporaryDirectory() as name:  # Where every user may go, unlike pytest's folder.
        folder = Path(name) / "store"
        with Store.open(folder, SPECS) as opened:
            opened.append([result(SPECS[0])])
        for path in (folder, folder / "batches"):
            path.chmod(0o555)
        Path(name).chmod(0o555)
        with an_ordinary_user():
            assert len(Store.read(folder)) == 1
            with refused("store cannot be written to (Permission denied)"), Store.open(folder, SPECS):
                pass
            with refused("new cannot be written to (Permission denied)"), Store.open(Path(name) / "new", SPECS):
                pass
        for path in (Path(name), folder, folder / "batches"):
            path.chmod(0o755)
        Path(name).chmod(0o700)
        if os.geteuid() == 0:
            with an_ordinary_user(), refused("cannot be written to (Permission denied)"), Store.open(folder, SPECS):
                pass  # A folder that one may not even look into.


HOLDER = """
import sys
from pathlib import Path
import robustirl
from robustirl.paper.finite import RunSpec
from robustirl.sweeps import Store
robustirl.enable_x64()
with Store.open(Path(sys.argv[1]), [RunSpec("three-state", "slip", 0.0, 0.1, 0.9)]):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_of_two_commands_in_one_store_the_second_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-c", HOLDER, "here"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        before = contents(tmp_path)
        assert main(["reproduce", "three-state", "--out", "here"]) == 2
        assert (
            capsys.readouterr().err
            == "robustirl: another command is working in here; wait for it, or choose another --out.\n"
        )
        assert contents(tmp_path) == before
        first.kill()  # The lock dies with it.
    with Store.open(Path("here"), [RunSpec("three-state", "slip", 0.0, 0.1, 0.9)]):
        pass


SCHEMA_1 = Path(__file__).parent / "store_of_schema_1"


def test_a_store_of_schema_1_is_read(tmp_path):
    before = contents(SCHEMA_1)
    assert json.loads((SCHEMA_1 / "store.json").read_text())["schema"] == 1
    found = Store.read(SCHEMA_1)
    assert [record.spec.expert_noise for record in found.records()] == [0.0, 0.1]
    assert found.result(found.specs[1]).arrays["player"].shape == (3, 2)
    assert contents(SCHEMA_1) == before


def test_a_writer_brings_a_store_of_schema_1_up_to_date(store):
    store.append([result(SPECS[0])])
    path = store.folder / "store.json"
    now = json.loads(path.read_text())
    then = {"schema": 1, "configuration": now["configuration"], "specs": now["specs"]}
    path.write_text(json.dumps(then, indent=0))
    assert migrated(then) == now
    assert SPECS[0] in reopened(store)
    assert json.loads(path.read_text()) == now == with_checksum(now)
    assert now["schema"] == SCHEMA == 2


def test_a_changed_digit_in_the_note_cannot_make_a_run_vanish(store, refused):
    store.append([result(SPECS[1])])
    path = store.folder / "store.json"
    path.write_text(path.read_text().replace('"expert_noise": 0.1', '"expert_noise": 0.3'))
    for look in (lambda: Store.read(store.folder), lambda: reopened(store)):
        with refused("store.json is damaged (its checksum does not match)"):
            look()
