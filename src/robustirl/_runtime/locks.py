"""Locks between processes: they end with their process, killed or not, and follow no links.

Where a file system has none (some folders on a network), outputs are written without a lock: two commands then do the
same work, as one after the other would. A lock file of its own is needed, and an error without.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from robustirl._runtime.reading import file_kind
from robustirl.errors import InvalidInputError

KEPT_CHARACTERS = 50
"""How much of a file's name a hidden name beside it keeps: with four bytes a character, what any file system takes."""
ATTEMPTS = 100
"""How often a lock is tried whose file or folder is replaced or removed meanwhile."""
NO_LOCKS = ("EBADF", "EINVAL", "ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS")
"""What file systems without locks answer: errors by name, as their numbers differ between systems."""


@contextlib.contextmanager
def exclusive(path: Path, taken: str) -> Iterator[None]:
    """Hold a lock file while the context lasts.

    Args:
        path: The lock file. It is made if needed, never emptied or removed, and must be a regular file.
        taken: The sentence of the error if another process holds it.
    """
    with _held(lambda: _open_file(path), path, taken):
        yield


@contextlib.contextmanager
def exclusive_beside(path: Path, taken: str) -> Iterator[None]:
    """Hold a hidden lock file beside a file while the context lasts, and remove it.

    After a kill it stays, empty, and the next command takes and removes it.

    Args:
        path: What is to be written; it need not exist, but its folder must.
        taken: The sentence of the error if another process holds it.
    """
    # The whole name decides, also where it is too long to be kept.
    own = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    lock = path.parent / f".{path.name[:KEPT_CHARACTERS]}.{own}.lock"
    with _held(lambda: _open_file(lock), lock, taken, may_lack_locks=True):
        try:
            yield
        finally:
            # While it is held: who has opened it meanwhile finds that it is gone, and makes a new one.
            with contextlib.suppress(OSError):
                lock.unlink()


@contextlib.contextmanager
def exclusive_folder(folder: Path, taken: str) -> Iterator[None]:
    """Hold the lock of a folder itself while the context lasts; no file is needed for it.

    Raises:
        FileNotFoundError: If the folder is removed before it is locked.
    """
    with _held(lambda: _open_folder(folder), folder, taken, may_lack_locks=True):
        yield


@contextlib.contextmanager
def _held(opened: Callable[[], int | None], path: Path, taken: str, *, may_lack_locks: bool = False) -> Iterator[None]:
    """Hold the lock of what is opened, if it could be and there are locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = -1
    try:
        for _ in range(ATTEMPTS):
            found = opened()
            if found is None:
                break
            handle = found
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InvalidInputError(taken) from None
            except OSError as error:
                if not may_lack_locks or errno.errorcode.get(error.errno or 0) not in NO_LOCKS:
                    raise
                break
            if _is_still_there(handle, path):
                yield
                return
            os.close(handle)  # It was replaced or removed before it was locked.
            handle = -1
        else:
            raise InvalidInputError(taken)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _open_folder(folder: Path) -> int | None:
    """Open a folder; None for one that may not be listed, which has no lock."""
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except PermissionError:
        return None


def _open_file(path: Path) -> int:
    """Open a lock file, and make it if needed; refuse what is not a regular file."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError:
        with contextlib.suppress(OSError):
            _require_regular(path, path.lstat().st_mode)
        raise
    try:
        _require_regular(path, os.fstat(handle).st_mode)
    except InvalidInputError:
        os.close(handle)
        raise
    return handle


def _require_regular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else file_kind(mode)
    raise InvalidInputError(f"{path} is {kind}, which a lock must not be; remove it.")


def _is_still_there(handle: int, path: Path) -> bool:
    """Return whether the path leads to what was opened."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False
