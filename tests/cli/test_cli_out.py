"""`--out` is tried before any work, whatever the command: a place that cannot be written to is one sentence."""

import os
from pathlib import Path

import numpy as np
import pytest

from robustirl.cli import main
from robustirl.sweeps import Store
from robustirl.sweeps.store.packing import pack_store
from torture.targets import TARGETS

FOLDERS = {
    "reproduce": "reproduce three-state --out",
    "compare": "compare gridworld-1 --out",
    "layouts": "layouts --layouts 4 --out",
    "continuous": "continuous --out",
    "records": "continuous --records packed.npz --out",
    "study": "study existence --out",
    "fit": "fit --env three-state --demos walks.npz --out",
    "theory": "theory three-state --out",
}
FILES = {"explore": "explore store --out", "demos": "demos make --env three-state --out"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    Path("loop").symlink_to("loop")
    Path("store/batches").mkdir(parents=True)
    Path("store/store.json").write_bytes(TARGETS["store-note"].seeds()[0])
    Path("store/batches/00000000000000000000.npz").write_bytes(TARGETS["batch"].seeds()[0])
    np.savez("walks.npz", schema=1, states=[0, 1], lengths=[2], terminated=[True])
    pack_store(Path("store"), Path("packed.npz"))
    return tmp_path


def snapshot():
    return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(Path().rglob("*"))}


def refused(words, capsys):
    before = snapshot()
    status = main(words)
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert printed.err.startswith("robustirl: ")
    assert len(printed.err.splitlines()) == 1
    assert len(printed.err) < 700
    assert snapshot() == before
    return printed.err


# All kinds of bad places are walked in tests/_runtime/test_writing.py; here, that every command asks.
@pytest.mark.parametrize("command", [*FOLDERS, *FILES])
def test_a_name_that_is_too_long_is_refused_before_any_work(here, capsys, command):
    refused([*(FOLDERS | FILES)[command].split(), "x" * 300 + ".npz"], capsys)


@pytest.mark.parametrize("command", [*FOLDERS, *FILES, "demo", "identification"])
def test_an_empty_name_is_not_the_current_folder(here, capsys, command):
    more = {"demo": "demo --no-open --out", "identification": "study identification --out"}
    message = refused([*(FOLDERS | FILES | more)[command].split(), ""], capsys)
    assert message == "robustirl: --out is '', but a name is needed; give one, as --out found.\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not write")
@pytest.mark.parametrize("command", [*FOLDERS, *FILES])
def test_a_folder_of_somebody_else_is_refused_before_any_work(here, capsys, command):
    line, name = (FOLDERS | FILES)[command], "theirs/out.npz" if command in FILES else "theirs/out"
    Path("theirs").mkdir(mode=0o755)
    for folder in [here, *here.parents][:3]:
        folder.chmod(0o755)  # Readable, which pytest's own folders are not.
    os.seteuid(65534)
    try:
        message = refused([*line.split(), name], capsys)
    finally:
        os.seteuid(0)
    assert "(Permission denied)" in message


def test_records_of_finite_runs_are_called_by_their_name_and_nothing_is_left(here, capsys):
    assert len(Store.read(Path("store")).specs) == 1
    message = refused(["continuous", "--records", "packed.npz", "--out", "new"], capsys)
    assert message == (
        "robustirl: packed.npz holds finite runs, but --records draws continuous ones; give a file that"
        " benchmarks/continuous.py wrote.\n"
    )
