"""Places to write to: what cannot be written is refused in a sentence before any work, and nothing changes."""

import os
from pathlib import Path

import pytest

from robustirl._runtime import filled_whole, require_output_file, require_output_folder
from robustirl._runtime.outputs import PROBE_BYTES
from robustirl.errors import InvalidInputError
from tests._runtime.places import SPECIAL, entries, file_in_the_way, full, linked, loop, pipe

BAD = {
    "nothing": lambda folder: "",
    "blank": lambda folder: "  ",
    "zero": lambda folder: f"{folder}/a\0b",
    "long": lambda folder: folder / ("x" * 300),
    "longer": lambda folder: folder / ("x/" * 3000),
    "loop": loop,
    "below a loop": lambda folder: loop(folder) / "x",
    "a file in the way": file_in_the_way,
    "not empty": full,
    "kernel files": lambda folder: "/proc/robustirl",
}


@pytest.mark.parametrize("what", BAD)
def test_a_folder_that_cannot_be_filled_is_refused_in_a_sentence_and_nothing_changes(tmp_path, what):
    out = BAD[what](tmp_path)
    before = entries(tmp_path)
    for attempt in (lambda: require_output_folder(Path(out)), lambda: filled_whole(Path(out)).__enter__()):
        with pytest.raises(InvalidInputError) as caught:
            attempt()
        message = str(caught.value)
        assert "\n" not in message
        assert message.endswith(".")
        assert len(message) < 600
    assert entries(tmp_path) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not write")
def test_an_unwritable_parent_is_noticed_before_the_work(tmp_path):
    os.seteuid(65534)
    try:
        with pytest.raises(InvalidInputError, match="cannot be written to"):
            require_output_folder(tmp_path / "out")
    finally:
        os.seteuid(0)
    assert entries(tmp_path) == []


@pytest.mark.parametrize("through", [lambda path: path, linked], ids=["itself", "a link to it"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_refused_as_a_folder_and_as_a_file(here, refused, kind, through):
    path = through(SPECIAL[kind]())
    before = entries(here)
    for empty in (True, False):
        with refused(f"{path} is {kind}, but --out must name a folder; choose another name."):
            require_output_folder(path, empty=empty)
    with refused(f"{path} cannot be written (", f"{kind}, not a regular file"):
        require_output_file(path)
    assert entries(here) == before


@pytest.mark.parametrize("place", ["", "figures/", "deep/er/"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_in_a_folder_is_refused_before_the_work(here, refused, kind, place):
    target = SPECIAL[kind]()
    (here / "out" / place).mkdir(parents=True)
    wrong = here / "out" / place / "drawn.json"
    if kind == "a device":
        wrong.symlink_to(target)
    else:
        target.rename(wrong)
    before = entries(here)
    link = "a link to " * (kind == "a device")
    with refused(f"out cannot be written to (drawn.json is {link}{kind}, not a regular file); remove it, or choose"):
        require_output_folder(Path("out"), empty=False)
    assert entries(here) == before


def test_a_folder_in_the_place_of_a_file_is_refused_before_the_work_and_the_other_way_round(here, refused):
    Path("out/report.html").mkdir(parents=True)
    with refused("out/report.html is a folder, where a file is to be written; move it, or choose another --out."):
        require_output_folder(Path("out"), empty=False)
    Path("out/report.html").rename("out/alpha-0.9")
    require_output_folder(Path("out"), empty=False)
    for name in ("figures", "batches", "quarantine"):
        Path("out", name).touch()
        with refused(f"out/{name} is a file, where a folder is needed; move it, or choose another --out."):
            require_output_folder(Path("out"), empty=False)
        Path("out", name).unlink()


def test_files_and_links_to_files_and_folders_may_be_in_a_folder(here):
    Path("elsewhere").mkdir()
    os.mkfifo("elsewhere/pipe")
    Path("out/figures").mkdir(parents=True)
    Path("out/drawn.json").touch()
    Path("out/table.csv").symlink_to("drawn.json")
    Path("out/gone.csv").symlink_to("nowhere")
    Path("out/linked").symlink_to("../elsewhere")  # What a link leads to is somebody else's.
    before = entries(here)
    assert require_output_folder(Path("out"), empty=False) == here / "out"
    assert entries(here) == before


BAD_FILES = {
    "a folder": lambda folder: folder,
    "zero": lambda folder: folder / "a\0b",
    "long": lambda folder: folder / ("x" * 300),
    "loop": lambda folder: loop(folder) / "x",
    "a file in the way": file_in_the_way,
    "no such folder": lambda folder: folder / "no" / "x",
    "kernel files": lambda folder: Path("/proc/x"),
    "a pipe": pipe,
    "a device": lambda folder: Path("/dev/null"),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_a_file_that_cannot_be_written_is_refused_in_a_sentence_and_nothing_changes(tmp_path, what):
    path = BAD_FILES[what](tmp_path)
    before = entries(tmp_path)
    with pytest.raises(InvalidInputError, match=r"cannot be written \(.+\); choose a place") as caught:
        require_output_file(path)
    assert len(str(caught.value)) < 400
    assert entries(tmp_path) == before


def test_a_file_that_can_be_written_passes_and_nothing_is_left(tmp_path):
    require_output_file(tmp_path / "new")
    assert entries(tmp_path) == []


def test_a_disk_that_is_nearly_full_is_noticed_before_the_work(tmp_path):
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (PROBE_BYTES - 1, usual[1]))
    try:
        with pytest.raises(InvalidInputError, match=r"new cannot be written to \(File too large\)"):
            require_output_folder(tmp_path / "new")
        with pytest.raises(InvalidInputError, match=r"page cannot be written \(File too large\)"):
            require_output_file(tmp_path / "page")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert entries(tmp_path) == []
