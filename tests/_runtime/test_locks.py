"""Locks: one holder at a time, none after a kill, through no link, and no file where none is needed."""

import errno
import fcntl
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest

from robustirl._runtime import exclusive, exclusive_beside
from robustirl._runtime.locks import exclusive_folder
from robustirl.errors import InvalidInputError
from tests._runtime.places import at_work, entries

LOCKS = {
    "a lock file": lambda: exclusive(Path(".lock"), "taken."),
    "a folder": lambda: exclusive_folder(Path("folder"), "taken."),
    "beside a file": lambda: exclusive_beside(Path("walks.csv"), "taken."),
}


@pytest.fixture
def folder(here):
    (here / "folder").mkdir()
    return here


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_one_holder_at_a_time_and_none_afterwards(folder, lock):
    for _ in range(2):
        with lock():
            with pytest.raises(InvalidInputError, match=r"^taken\.$"), lock():
                pass
            with pytest.raises(InvalidInputError, match=r"^taken\.$"), lock():
                pass  # The one that was refused has not released it.
    with pytest.raises(KeyError), lock():
        raise KeyError
    with lock():
        pass


def test_only_a_lock_file_stays(folder):
    for name, lock in LOCKS.items():
        with lock():
            held = entries(folder)
        assert len(held) == 1 + (name != "a folder")
        assert entries(folder) == ([".lock", "folder"] if name == "a lock file" else ["folder"])
        (folder / ".lock").unlink(missing_ok=True)


HOLD = """
import sys, time
from pathlib import Path
from robustirl._runtime import exclusive, exclusive_beside
from robustirl._runtime.locks import exclusive_folder
with {"exclusive": exclusive, "exclusive_folder": exclusive_folder, "exclusive_beside": exclusive_beside}[sys.argv[1]](
    Path(sys.argv[2]), "taken."
):
    print("working", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("kind", "path", "left"),
    [("exclusive", ".lock", 1), ("exclusive_folder", "folder", 0), ("exclusive_beside", "walks.csv", 1)],
)
def test_a_killed_holder_holds_nothing_and_the_next_one_cleans_up(folder, kind, path, left):
    lock = {"exclusive": exclusive, "exclusive_folder": exclusive_folder, "exclusive_beside": exclusive_beside}[kind]
    with at_work([sys.executable, "-c", HOLD, kind, path]) as holder:
        with pytest.raises(InvalidInputError, match=r"^taken\.$"), lock(Path(path), "taken."):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert len(entries(folder)) == 1 + left
    with lock(Path(path), "taken."):
        pass
    assert len(entries(folder)) == 1 + (kind == "exclusive")


@pytest.mark.parametrize("name", ["x" * 255, "\N{GRINNING FACE}" * 63, "a.csv"])
def test_files_of_long_names_have_locks_of_their_own(here, name):
    other = name[:-1] + "y"
    with exclusive_beside(Path(name), "taken."), exclusive_beside(Path(other), "taken."):
        assert len(entries(here)) == 2
    assert entries(here) == []


def test_what_is_no_file_in_the_place_of_a_lock_is_refused_and_stays(here, refused):
    os.mkfifo("pipe")
    with refused("pipe is a pipe, which a lock must not be; remove it."), exclusive(Path("pipe"), "taken."):
        pass
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("socket")
    with refused("socket is a socket, which a lock must not be; remove it."), exclusive(Path("socket"), "taken."):
        pass
    Path("folder").mkdir()
    with refused("folder is a folder, which a lock must not be; remove it."), exclusive(Path("folder"), "taken."):
        pass
    assert entries(here) == ["folder", "pipe", "socket"]


def test_a_link_to_a_folder_is_not_locked(folder):
    Path("link").symlink_to("folder")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"), exclusive_folder(Path("link"), "taken."):
        pass
    with pytest.raises(FileNotFoundError), exclusive_folder(Path("gone"), "taken."):
        pass


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(here, monkeypatch):
    """Between opening and locking, the former holder removes its file: a lock on that file would keep nobody out."""
    real, removed = fcntl.flock, []

    def flock(handle, how):
        if not removed:
            removed.extend(entries(here))
            (here / removed[0]).unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with exclusive_beside(Path("a.csv"), "taken."):
        assert entries(here) == removed
        with pytest.raises(InvalidInputError, match="taken"), exclusive_beside(Path("a.csv"), "taken."):
            pass


def test_threads_take_turns(here):
    inside, most, refused = [], [], []

    def work():
        for _ in range(200):
            try:
                with exclusive_beside(Path("a.csv"), "taken."):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except InvalidInputError:
                refused.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert max(most) == 1
    assert len(most) + len(refused) == 800
    assert entries(here) == []


@pytest.mark.parametrize("answer", [errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_locks_lets_outputs_be_written(folder, monkeypatch, answer):
    def none(handle, how):
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(fcntl, "flock", none)
    with exclusive_folder(Path("folder"), "taken."), exclusive_folder(Path("folder"), "taken."):
        pass
    with exclusive_beside(Path("a.csv"), "taken."), exclusive_beside(Path("a.csv"), "taken."):
        pass
    assert entries(folder) == ["folder"]
    with pytest.raises(OSError, match=os.strerror(answer)), exclusive(Path(".lock"), "taken."):
        pass


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
