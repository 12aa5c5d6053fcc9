"""Writing: whole or not at all, by many threads at once, through no link, and never over what the user made."""

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from robustirl._runtime import exclusive, filled_whole, require_output_file, require_output_folder, write_atomically
from robustirl._runtime.writing import PROBE_BYTES, short
from robustirl.errors import InvalidInputError


def entries(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_threads_write_one_file_and_readers_see_it_whole(tmp_path):
    path, size, seen, failed = tmp_path / "file", 20_000, set(), []
    write_atomically(path, b"0" * size)

    def write(digit):
        try:
            for _ in range(20):
                write_atomically(path, str(digit).encode() * size)
        except OSError as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(digit,)) for digit in range(8)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = path.read_bytes()
        seen.add((len(content), len(set(content))))
    assert not failed
    assert seen <= {(size, 1)}
    assert entries(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    (tmp_path / "usual").touch()
    write_atomically(tmp_path / "ours", "x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    usual = os.umask(0o077)
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads make files, too"))
    try:
        write_atomically(tmp_path / "file", "x")
        with filled_whole(tmp_path / "new") as folder:
            write_atomically(folder / "file", "x")
        with filled_whole(tmp_path / "new" / "below") as folder:
            write_atomically(folder / "file", "x")
    finally:
        monkeypatch.undo()
        os.umask(usual)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in entries(tmp_path)}
    assert modes == {
        "file": 0o600, "new": 0o700, "new/file": 0o600, "new/below": 0o700, "new/below/file": 0o600,
    }  # fmt: skip


def test_a_file_that_others_may_write_stays_one_whatever_the_umask(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o666)
    usual = os.umask(0o077)
    try:
        write_atomically(tmp_path / "file", "x")
    finally:
        os.umask(usual)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666


def test_the_temporary_name_of_a_long_name_is_not_too_long(tmp_path):
    name = "\N{GRINNING FACE}" * 63  # 252 bytes of 255.
    require_output_file(tmp_path / name)
    write_atomically(tmp_path / name, "x")
    assert entries(tmp_path) == [name]


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path):
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", "ours")
    assert (tmp_path / "target").read_text() == "theirs"
    assert not (tmp_path / "link").is_symlink()


def pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def test_a_pipe_or_a_socket_is_never_replaced(tmp_path):
    path = pipe(tmp_path)
    with pytest.raises(OSError, match="pipe is a pipe, not a regular file"):
        write_atomically(path, "ours")
    assert path.is_fifo()
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket")
        with pytest.raises(OSError, match="socket is a socket, not a regular file"):
            write_atomically(Path("socket"), "ours")
    assert entries(tmp_path) == ["pipe", "socket"]


def test_a_planted_temporary_name_is_left_alone(tmp_path):
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / f".file.{os.getpid()}").symlink_to(tmp_path / "victim")
    write_atomically(tmp_path / "file", "ours")
    assert (tmp_path / "victim").read_text() == "theirs"


def test_a_lock_that_is_a_link_is_refused_and_empties_nothing(tmp_path):
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / ".lock").symlink_to(tmp_path / "victim")
    with pytest.raises(InvalidInputError, match=r"\.lock is a link"), exclusive(tmp_path / ".lock", "taken."):
        pass
    assert (tmp_path / "victim").read_text() == "theirs"


def test_a_lock_keeps_others_out_and_is_free_afterwards(tmp_path):
    path = tmp_path / ".lock"
    path.write_text("kept")
    with exclusive(path, "taken."):
        with pytest.raises(InvalidInputError, match=r"^taken\.$"), exclusive(path, "taken."):
            pass
        assert path.read_text() == "kept"
    with exclusive(path, "taken."):
        pass


def loop(folder):
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    return folder / "a"


def file_in_the_way(folder):
    (folder / "file").touch()
    return folder / "file" / "below"


def full(folder):
    (folder / "theirs").touch()
    return folder


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


@pytest.mark.parametrize("spelled", [".", "e/../e", "link", "new", "deep/er/new"])
def test_a_folder_is_filled_whatever_way_it_is_spelled(tmp_path, monkeypatch, spelled):
    monkeypatch.chdir(tmp_path)
    if "e/" in spelled and "deep" not in spelled:
        Path("e").mkdir()
    if spelled == "link":
        Path("e").mkdir()
        Path("link").symlink_to("e")
    inode = Path(spelled).stat().st_ino if Path(spelled).exists() else None
    with filled_whole(Path(spelled)) as folder:
        (folder / "file").write_text("whole")
        assert not (Path(spelled) / "file").exists()
    assert [path.name for path in Path(spelled).iterdir() if path.name not in ("e", "link")] == ["file"]
    assert inode is None or Path(spelled).stat().st_ino == inode  # The user's folder is still the user's folder.
    if spelled == "link":
        assert Path("link").is_symlink()


def test_what_fails_halfway_leaves_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    for out in ("empty", "new/folder"):
        with pytest.raises(KeyError), filled_whole(tmp_path / out) as folder:
            raise KeyError((folder / "half").touch())
    assert entries(tmp_path) == ["empty"]


def test_a_text_with_a_name_that_is_not_utf8_is_written_with_the_name_spelled_out(tmp_path):
    write_atomically(tmp_path / "note.txt", "of " + os.fsdecode(b"caf\xe9"))
    assert (tmp_path / "note.txt").read_bytes() == b"of caf\\udce9"


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


def test_a_new_folder_has_the_mode_of_new_folders_and_keeps_what_was_there(tmp_path):
    usual = os.umask(0o027)
    try:
        with filled_whole(tmp_path / "there" / "new") as folder:
            (folder / "file").write_text("whole")
        write_atomically(tmp_path / "file", "x")
    finally:
        os.umask(usual)
    assert stat.S_IMODE((tmp_path / "there" / "new").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    with pytest.raises(KeyError), filled_whole(tmp_path / "there" / "other"):
        raise KeyError
    assert entries(tmp_path) == ["file", "there", "there/new", "there/new/file"]


def test_long_paths_are_cut():
    assert short("x" * 120) == "x" * 120
    assert short("x" * 121) == "x" * 120 + "..."
    assert short(Path("abc"), 2) == "ab..."


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


def test_an_error_names_the_folder_that_was_asked_for(tmp_path):
    with pytest.raises(InvalidInputError) as caught, filled_whole(tmp_path / "new") as folder:
        raise InvalidInputError(f"{folder / 'model.npz'} cannot be written.")
    assert str(caught.value) == f"{tmp_path / 'new' / 'model.npz'} cannot be written."
    assert entries(tmp_path) == []
