"""Read and write files: whole or not at all, and nothing that runs code when it is read."""

import contextlib
import io
import os
import secrets
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robustirl._check import as_path as as_path
from robustirl._check import one_line, require_memory, short_repr
from robustirl.errors import InvalidInputError


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file; a pipe would be waited for, a device read without end.

    If it cannot be read, an OSError is raised whose `strerror` says why.

    Example:
        >>> read_regular(Path("/dev/null"))
        Traceback (most recent call last):
        OSError: [Errno 22] it is not a regular file
    """
    found = path.stat().st_mode
    if not (stat.S_ISREG(found) or stat.S_ISDIR(found)):  # Of a folder, opening it says what it is.
        raise OSError(22, "it is not a regular file")
    return path.read_bytes()


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name, if all of them are plain.

    Whatever is wrong comes out as a `ValueError` of one line, for the caller to put into a sentence that names the
    file.

    Example:
        >>> buffer = io.BytesIO()
        >>> np.savez(buffer, states=np.arange(2))
        >>> read_arrays(buffer.getvalue())["states"].tolist()
        [0, 1]
    """
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # NumPy would take it for an array, or for a pickle.
        raise ValueError("it holds a single array" if content.startswith(b"\x93NUMPY") else "it is not a zip archive")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            require_memory(sum(m.file_size for m in archive.infolist()), "the file, unpacked,", "read it in parts")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # Damaged archives and array headers raise nearly anything, MemoryError included.
        raise ValueError(one_line(error)) from None


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays into an .npz file, whole or not at all."""
    buffer = io.BytesIO()
    plain: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
    np.savez_compressed(buffer, **plain)
    write_atomically(path, buffer.getvalue())


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by one with this content, or leave it as it was.

    No reader ever sees only a part of the content. What is neither a file nor a link, such as a device or a pipe, is
    refused.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "note.txt", "whole")
        ...     (Path(folder) / "note.txt").read_text()
        'whole'
    """
    if path.exists() and not path.is_file():
        raise OSError(22, f"{path.name} is not a regular file")
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # There is nothing to remove where nothing could be written.
            temporary.unlink(missing_ok=True)
        raise


def require_new_file(path: Path) -> None:
    """Refuse a file that cannot be written, after trying in its folder; nothing is left there.

    Example:
        >>> require_new_file(Path("/proc/page.html"))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: /proc/page.html cannot be written (No such file or directory); choose a
        place in an existing folder that may be written to.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(22, "it is not a regular file")
        probe = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
        probe.touch(exist_ok=False)
        probe.unlink()
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path} cannot be written ({getattr(error, 'strerror', None) or error}); choose a place in an existing"
            " folder that may be written to."
        ) from None


@contextlib.contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Give a folder to write into, which becomes `out` when the context ends without an error.

    A folder with something in it is not overwritten, and an error or Ctrl-C leaves nothing half-written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with new_folder(Path(place) / "out") as folder:
        ...         write_atomically(folder / "note.txt", "whole")
        ...     (Path(place) / "out" / "note.txt").read_text()
        'whole'
    """
    if not str(out).strip() or "\0" in str(out):
        raise InvalidInputError(f"the folder is {short_repr(str(out))}, but the name of a folder is needed.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        kind = "not empty" if out.is_dir() else "a file"
        raise InvalidInputError(f"{out} is {kind}; choose a new or an empty folder.")
    place = Path(os.path.realpath(out))
    temporary = place.parent / f".{place.name[:100]}.{secrets.token_hex(8)}"
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise InvalidInputError(f"{out} cannot be made ({error.strerror}); choose another folder.") from None
    try:
        yield temporary
        temporary.replace(place)  # An empty folder may be replaced.
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
