"""Reservations: a second command is refused at once, what was made and not used is gone, and folders are whole."""

import errno
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from robustirl._runtime import filled_whole, reserved_file, reserved_folder, write_atomically
from robustirl._runtime import reservations as module
from robustirl.errors import InvalidInputError
from tests._runtime.places import at_work, entries

TAKEN = "another command is working in {}; wait for it, or choose another --out."


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("out", ["new", "deep/er/new", "there"])
def test_a_second_reservation_is_refused_and_what_was_made_is_gone(here, refused, out, empty):
    (here / "there").mkdir()
    with reserved_folder(Path(out), empty=empty) as held:
        assert (held.out, held.folder, held.new) == (Path(out), here / out, out != "there")
        assert held.folder.is_dir()
        for other in (True, False):
            with refused(TAKEN.format(out)), reserved_folder(Path(out), empty=other):
                pass
        with refused(TAKEN.format(out)), filled_whole(Path(out)):
            pass
        with reserved_folder(Path("beside")):
            pass
    assert entries(here) == ["there"]
    with reserved_folder(Path(out)):
        pass
    assert entries(here) == ["there"]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, InvalidInputError, OSError])
def test_whatever_ends_a_reservation_nothing_is_left_of_it(here, error):
    with pytest.raises((error, InvalidInputError)), reserved_folder(Path("a/b")) as held, filled_whole(held) as folder:
        raise error(f"it failed, with {(folder / 'half').write_text('a part')} letters")
    with pytest.raises(error), reserved_file(Path("page.html")):
        raise error("it failed")
    assert entries(here) == []


def test_a_reserved_folder_is_filled_and_what_others_made_meanwhile_stays(here):
    with reserved_folder(Path("a/new")) as held, filled_whole(held) as folder:
        (folder / "file").write_text("whole")
        (here / "a" / "theirs").touch()
        assert entries(here / "a" / "new") == []
    assert entries(here) == ["a", "a/new", "a/new/file", "a/theirs"]
    with pytest.raises(InvalidInputError, match="a/new is not empty"), reserved_folder(Path("a/new")):
        pass


def test_a_folder_that_was_filled_since_it_was_looked_at_is_refused(here, monkeypatch, refused):
    real = module.exclusive_folder

    def late(folder, taken):
        (folder / "theirs").touch()  # Another command has ended between the look and the lock.
        return real(folder, taken)

    monkeypatch.setattr(module, "exclusive_folder", late)
    with refused("new is not empty"), reserved_folder(Path("new")):
        pass
    assert entries(here) == ["new", "new/theirs"]


def test_a_folder_that_is_removed_before_it_is_locked_is_made_anew(here, monkeypatch):
    real, removed = module.exclusive_folder, []

    def late(folder, taken):
        if not removed:
            removed.append(folder.rmdir())  # Another command has failed, and removed what it had made.
        return real(folder, taken)

    monkeypatch.setattr(module, "exclusive_folder", late)
    with reserved_folder(Path("new")) as held:
        assert held.new
        assert held.folder.is_dir()
    assert removed
    assert entries(here) == []


def test_a_file_is_reserved_once_and_replaced_whole(here, refused):
    Path("page.html").write_text("old")
    with reserved_file(Path("page.html")):
        taken = "another command is writing page.html; wait for it, or choose another name."
        with refused(taken), reserved_file(Path("page.html")):
            pass
        with reserved_file(Path("other.html")):
            pass
        write_atomically(Path("page.html"), "new")
    assert entries(here) == ["page.html"]
    assert Path("page.html").read_text() == "new"


def test_two_names_of_a_folder_are_one_reservation(here, refused):
    Path("real").mkdir()
    Path("link").symlink_to("real")
    with reserved_folder(Path("real")), refused("working in link;"), reserved_folder(Path("link")):
        pass
    with reserved_folder(Path("real/../new")), refused("working in"), reserved_folder(here / "new"):
        pass


HOLD = """
import sys, time
from pathlib import Path
from robustirl._runtime import filled_whole, reserved_folder
with reserved_folder(Path("a/new")) as held:
    print("working", flush=True)
    time.sleep(600)
"""


def test_after_a_kill_the_folder_is_free_and_empty(here, refused):
    with at_work([sys.executable, "-c", HOLD]) as holder:
        with refused("another command is working in a/new"), reserved_folder(Path("a/new")):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert entries(here) == ["a", "a/new"]
    with reserved_folder(Path("a/new")) as held, filled_whole(held) as folder:
        (folder / "file").touch()
    assert entries(here) == ["a", "a/new", "a/new/file"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not write")
def test_parents_that_were_made_in_vain_are_removed(here, monkeypatch, refused):
    made = Path.mkdir

    def mkdir(path, *given, **options):
        if path.name == "new":
            raise PermissionError(13, "Permission denied")
        made(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with refused("a/b/new cannot be written to (Permission denied)"), reserved_folder(Path("a/b/new")):
        pass
    assert entries(here) == []


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


def test_an_error_names_the_folder_that_was_asked_for(tmp_path):
    with pytest.raises(InvalidInputError) as caught, filled_whole(tmp_path / "new") as folder:
        raise InvalidInputError(f"{folder / 'model.npz'} cannot be written.")
    assert str(caught.value) == f"{tmp_path / 'new' / 'model.npz'} cannot be written."
    assert entries(tmp_path) == []


def test_a_file_whose_lock_cannot_be_made_is_refused_in_a_sentence(here, monkeypatch, refused):
    with reserved_file(Path("page.html")):
        [lock] = entries(here)
    Path(lock).mkdir()
    with refused(f"{lock} is a folder, which a lock must not be; remove it."), reserved_file(Path("page.html")):
        pass
    Path(lock).rmdir()

    def open_nothing(*_):
        raise PermissionError(errno.EACCES, "Permission denied")  # As for a lock that a killed command of others left.

    monkeypatch.setattr(module, "exclusive_beside", open_nothing)
    with refused("page.html cannot be written (Permission denied); choose a place"), reserved_file(Path("page.html")):
        pass
