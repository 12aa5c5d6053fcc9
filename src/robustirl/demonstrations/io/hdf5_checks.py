"""Refuse HDF5 files that lead outside themselves, before anything of them is read.

HDF5 can keep the values of a dataset in any other file of the machine (external storage, virtual datasets, external
links). An untrusted dataset could have such a file read as if it were recorded states.
"""

import stat
from pathlib import Path
from typing import Any

from robustirl._runtime import excess, one_line


def require_self_contained(folder: Path) -> None:
    """Refuse a Minari folder with anything but regular files.

    Also refuse one with an HDF5 file that leads outside itself.

    Raises:
        ValueError: With the reason in words, for the caller to put into a sentence.
    """
    for path in sorted(folder.rglob("*")):
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ValueError(f"{path.name} is not a regular file")
    for path in sorted(folder.rglob("*.hdf5")):
        _check_file(path)


def _check_file(path: Path) -> None:
    import h5py  # Minari's own dependency for such files.

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path.name} is not an HDF5 file: {one_line(error)}") from None
    with file:
        size, seen, groups = 0, set(), [file["/"]]
        while groups:
            group: Any = groups.pop()
            for name in group:
                link = group.get(name, getlink=True)
                place = f"{path.name}{group.name.rstrip('/')}/{name}"
                if isinstance(link, h5py.ExternalLink):
                    raise ValueError(f"{place} is a link to another file, {link.filename!r}, which is not followed")
                if not isinstance(link, h5py.HardLink):  # A link within the file leads to what is visited anyway.
                    continue
                found = group[name]
                address = h5py.h5o.get_info(found.id).addr  # pyright: ignore[reportAttributeAccessIssue]
                if address in seen:  # Links may lead back.
                    continue
                seen.add(address)
                if isinstance(found, h5py.Group):
                    groups.append(found)
                elif isinstance(found, h5py.Dataset):
                    _check_dataset(found, place)
                    size += found.size * found.dtype.itemsize if found.shape is not None else 0
        if reason := excess(size):
            raise ValueError(f"{path.name} holds {reason}")


def _check_dataset(dataset: Any, place: str) -> None:
    if dataset.is_virtual:
        raise ValueError(f"{place} is a virtual dataset, whose values are in other files, which are not read")
    if dataset.external:
        other = dataset.external[0][0]
        raise ValueError(f"{place} keeps its values in another file, {other!r}, which is not read")
