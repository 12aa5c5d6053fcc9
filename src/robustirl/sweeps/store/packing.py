"""A store as one file, to carry it from the machine that computed it to the one that draws it.

The file is an npz archive of bytes: `store.json` and the batch files as they are, each with its own checksum. Nothing
in it is run when it is read, and nothing is written before all of it has been checked.
"""

import io
import re
import tempfile
from pathlib import Path

import numpy as np

from robustirl._runtime import as_path, read_arrays, read_regular, write_atomically
from robustirl.errors import InvalidInputError
from robustirl.sweeps.store.store import Store, writing_to

_NOTE = "store.json"
_BATCH = re.compile(r"[0-9a-f]{20}\.npz")


def pack_store(folder: Path, path: Path) -> Path:
    """Write a store's runs, without tables and figures, into one file.

    Args:
        folder: The store.
        path: The file, by custom with the suffix `.npz`.

    Example:
        >>> from robustirl.paper.finite import RunSpec
        >>> with tempfile.TemporaryDirectory() as name:
        ...     with Store.open(Path(name) / "here", [RunSpec("gridworld-1", "published", 0.0, 0.1, 1.0)]):
        ...         pass
        ...     file = pack_store(Path(name) / "here", Path(name) / "runs.npz")
        ...     unpack_store(file, Path(name) / "there").specs[0].expert_noise
        0.1
    """
    path = as_path(path)
    store = Store.read(folder, strict=True)  # Refuse to pack a damaged store.
    files = {_NOTE: store.folder / _NOTE, **{batch.name: batch for batch in sorted(store.batches.glob("*.npz"))}}
    buffer = io.BytesIO()
    content = {name: np.frombuffer(read_regular(file), np.uint8) for name, file in files.items()}
    np.savez(buffer, allow_pickle=False, **content)  # pyright: ignore[reportArgumentType]
    with writing_to(path.parent):
        write_atomically(path, buffer.getvalue())
    return path


def unpack_store(path: Path, folder: Path) -> Store:
    """Make a store in a new or empty folder from a file that `pack_store` wrote.

    The store keeps the configuration it was computed under, so it can be drawn here but not added to.
    """
    path, folder = as_path(path), as_path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} is not empty; choose an empty or new folder as --out, or remove that one.")
    try:
        content = {name: array.tobytes() for name, array in read_arrays(read_regular(path)).items()}
        if _NOTE not in content or not all(name == _NOTE or _BATCH.fullmatch(name) for name in content):
            raise ValueError("it does not hold a store")
    except FileNotFoundError:
        raise InvalidInputError(f"{path} does not exist; give the file of a packed store.") from None
    except Exception as error:  # A damaged archive can raise nearly anything.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(
            f"{path} cannot be read as a packed store ({reason.rstrip('.')}); pack it again."
        ) from None
    with tempfile.TemporaryDirectory() as scratch:
        _write(content, Path(scratch))
        Store.read(Path(scratch), strict=True)  # Refuses what is damaged.
    with writing_to(folder):
        _write(content, folder)
    return Store.read(folder)


def _write(content: dict[str, bytes], folder: Path) -> None:
    """Order the files, batches first: a store is one once its note is there."""
    (folder / "batches").mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        if name != _NOTE:
            write_atomically(folder / "batches" / name, data)
    write_atomically(folder / _NOTE, content[_NOTE])
