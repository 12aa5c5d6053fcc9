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
        sizes, links, soft, groups = {}, {}, [], [file["/"]]
        links[_address(groups[0])] = []
        while groups:
            group: Any = groups.pop()
            for name in group:
                link = group.get(name, getlink=True)
                place = f"{path.name}{group.name.rstrip('/')}/{name}"
                if isinstance(link, h5py.ExternalLink):
                    raise ValueError(f"{place} is a link to another file, {link.filename!r}, which is not followed")
                if not isinstance(link, h5py.HardLink):  # A link within the file leads to what is visited anyway.
                    soft.append((group, name))
                    continue
                found = group[name]
                address = _address(found)
                links[_address(group)].append(address)
                if address in links or address in sizes:  # Links may lead back.
                    continue
                sizes[address] = 0
                if isinstance(found, h5py.Group):
                    links[address] = []
                    groups.append(found)
                elif isinstance(found, h5py.Dataset):
                    _check_dataset(found, place)
                    sizes[address] = found.size * found.dtype.itemsize if found.shape is not None else 0
        for group, name in soft:  # Now that none leads to another file.
            if name in group and (found := group.get(name)) is not None:
                links[_address(group)].append(_address(found))
        if reason := excess(_total(_address(file["/"]), sizes, links)):
            raise ValueError(f"{path.name} holds {reason}")


def _address(found: Any) -> int:
    import h5py

    return h5py.h5o.get_info(found.id).addr  # pyright: ignore[reportAttributeAccessIssue]


def _total(root: int, sizes: dict[int, int], links: dict[int, list[int]]) -> int:
    """Return the size of all that is below an object, each as often as links lead to it.

    A reader follows every link, and keeps what it finds there. A link that leads back counts nothing.
    """
    totals: dict[int, int] = {}
    entered, waiting = set(), [(root, False)]
    while waiting:
        address, visited = waiting.pop()
        if visited:
            totals[address] = sizes.get(address, 0) + sum(totals.get(below, 0) for below in links.get(address, ()))
        elif address not in entered:
            entered.add(address)
            waiting += [(address, True), *((below, False) for below in links.get(address, ()))]
    return totals[root]


def _check_dataset(dataset: Any, place: str) -> None:
    if dataset.is_virtual:
        raise ValueError(f"{place} is a virtual dataset, whose values are in other files, which are not read")
    if dataset.external:
        other = dataset.external[0][0]
        raise ValueError(f"{place} keeps its values in another file, {other!r}, which is not read")
