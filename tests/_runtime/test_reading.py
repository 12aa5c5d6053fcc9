"""Reading: what is no regular file is refused at once, and what memory cannot hold before it is unpacked."""

import io
import os
import time

import numpy as np
import pytest

from robustirl import demonstrations, envs, irl
from robustirl._runtime import (
    as_path,
    read_arrays,
    read_regular,
    reading,
)
from robustirl.errors import InvalidInputError


def pipe(folder):
    os.mkfifo(folder / "file")


def endless(folder):
    (folder / "file").symlink_to("/dev/zero")


def sparse(folder):
    with (folder / "file").open("wb") as file:
        file.truncate(2**40)


def directory(folder):
    (folder / "file").mkdir()


LOADERS = {
    "demonstrations": lambda path: demonstrations.load(path),
    "world": lambda path: envs.from_file(path),
    "model": lambda path: irl.RobustIRL.load(path),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("kind", [pipe, endless, sparse, directory])
def test_a_loader_refuses_what_is_no_file_at_once(tmp_path, loader, kind):
    kind(tmp_path)
    (tmp_path / "file").rename(tmp_path / "file.npz")
    begin = time.monotonic()
    # Some loaders take folders, too, but none that is empty.
    words = r"file\.npz" if kind is directory else r"file\.npz cannot be read \(.+\)"
    with pytest.raises(InvalidInputError, match=words) as caught:
        LOADERS[loader](tmp_path / "file.npz")
    assert time.monotonic() - begin < 60
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [pipe, endless])
def test_only_regular_files_are_read(tmp_path, kind):
    kind(tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "file")


def test_an_archive_that_unpacks_to_more_than_memory_is_refused_before_it_is_unpacked(monkeypatch):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, states=np.zeros(10**6))
    assert len(buffer.getvalue()) < 10**5
    monkeypatch.setattr(reading, "available_bytes", lambda: 10**6)
    with pytest.raises(ValueError, match=r"unpacked, it would hold 0\.0 GiB, but 0\.0 GiB of memory are available"):
        read_arrays(buffer.getvalue())


def test_a_regular_file_is_read(tmp_path):
    np.savez(tmp_path / "file.npz", states=np.arange(3))
    assert read_arrays(read_regular(tmp_path / "file.npz"))["states"].tolist() == [0, 1, 2]


@pytest.mark.usefixtures("mistyped")
@pytest.mark.parametrize(
    "use",
    [
        as_path,
        demonstrations.Recordings.load,
        demonstrations.Recordings.from_arrays([[[0.0], [1.0]]]).save,
        envs.from_file,
        irl.RobustIRL.load,
        irl.RobustImitation.load,
    ],
)
@pytest.mark.parametrize("path", [5, None, b"walks.npz"])
def test_what_is_no_path_is_refused(use, path):
    with pytest.raises(InvalidInputError, match=r" is no path; give text or a pathlib\.Path\.$"):
        use(path)


def test_a_file_that_memory_cannot_hold_is_told_both_sizes(monkeypatch):
    monkeypatch.setattr(reading, "available_bytes", lambda: 3 * 2**29)
    assert reading.excess(3 * 2**29) == ""
    assert reading.excess(5 * 2**40) == "5,120.0 GiB, but 1.5 GiB of memory are available"
    monkeypatch.setattr(reading, "available_bytes", lambda: None)
    assert reading.excess(2**80) == ""
