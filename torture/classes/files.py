"""Files that cannot be read: every format times every fault of a file, its name and its content."""

import functools
import gzip
import io
import os
import random
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robustirl import demonstrations, envs, irl
from robustirl.reports import read_occupancy
from robustirl.sweeps import Store
from robustirl.sweeps.store.batch_files import read_batch
from robustirl.sweeps.store.packing import pack_store, unpack_store
from torture.classes import BadInput, Command
from torture.targets import TARGETS, kept

FORMATS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "demonstrations npz": (".npz", demonstrations.load),
    "demonstrations jsonl": (".jsonl", demonstrations.load),
    "demonstrations csv": (".csv", demonstrations.load),
    "demonstrations parquet": (".parquet", demonstrations.load),
    "world": (".npz", envs.from_file),
    "estimator": (".npz", irl.RobustIRL.load),
    "fit": (".npz", irl.load_fit),
    "occupancy": (".txt", read_occupancy),
    "graph": (".gr", envs.read_graph),
    "graph, compressed": (".gr.gz", envs.read_graph),
    "occupancy csv": (".csv", read_occupancy),
    "occupancy npz": (".npz", read_occupancy),
    "state of imitation": (".json", lambda path: _imitation(path, "state.json")),
    "data of imitation": (".arrow", lambda path: _imitation(path, "data.arrow")),
    "batch": (".npz", read_batch),
    "packed store": (".npz", lambda path: unpack_store(path, Path("unpacked"))),
}
"""The suffix and the loader of each."""
COMMANDS = {
    "fit, demonstrations": ("fit", "--env", "three-state", "--out", "new", "--demos"),
    "fit, world": ("fit", "--demos", "sound.npz", "--out", "new", "--env"),
    "inspect": ("demos", "inspect"),
    "convert": ("demos", "convert"),
    "theory": ("theory", "--out", "new", "--occupancy"),
    "records": ("continuous", "--out", "new", "--records"),
}
"""Commands that end in the name of a file."""


@functools.cache
def sound(name: str) -> bytes:
    """Return a sound file of a format."""
    match name.split():
        case ["demonstrations", suffix]:
            return TARGETS[f"demos-{suffix}"].seeds()[0]
        case ["estimator" | "fit"]:
            return kept("model")[0 if name == "estimator" else 1]
        case ["graph"]:
            return b"p tw 3 2\n1 2\n2 3\n"
        case ["graph,", "compressed"]:
            return gzip.compress(sound("graph"))
        case ["occupancy", "csv"]:
            return b"state,occupancy\n0,0.5\n1,0.5\n"
        case ["occupancy", "npz"]:
            return kept("model")[0]
        case ["state", *_]:
            return b'{"_data_files": [{"filename": "data.arrow"}]}'
        case ["data", *_]:
            return _arrow()
        case ["packed", "store"]:
            buffer = io.BytesIO()
            np.savez(buffer, **{"store.json": np.frombuffer(TARGETS["store-note"].seeds()[0], np.uint8)})  # pyright: ignore[reportArgumentType]
            return buffer.getvalue()
        case _:
            return TARGETS[name].seeds()[0]


def _arrow() -> bytes:
    import pyarrow

    table = pyarrow.table({"obs": [[0, 1]], "acts": [[0]], "terminal": [True]})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _imitation(path: Path, name: str) -> object:
    """Load a folder of imitation in which the file at `path` has the given name."""
    folder = Path("trajectories")
    folder.mkdir()
    (folder / "state.json").write_bytes(sound("state of imitation"))
    (folder / "data.arrow").write_bytes(sound("data of imitation"))
    (folder / name).unlink()
    if path.exists() or path.is_symlink():
        path.rename(folder / name)
    return demonstrations.load(folder)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


def _declaring_a_terabyte(path: Path) -> None:
    """Write an archive whose one member says that it unpacks to a terabyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("states.npy", b"\x93NUMPY\x01\x00" + bytes(2000))
        archive.filelist[0].file_size = 2**40


def _arrow_declaring_a_terabyte(path: Path) -> None:
    """Write an Arrow stream with a compressed buffer that says that it unpacks to a terabyte."""
    import pyarrow

    table = pyarrow.table({"obs": [[0] * 1001], "acts": [[0] * 1000], "terminal": [True]})
    sink = pyarrow.BufferOutputStream()
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    path.write_bytes(content.replace((8000).to_bytes(8, "little"), (2**40).to_bytes(8, "little"), 1))


PLACES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "an empty device": lambda path: path.symlink_to("/dev/null"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("gone"),
    "a socket": _socket,
    "a terabyte of holes": _sparse,
    "memory of the process": lambda path: path.symlink_to("/proc/self/mem"),
}
"""What may stand where a file should be."""

CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "nothing in it": lambda _: b"",
    "one byte": lambda _: b"P",
    "zeros": lambda _: bytes(4096),
    "noise": lambda _: random.Random(0).randbytes(4096),
    "half of it": lambda content: content[: len(content) // 2],
    "a page": lambda _: b"<!doctype html><title>404</title><h1>Not found</h1>\n",
    "compressed": gzip.compress,
    "as UTF-16": lambda content: content.decode("latin-1").encode("utf-16"),
    "as text of bytes": lambda content: repr(content).encode(),
    "an archive of nothing": lambda _: b"PK\x05\x06" + bytes(18),
    "an array alone": lambda _: TARGETS["npz-header"].seeds()[0],
    "an open bracket a million times": lambda _: b"[" * 10**6,
    "a number of 5000 digits": lambda _: b"1" * 5000 + b"\n",
    "a line of 3 MB": lambda _: b"x" * 3_000_000,
    "escape sequences": lambda _: b"\x1b[31m\x07\x9b2J,\x00\n1,2\n",
    "not UTF-8": lambda _: b"episode,state\n\xff\xfe,\xe9\n",
}
"""What a file may hold instead of what it should; no format accepts any of it."""

NAMES: dict[str, str] = {
    "no name": "",
    "a folder's name": ".",
    "the root": "/",
    "300 letters": "x" * 300,
    "3 MB of letters": "x" * 3_000_000,
    "a zero byte": "a\0b",
    "an escape sequence": "\x1b[2J\x1b]0;title\x07",
    "two lines": "a\nb",
    "markup": "a[red]b[/x]",
    "mathtext": "$\\frac{a}$",
    "not UTF-8": "caf\udce9",
    "right to left": "a\u202eb",
    "below a file": "sound.npz/x",
    "a colon": "module:name",
}


HOLDING = {
    *(("fit", "estimator"), ("fit", "occupancy npz")),
    *(("occupancy npz", "estimator"), ("estimator", "occupancy npz")),
}
"""Formats of which the second holds what the first is."""
SOUND = {("occupancy", "half of it"), ("state of imitation", "as UTF-16")}
"""Formats with a fault that leaves them sound: fewer numbers, and JSON in another encoding."""


def bad_files() -> Iterator[BadInput]:
    """Yield every format with every fault."""
    for name, (suffix, load) in FORMATS.items():
        for what, make in PLACES.items():
            yield BadInput(f"{name}: {what}", functools.partial(_load_place, make, f"file{suffix}", load))
        for what, change in CONTENTS.items():
            if (name, what) in SOUND:
                continue
            yield BadInput(f"{name}: {what}", functools.partial(_load_content, name, change, suffix, load))
        for other in FORMATS:
            if other != name and (name, other) not in HOLDING:
                yield BadInput(f"{name}: {other} inside", functools.partial(_load_content, other, None, suffix, load))
        for what, text in NAMES.items() if "imitation" not in name else ():
            yield BadInput(f"{name}: named {what}", functools.partial(_load_name, text, suffix, load))
        if suffix == ".npz":
            yield BadInput(
                f"{name}: a declared terabyte", functools.partial(_load_place, _declaring_a_terabyte, "file.npz", load)
            )
        if suffix == ".arrow":
            make = _arrow_declaring_a_terabyte
            yield BadInput(f"{name}: a declared terabyte", functools.partial(_load_place, make, "file.arrow", load))
    for what, fault in STORES.items():
        yield BadInput(f"store: {what}", functools.partial(_load_store, fault))


def bad_targets() -> Iterator[BadInput]:
    """Yield everything that writes a file, with every name and place where nothing can be written."""
    for name, (suffix, save) in WRITERS.items():
        for what in UNWRITABLE:
            yield BadInput(f"{name}: {what}", functools.partial(_load_name, NAMES[what], suffix, save))
        for what in IRREPLACEABLE:
            yield BadInput(f"{name}: over {what}", functools.partial(_load_place, PLACES[what], f"file{suffix}", save))


UNWRITABLE = ("no name", "a folder's name", "the root", "300 letters", "3 MB of letters", "a zero byte", "below a file")
IRREPLACEABLE = ("a folder", "a pipe", "an endless device", "an empty device", "a socket")
WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    **{
        f"save {suffix}": (f".{suffix}", lambda path: demonstrations.save(_walks(), path))
        for suffix in ("npz", "jsonl", "csv", "parquet")
    },
    "save a fit": (".npz", lambda path: irl.save_fit(_fit(), path)),
    "pack a store": (".npz", lambda path: pack_store(_store(), path)),
}


def _walks() -> demonstrations.Demonstrations:
    return demonstrations.Demonstrations.from_arrays([[0, 1]])


def _fit() -> Any:
    Path("fit.npz").write_bytes(sound("fit"))
    return irl.load_fit("fit.npz")


def _store() -> Path:
    _store_with(TARGETS["store-note"].seeds()[0])(Path("store"))
    return Path("store")


def bad_file_commands() -> Iterator[BadInput]:
    """Yield every command that reads a file, with every fault of a name and of a place."""
    for command, words in COMMANDS.items():
        for what, text in NAMES.items():
            yield BadInput(f"{command}: named {what}", functools.partial(_command, words, text, None))
        for what, make in PLACES.items():
            yield BadInput(f"{command}: {what}", functools.partial(_command, words, "file.npz", make))


def _command(words: tuple[str, ...], name: str, make: Callable[[Path], object] | None) -> Command:
    Path("sound.npz").write_bytes(sound("demonstrations npz"))
    if make is not None:
        make(Path(name))
    return Command((*words, name, *(["new.csv"] if words[:2] == ("demos", "convert") else [])))


def _load_place(make: Callable[[Path], object], name: str, load: Callable[[Path], object]) -> object:
    make(Path(name))
    return load(Path(name))


def _load_content(
    name: str, change: Callable[[bytes], bytes] | None, suffix: str, load: Callable[[Path], object]
) -> object:
    path = Path(f"file{suffix}")
    path.write_bytes(sound(name) if change is None else change(sound(name)))
    return load(path)


def _load_name(text: str, suffix: str, load: Callable[[Path], object]) -> object:
    Path("sound.npz").write_bytes(b"")
    return load(Path(text if text in ("", ".", "/") else text + suffix))


def _load_store(fault: Callable[[Path], object]) -> object:
    fault(Path("store"))
    return Store.read(Path("store"))


def _store_with(note: bytes | Callable[[Path], object]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "batches").mkdir(parents=True)
        if callable(note):
            note(folder / "store.json")
        else:
            (folder / "store.json").write_bytes(note)

    return make


STORES: dict[str, Callable[[Path], object]] = {
    **{f"{what} for a folder": make for what, make in PLACES.items() if what not in ("a folder",)},
    **{f"{what} for a note": _store_with(make) for what, make in PLACES.items()},
    **{
        f"{what} for a note": _store_with(change(TARGETS["store-note"].seeds()[0])) for what, change in CONTENTS.items()
    },
}
