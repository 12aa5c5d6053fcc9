"""Writing: whole or not at all, by many threads at once, and through no link."""

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from robustirl._runtime import filled_whole, require_output_file, write_atomically
from robustirl._runtime.writing import require_appendable, short
from tests._runtime.places import SPECIAL, entries, linked, pipe


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


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_link_to_what_is_no_file_is_never_replaced(here, kind):
    path = linked(SPECIAL[kind]())
    before = entries(here)
    with pytest.raises(OSError, match=f"link is a link to {kind}, not a regular file"):
        write_atomically(path, "ours")
    assert path.is_symlink()
    assert entries(here) == before


@pytest.mark.parametrize("path", ["/dev/stdout", "/proc/self/exe", "/dev/../dev/stderr"])
def test_a_link_of_the_system_is_never_replaced(path):
    with pytest.raises(OSError, match="is a link of the system, not a regular file"):
        write_atomically(Path(path), "ours")


def test_a_link_to_nothing_is_replaced(here):
    Path("link").symlink_to("gone")
    write_atomically(Path("link"), "ours")
    assert Path("link").read_text() == "ours"
    assert entries(here) == ["link"]


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_files_are_appended_to(here, kind):
    place = SPECIAL[kind]()
    for path in (place, linked(place)):
        with pytest.raises(OSError, match=f"it is {kind}, not a regular file"):
            require_appendable(path)
    Path("file").touch()
    require_appendable(Path("file"))
    require_appendable(Path("new"))


def test_a_planted_temporary_name_is_left_alone(tmp_path):
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / f".file.{os.getpid()}").symlink_to(tmp_path / "victim")
    write_atomically(tmp_path / "file", "ours")
    assert (tmp_path / "victim").read_text() == "theirs"


def test_a_text_with_a_name_that_is_not_utf8_is_written_with_the_name_spelled_out(tmp_path):
    write_atomically(tmp_path / "note.txt", "of " + os.fsdecode(b"caf\xe9"))
    assert (tmp_path / "note.txt").read_bytes() == b"of caf\\udce9"


def test_long_paths_are_cut():
    assert short("x" * 120) == "x" * 120
    assert short("x" * 121) == "x" * 120 + "..."
    assert short(Path("abc"), 2) == "ab..."
