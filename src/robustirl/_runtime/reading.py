"""Reading: regular files only, and none that memory cannot hold.

A pipe would be waited for without end, a device read without end. Both are refused before a byte is read.
"""

import errno
import os
import stat
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from robustirl._runtime.memory import available_bytes


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file.

    If it cannot be read, an OSError is raised whose `strerror` says why.

    Example:
        >>> read_regular(Path("/dev/null"))
        Traceback (most recent call last):
        OSError: [Errno 22] it is a device, not a regular file
    """
    # Opened without waiting, so that a pipe which nobody writes to is recognized and not waited for.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        wrong = "a zero byte" if "\0" in str(path) else "a character that no name here can have"
        raise OSError(errno.EINVAL, f"its name holds {wrong}") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"it is {file_kind(found.st_mode)}, not a regular file")
        if reason := excess(found.st_size):
            raise OSError(errno.ENOMEM, f"it holds {reason}")
        return file.read()


def is_folder(path: Path) -> bool:
    """Return whether a folder is there; of a name that no file can have, that there is none.

    Example:
        >>> is_folder(Path("x" * 300)), is_folder(Path("/"))
        (False, True)
    """
    return _is(path.is_dir)


def is_file(path: Path) -> bool:
    """Return whether a file is there; of a name that no file can have, that there is none.

    Example:
        >>> is_file(Path("x" * 300)), is_file(Path("/"))
        (False, False)
    """
    return _is(path.is_file)


def _is(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except (OSError, ValueError):
        return False


def excess(size: int) -> str:
    """Return why something of this size does not fit into memory, or nothing if it does."""
    available = available_bytes()
    if available is None or size <= available:
        return ""
    return f"{size / 2**30:,.1f} GiB, but {available / 2**30:.1f} GiB of memory are available"


def require_unpacked_fits(content: bytes) -> None:
    """Refuse a zip archive whose members declare more than memory holds."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if reason := excess(sum(member.file_size for member in archive.infolist())):
            raise ValueError(f"unpacked, it would hold {reason}")


def file_kind(mode: int) -> str:
    """Return in words what is there if it is neither a regular file nor a folder."""
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "something else")
