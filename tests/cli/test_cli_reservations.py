"""What commands write to is theirs alone from the start: every command, and everything that is wrong with its `--out`.

Of each command the work is replaced, so that what is refused before the work is told from what is refused after it.
"""

import dataclasses
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl._runtime import reserved_file, reserved_folder
from robustirl.cli import main
from robustirl.cli.commands import COMMANDS
from robustirl.demonstrations import Demonstrations, reserved_place, save
from tests._runtime.places import SPECIAL, at_work, entries, linked

OUT = "OUT"


@dataclasses.dataclass(frozen=True)
class Writer:
    """A command that writes: its words, what does its work, and how it is kept from others."""

    words: tuple[str, ...]
    work: str
    hold: object = reserved_folder
    target: str = "new/out"
    empty: bool = True

    def command(self, target=None):
        """The words, with a target in its place."""
        return [str(target or self.target) if word == OUT else word for word in self.words]


def folder(*words, work, **options):
    return Writer((*words, "--out", OUT), work, **options)


def file(*words, work, **options):
    return Writer(words, work, hold=reserved_file, **{"target": "new.csv"} | options)


STORE = {"empty": False}
WRITERS = {
    "fit": folder("fit", "--env", "three-state", "--demos", "walks.csv", work="robustirl.cli.fit.prepare_fit"),
    "imitate": folder("imitate", work="robustirl.cli.imitate._imitate"),
    "demo": folder("demo", "--no-open", work="robustirl.cli.demo._show"),
    "theory": folder("theory", "three-state", work="robustirl.cli.theory.report_pairs", **STORE),
    "study": folder("study", "existence", work="robustirl.cli.study._study", **STORE),
    "reproduce": folder("reproduce", "gridworld-4", work="robustirl.cli.reproduce.reproduce", **STORE),
    "layouts": folder("layouts", work="robustirl.cli.layouts.run_specs", **STORE),
    "compare": folder("compare", "gridworld-1", work="robustirl.cli.compare.run_specs", **STORE),
    "continuous": folder("continuous", work="robustirl.cli.continuous.reproduce_continuous", **STORE),
    "continuous --records": folder(
        "continuous", "--records", "records.npz", work="robustirl.cli.continuous.unpack_store"
    ),
    "explore": file("explore", "store", "--out", OUT, work="robustirl.explorer.page.payload", target="page.html"),
    "explore, a fit": file(
        "explore", "found", "--out", OUT, work="robustirl.explorer.fit_page.read_fit_folder", target="page.html"
    ),
    "explore, in the folder": file(
        "explore", "found", work="robustirl.explorer.fit_page.read_fit_folder", target="found/fit.html"
    ),
    "demos make": file("demos", "make", "--env", "three-state", "--out", OUT, work="robustirl.cli.demos._drawn"),
    "demos convert": file("demos", "convert", "walks.csv", OUT, work="robustirl.demonstrations.load_with_note"),
    "convert": file("convert", "walks.csv", OUT, work="robustirl.demonstrations.load_with_note"),
    "convert, imitation": file(
        "convert", "walks.csv", OUT, work="robustirl.demonstrations.load_with_note", target="imitation:new/out"
    ),
    "convert, minari": file(
        "convert", "walks.csv", OUT, work="robustirl.demonstrations.load_with_note", target="minari:mine/walks-v0"
    ),
}
FOLDERS = {name: writer for name, writer in WRITERS.items() if writer.hold is reserved_folder}
NO_OUTPUT = {"doctor", "serve", "version"}
EVERY = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


@pytest.fixture
def there(here, monkeypatch):
    """What commands read."""
    save(Demonstrations.from_arrays([[0, 1], [0, 2]], [[0], [1]], terminated=True), "walks.csv")
    for name in ("store", "found"):
        Path(name).mkdir()
    Path("store/store.json").touch()
    Path("found/model.npz").touch()
    Path("records.npz").touch()
    monkeypatch.setattr(
        "robustirl.explorer.page.Store", SimpleNamespace(read=lambda folder: SimpleNamespace(folder=folder))
    )
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(here / "datasets"))
    (here / "datasets").mkdir()
    return here


@pytest.fixture
def no_work(monkeypatch):
    def forbid(writer):
        monkeypatch.setattr(writer.work, lambda *_, **__: pytest.fail("the work has begun"))

    return forbid


def held(writer):
    """The reservation of another command."""
    if ":" in writer.target or writer.words[0] != "explore":
        return reserved_place(writer.target) if writer.hold is reserved_file else writer.hold(Path(writer.target))
    return reserved_file(Path(writer.target))


def refusal(words, capsys):
    status, said = main(words), capsys.readouterr().err
    assert status == 2, said
    assert said.count("\n") == 1
    assert said.startswith("robustirl: ")
    return said


def test_every_command_that_writes_is_tried_here():
    assert {writer.words[0] for writer in WRITERS.values()} | NO_OUTPUT == set(COMMANDS)


@EVERY
def test_a_second_command_is_refused_before_its_work(there, capsys, no_work, writer):
    no_work(writer)
    with held(writer):
        before, begun = entries(there), time.monotonic()
        assert ": another command is " in refusal(writer.command(), capsys)
        assert time.monotonic() - begun < 20
        assert entries(there) == before


@EVERY
@pytest.mark.parametrize(("error", "status"), [(RuntimeError("it failed"), 3), (KeyboardInterrupt(), 130)])
def test_a_command_that_fails_leaves_nothing_and_another_can_begin(there, capsys, monkeypatch, writer, error, status):
    seen = []

    def fail(*_, **__):
        seen.append(entries(there))
        with pytest.raises(Exception, match="another command is "), held(writer):
            pass
        raise error

    monkeypatch.setattr(writer.work, fail)
    before = entries(there)
    assert main(writer.command()) == status
    assert seen != [before]  # Something was there that others saw: a folder, or a lock.
    assert entries(there) == before
    with held(writer):
        pass
    capsys.readouterr()


@pytest.mark.parametrize("through", [lambda path: path, linked], ids=["itself", "a link to it"])
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize(
    "writer",
    [one for one in WRITERS.values() if OUT in one.words and ":" not in one.target],
    ids=[name for name, one in WRITERS.items() if OUT in one.words and ":" not in one.target],
)
def test_what_is_no_file_is_refused_before_the_work(there, capsys, no_work, writer, kind, through):
    no_work(writer)
    path = through(SPECIAL[kind]())
    named = path if writer.hold is reserved_folder else suffixed(path, Path(writer.target).suffix)
    before = entries(there)
    said = refusal(writer.command(named), capsys)
    assert str(named) in said
    assert kind in said or "exists already" in said
    assert entries(there) == before


def suffixed(path, suffix):
    """A link of the suffix that a command asks for, to the same."""
    name = Path(f"other{suffix}")
    name.symlink_to(path.resolve() if path.is_absolute() else path)
    return name


@pytest.mark.parametrize("name", ["drawn.json", "report.html", "results.csv", "figures/best.png", "x.md", ".lock"])
@pytest.mark.parametrize(
    "writer",
    [one for one in FOLDERS.values() if not one.empty],
    ids=[name for name, one in FOLDERS.items() if not one.empty],
)
def test_a_pipe_in_the_place_of_a_file_is_refused_before_the_work(there, capsys, no_work, writer, name):
    no_work(writer)
    (there / "full" / name).parent.mkdir(parents=True)
    os.mkfifo(there / "full" / name)
    before = entries(there)
    said = refusal(writer.command("full"), capsys)
    assert f"full cannot be written to ({Path(name).name} is a pipe, not a regular file); remove it, or choose" in said
    assert entries(there) == before


@pytest.mark.parametrize("writer", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_of_the_user_stays_whatever_happens(there, capsys, monkeypatch, writer):
    (there / "mine").mkdir()

    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(writer.work, fail)
    inode = (there / "mine").stat().st_ino
    assert main(writer.command("mine")) == 3
    assert (there / "mine").stat().st_ino == inode
    assert entries(there / "mine") == []
    capsys.readouterr()


def test_a_minari_dataset_that_is_there_is_refused_before_the_work(there, capsys, no_work):
    no_work(WRITERS["convert, minari"])
    (there / "datasets" / "mine" / "walks-v0").mkdir(parents=True)
    assert "there is a Minari dataset mine/walks-v0 already" in refusal(WRITERS["convert, minari"].command(), capsys)


def test_targets_of_every_kind_are_written_while_they_are_reserved(there, capsys):
    for target in ("new.csv", "new.parquet", "imitation:deep/new", "minari:mine/walks-v0"):
        assert main(["convert", "walks.csv", target]) == 0, target
    capsys.readouterr()
    assert (there / "deep" / "new" / "state.json").is_file()
    assert (there / "datasets" / "mine" / "walks-v0").is_dir()
    left = [name for name in entries(there) if name.endswith(".lock") or "/." in name or name.startswith(".")]
    assert left == []


WAIT = """
import sys, time
from robustirl.cli import fit, main
def wait(request):
    print("working", flush=True)
    time.sleep(600)
fit.prepare_fit = wait
main(sys.argv[1:])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_fit_that_is_killed_frees_its_folder(there, capsys, how):
    words = WRITERS["fit"].command()
    with at_work([sys.executable, "-c", WAIT, *words]) as first, pytest.MonkeyPatch.context() as patch:
        patch.setattr(WRITERS["fit"].work, lambda *_: pytest.fail("the work has begun"))
        assert "another command is working in new/out; wait for it" in refusal(words, capsys)
        first.send_signal(how)
        first.wait()
    left = [name for name in entries(there) if name.startswith("new")]
    assert left == (["new", "new/out"] if how == signal.SIGKILL else [])
    with reserved_folder(Path("new/out")):
        pass
    shutil.rmtree("new", ignore_errors=True)
