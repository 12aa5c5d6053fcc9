"""Places that tests write to: what stands there, and what there is."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path


def entries(folder):
    """All that is in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def pipe(folder):
    """A pipe in a folder."""
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _socket():
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("socket")
    return Path("socket")


SPECIAL = {"a pipe": lambda: pipe(Path()), "a socket": _socket, "a device": lambda: Path("/dev/null")}
"""What is no file, made where the test stands."""


def linked(path):
    """A link to a path, where the test stands."""
    Path("link").symlink_to(path)
    return Path("link")


def loop(folder):
    """A link that leads to itself."""
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    return folder / "a"


def file_in_the_way(folder):
    """A path below a file."""
    (folder / "file").touch()
    return folder / "file" / "below"


def full(folder):
    """A folder with a file."""
    (folder / "theirs").touch()
    return folder


@contextlib.contextmanager
def at_work(words):
    """A process that has said that it works; it is ended whatever happens."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            yield process
        finally:
            process.kill()
