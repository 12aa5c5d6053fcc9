"""The persistent compilation cache: programs that one process compiled are loaded by the next.

JAX writes one file a program. Its own bound on the size of the folder needs a lock file, and stops working once a
killed process leaves an entry without its time stamp. Here the folder is bounded when a process starts, by removing the
entries that were used longest ago. Any number of processes may read, write and remove at once: a program whose entry is
missing or half written is compiled again.
"""

import contextlib
import functools
import hashlib
import logging
import os
import platform
import re
import stat
import sys
import tempfile
import warnings
from pathlib import Path

import jax

from robustirl._runtime.files import one_line, printable, short_repr
from robustirl.errors import InvalidInputError
from robustirl.types import PathLike

MAX_BYTES = 512 * 2**20
"""How much is kept from one process to the next; `make reproduce` takes about 30 MB."""

_LOG = logging.getLogger(__name__)
_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_ENTRY = re.compile(r".*-[0-9a-f]{64}-(cache|atime)", re.DOTALL)  # What JAX calls its files.


def use_compilation_cache(folder: Path | None = None, *, max_bytes: int = MAX_BYTES) -> Path | None:
    """Keep compiled programs in a folder, and return the folder.

    This holds for this process and for those that it starts. A folder that the environment names
    (`JAX_COMPILATION_CACHE_DIR`) is used as it is, and not bounded. Where nothing can be written, and where somebody
    else could write (compiled programs are run as they are found), the cache is off, and the reason is logged.

    Args:
        folder: Where to keep them; a folder of this machine's processor in the user's cache directory if omitted.
        max_bytes: How much of what is there already to keep.
    """
    # JAX warns where an entry cannot be read or written, and compiles; there is nothing for the user to do.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry", UserWarning)
    named = os.environ.get(_FOLDER)
    if named and folder is None:
        return Path(named)
    try:
        place = user_cache_folder() / "programs" / processor() if folder is None else Path(folder).absolute()
        _prepare(place, max_bytes)
    except (OSError, RuntimeError) as error:  # Path.home raises RuntimeError where there is no home.
        _LOG.debug("compiled programs are not kept: %s", error)
        return None
    settings = {
        "jax_compilation_cache_dir": str(place),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)
    return place


def _prepare(folder: Path, max_bytes: int) -> None:
    """Make the folder and bound its size.

    Raise OSError if nothing can be written, or if another user could write.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    if os.name == "posix" and found.st_mode & stat.S_IWOTH:
        raise PermissionError(f"everybody may write in {folder}")
    with tempfile.TemporaryFile(dir=folder):
        pass
    bound_size(folder, max_bytes)


def enable_cache(folder: PathLike | None = None) -> Path | None:
    """Keep compiled programs from one Python process to the next, and return the folder.

    The command line does the same. Call this function before the first fit. It changes JAX's configuration for the
    whole process, so that programs of your own are kept as well; it is therefore not on by default. At most 512 MB are
    kept, the programs used last.

    Args:
        folder: Where to keep them. If omitted, one in the user's cache directory, or none (and None is returned) if
            nothing can be written there.

    Example:
        >>> import robustirl
        >>> robustirl.enable_cache()  # doctest: +SKIP
        PosixPath('/home/me/.cache/robustirl/programs/x86_64-...')
    """
    if folder is None:
        return use_compilation_cache()
    try:
        place = Path(folder).absolute()
        _prepare(place, MAX_BYTES)
    except (OSError, TypeError, ValueError) as error:  # No path, or a name that no folder can have.
        raise InvalidInputError(
            f"compiled programs cannot be kept in {short_repr(folder, 200)}: {printable(one_line(error))};"
            " name a folder of your own that can be written, or omit it."
        ) from None
    return use_compilation_cache(place)


def disable_compilation_cache() -> None:
    """Compile everything, in this process and in those that it starts."""
    jax.config.update("jax_enable_compilation_cache", False)
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"


def bound_size(folder: Path, max_bytes: int) -> None:
    """Remove the entries that were used longest ago, until the rest takes at most this much.

    Whatever else is in the folder is neither counted nor touched: it may be one that the user keeps other files in.

    Example:
        >>> with tempfile.TemporaryDirectory() as name:
        ...     for age, entry in enumerate(("new", "old", "older")):
        ...         path = Path(name) / f"jit_{entry}-{64 * '0'}-cache"
        ...         _ = path.write_bytes(bytes(10))
        ...         os.utime(path, (1000 - age, 1000 - age))
        ...     bound_size(Path(name), 25)
        ...     sorted(path.name.split("-")[0] for path in Path(name).iterdir())
        ['jit_new', 'jit_old']
    """
    entries: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        if not _ENTRY.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):  # Another process removed it.
            found = path.lstat()
            entries.append((max(found.st_atime, found.st_mtime), found.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= max_bytes:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def user_cache_folder() -> Path:
    """Return the folder for what can be made again.

    It is under `XDG_CACHE_HOME`, or where the system keeps such files.
    """
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "robustirl"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "robustirl" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "robustirl"
    return Path.home() / ".cache" / "robustirl"


@functools.cache
def processor() -> str:
    """Return a name for what this processor can do.

    A program for another processor may use instructions that this one lacks.
    """
    text = platform.machine()
    with contextlib.suppress(OSError):  # Not on every system.
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]
