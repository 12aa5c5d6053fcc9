"""Writing: files whole or not at all.

Temporary names are random and made exclusively, so that none can be planted and threads never share one. Links are not
followed: a link in the place of a file is replaced by the file. Devices and pipes are never replaced, nor are links to
them.
"""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from robustirl._runtime.locks import KEPT_CHARACTERS
from robustirl._runtime.reading import file_kind

SYSTEM = ("/dev/", "/proc/", "/sys/")
"""Folders of the system, whose links are its own."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by one with this content, or leave it as it was.

    No reader ever sees only a part of the content. A file that is replaced keeps its permissions; a new one has those
    that the process gives to new files. What is neither a file nor a link, such as a device or a pipe, is refused.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "note.txt", "whole")
        ...     (Path(folder) / "note.txt").read_text()
        'whole'
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name holds a zero byte")
    require_replaceable(path)
    mode = _old_mode(path)
    temporary = path.parent / f".{path.name[:KEPT_CHARACTERS]}.{secrets.token_hex(8)}"
    # The system applies the umask to a new file; nobody reads a file of restricted access before it is one.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            # Names of files need not be UTF-8; in a text they are written out.
            file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
        _fsync_dir(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):  # There is nothing to remove where nothing could be written.
            temporary.unlink(missing_ok=True)
        raise


def require_replaceable(path: Path) -> None:
    """Raise an OSError for a device, a pipe or a socket: a file in its place would break it.

    The same holds for a link that leads to one, and for links of the system, such as /dev/stdout.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # Nothing is there, or writing tells what is wrong.
    if stat.S_ISLNK(mode):
        if str(path.parent.resolve() / path.name).startswith(SYSTEM):
            raise OSError(errno.EINVAL, f"{short(path.name)} is a link of the system, not a regular file")
        try:
            mode, leads = path.stat().st_mode, "a link to "
        except OSError:
            return  # It leads nowhere, and is replaced.
    else:
        leads = ""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, f"{short(path.name)} is {leads}{file_kind(mode)}, not a regular file")


def require_appendable(path: Path) -> None:
    """Raise an OSError for what is no regular file, also through links.

    A pipe would be waited for.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # Of a folder opening it says what it is.
            raise OSError(errno.EINVAL, f"it is {file_kind(mode)}, not a regular file")


def _old_mode(path: Path) -> int | None:
    """Return the permissions of the file there, or None if there is none."""
    with contextlib.suppress(OSError):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            return stat.S_IMODE(found.st_mode)
    return None


def _fsync_dir(folder: Path) -> None:
    """Write the folder itself to disk, so that a new name in it survives a power cut.

    Not all systems can do this.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def short(path: object, most: int = 120) -> str:
    """Return a path as text, cut where it gets long."""
    text = str(path)
    return text if len(text) <= most else f"{text[:most]}..."
