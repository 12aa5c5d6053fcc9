"""Places to write to, checked before any work."""

import errno
import os
import stat
import tempfile
from pathlib import Path

from robustirl._runtime.locks import KEPT_CHARACTERS
from robustirl._runtime.reading import file_kind
from robustirl._runtime.writing import require_replaceable, short
from robustirl.errors import InvalidInputError

PROBE_BYTES = 2**18
"""How much is written on trial before a command works: about what a fit writes."""
STORED = ("batches", "quarantine")
"""Folders of a store, which looks at what is in them itself."""
FOLDERS = (*STORED, "figures")
"""Folders that commands make in a folder."""
SUFFIXES = (".csv", ".gif", ".html", ".json", ".md", ".npz", ".parquet", ".png", ".svg", ".txt")
"""How the names of files end that commands write."""


def require_output_folder(out: Path, *, empty: bool = True) -> Path:
    """Return the folder to write to, resolved, after testing that it can be written to.

    Nothing is left there.

    Args:
        out: What `--out` names: a new folder, or an existing one, perhaps through links.
        empty: Whether an existing folder must be empty. In another, what stands in the place of files and folders that
            commands write must be files and folders.
    """
    if not str(out).strip() or "\0" in str(out):
        raise InvalidInputError(f"--out is {str(out)!r}, but the name of a folder is needed.")
    try:
        folder = Path(os.path.realpath(out, strict=False))
        if folder.is_symlink():
            raise InvalidInputError(f"{out} is a link that leads to itself; choose another --out.")
        if folder.exists() and not folder.is_dir():
            kind = _kind(folder)
            raise InvalidInputError(f"{out} is {kind}, but --out must name a folder; choose another name.")
        if folder.exists():
            require_empty(out, folder) if empty else _require_plain(out, folder)
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
        raise refusal(out, error) from None
    return folder


def refusal(out: Path, error: Exception) -> InvalidInputError:
    """Return what is said of a folder in which something failed."""
    if isinstance(error, InvalidInputError):
        return error
    reason = getattr(error, "strerror", None) or str(error)
    return InvalidInputError(f"{short(out)} cannot be written to ({reason}); choose another --out.")


def _kind(path: Path) -> str:
    mode = path.stat().st_mode
    return "a file" if stat.S_ISREG(mode) else file_kind(mode)


def require_empty(out: Path, folder: Path) -> None:
    """Refuse a folder with anything in it."""
    if any(folder.iterdir()):
        raise InvalidInputError(f"{out} is not empty; choose a new or an empty folder as --out.")


def _require_plain(out: Path, folder: Path) -> None:
    """Refuse a folder with something that cannot be replaced by what commands write.

    Links are not followed into other folders. One to a file is replaced; one to a device or a pipe is refused.
    """
    for place, folders, files in os.walk(folder):
        if place == str(folder):
            folders[:] = [name for name in folders if name not in STORED]
        for name in folders:
            if Path(name).suffix in SUFFIXES:
                raise InvalidInputError(
                    f"{short(_shown(out, folder, place, name))} is a folder, where a file is to be written; move it, or"
                    " choose another --out."
                )
        for name in files:
            path = Path(place, name)
            if place == str(folder) and name in FOLDERS:
                raise InvalidInputError(
                    f"{short(_shown(out, folder, place, name))} is a file, where a folder is needed; move it, or choose"
                    " another --out."
                )
            try:
                require_replaceable(path)
            except OSError as error:
                raise InvalidInputError(
                    f"{short(out)} cannot be written to ({error.strerror}); remove it, or choose another --out."
                ) from None


def _shown(out: Path, folder: Path, place: str, name: str) -> Path:
    return out / Path(place, name).relative_to(folder)


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
        require_replaceable(path)
        # As write_atomically does it.
        _probe(path.parent, f".{path.name[:KEPT_CHARACTERS]}.")
        if len(os.fsencode(path.name)) > os.pathconf(path.parent, "PC_NAME_MAX"):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    except OSError as error:
        raise file_refusal(path, error) from None


def file_refusal(path: Path, error: OSError) -> InvalidInputError:
    """Return what is said of a file that cannot be written."""
    reason = error.strerror or str(error)
    return InvalidInputError(
        f"{short(path)} cannot be written ({reason}); choose a place in an existing folder that may be written to."
    )
