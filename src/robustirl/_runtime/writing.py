"""Writing: files whole or not at all, folders that are checked before any work, and locks.

Temporary names are random and made exclusively, so that none can be planted and threads never share one. Links are not
followed: a link in the place of a file is replaced by the file, and a link in the place of a lock is refused. Devices
and pipes are never replaced.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from robustirl._runtime.reading import file_kind
from robustirl.errors import InvalidInputError

PROBE_BYTES = 2**18
"""How much is written on trial before a command works: about what a fit writes."""
KEPT_CHARACTERS = 50
"""How much of a file's name its temporary name keeps: with four bytes a character, what any file system takes."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by one with this content, or leave it as it was.

    No reader ever sees only a part of the content. A file that is replaced keeps its permissions; a new one has those
    that the process gives to new files. What is neither a file nor a link, such as a device or a pipe, is refused.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "note.txt", "whole")
        ...     (Path(folder) / "note.txt").read_text()
        'whole'
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name holds a zero byte")
    _require_replaceable(path)
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


def _require_replaceable(path: Path) -> None:
    """Raise an OSError for a device, a pipe or a socket: a file in its place would break it."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # Nothing is there, or writing tells what is wrong.
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, f"{short(path.name)} is {file_kind(mode)}, not a regular file")


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


@contextlib.contextmanager
def exclusive(path: Path, taken: str) -> Iterator[None]:
    """Hold a lock file while the context lasts; the lock ends with the process, killed or not.

    Args:
        path: The lock file. It is made if needed, never emptied, and must not be a link.
        taken: The sentence of the error if another process holds it.
    """
    try:
        import fcntl
    except ImportError:  # Not on this system, where two commands in one folder do the work twice, but no harm.
        yield
        return
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError:
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link, which a lock must not be; remove it.") from None
        raise
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInputError(taken) from None
        yield
    finally:
        os.close(handle)


def require_output_folder(out: Path, *, empty: bool = True) -> Path:
    """Return the folder to write to, resolved, after testing that it can be written to.

    Nothing is left there.

    Args:
        out: What `--out` names: a new folder, or an existing one, perhaps through links.
        empty: Whether an existing folder must be empty.
    """
    if not str(out).strip() or "\0" in str(out):
        raise InvalidInputError(f"--out is {str(out)!r}, but the name of a folder is needed.")
    try:
        folder = Path(os.path.realpath(out, strict=False))
        if folder.is_symlink():
            raise InvalidInputError(f"{out} is a link that leads to itself; choose another --out.")
        if folder.exists() and not folder.is_dir():
            raise InvalidInputError(f"{out} is a file, but --out must name a folder; choose another name.")
        if empty and folder.exists() and any(folder.iterdir()):
            raise InvalidInputError(f"{out} is not empty; choose a new or an empty folder as --out.")
        place = folder
        while not place.exists():
            if place.is_symlink():
                raise InvalidInputError(f"{place.name} is a link that leads to itself; choose another --out.")
            place = place.parent
        if not place.is_dir():
            raise InvalidInputError(f"{place.name} is a file, so that {out} cannot be made; choose another --out.")
        _probe(place, ".robustirl-")
        if len(os.fsencode(folder.name)) > os.pathconf(place, "PC_NAME_MAX"):
            raise InvalidInputError(f"{short(out)} is too long for a name in {place}; choose a shorter --out.")
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"{short(out)} cannot be written to ({reason}); choose another --out.") from None
    return folder


def _probe(folder: Path, prefix: str) -> None:
    """Write a file of the size that commands write, and remove it.

    This fails if the disk or a quota is full.
    """
    with tempfile.NamedTemporaryFile(prefix=prefix, dir=folder) as file:
        file.write(bytes(PROBE_BYTES))
        file.flush()


def require_output_file(path: Path) -> None:
    """Refuse a file that cannot be written, after trying in its folder; nothing is left there.

    Example:
        >>> require_output_file(Path("/proc/page.html"))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: /proc/page.html cannot be written (No such file or directory); choose a
        place in an existing folder that may be written to.
    """
    try:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "its name holds a zero byte")
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not path.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{short(path.parent)} is not a folder")
        _require_replaceable(path)
        # As write_atomically does it.
        _probe(path.parent, f".{path.name[:KEPT_CHARACTERS]}.")
        if len(os.fsencode(path.name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInputError(
            f"{short(path)} cannot be written ({reason}); choose a place in an existing folder that may be written to."
        ) from None


@contextlib.contextmanager
def filled_whole(out: Path) -> Iterator[Path]:
    """Yield a folder to fill, whose files appear in `out` together.

    If the context ends in an error, none of them appears. An existing empty folder stays the folder it is (it may be a
    mount point or a link); a new one appears with all its files at once. What the user made is never removed.
    """
    folder = require_output_folder(out)
    new = not folder.exists()
    made = _make_parents(folder) if new else []
    building: Path | None = None
    try:
        if new:
            place = folder.parent / f".robustirl-{secrets.token_hex(8)}"
            place.mkdir()  # With the permissions of new folders.
            building = place  # Only now: what fails is cleaned up.
        else:
            building = Path(tempfile.mkdtemp(prefix=".robustirl-", dir=folder))
        yield building
        if new:
            building.rename(folder)
        else:
            for path in sorted(building.iterdir()):
                path.rename(folder / path.name)
            building.rmdir()
    except BaseException as error:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)
        for parent in reversed(made):
            with contextlib.suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise InvalidInputError(f"{out} cannot be written to ({reason}); choose another --out.") from None
        if isinstance(error, InvalidInputError) and building is not None and str(building) in str(error):
            # The message must not name the temporary folder.
            raise InvalidInputError(str(error).replace(str(building), str(out))) from None
        raise


def _make_parents(folder: Path) -> list[Path]:
    """Make the parents of a folder, and return those that were not there, the outermost first."""
    missing = [parent for parent in folder.parents if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def short(path: object, most: int = 120) -> str:
    """Return a path as text, cut where it gets long."""
    text = str(path)
    return text if len(text) <= most else f"{text[:most]}..."
