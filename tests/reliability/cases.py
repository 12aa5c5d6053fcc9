"""What the tables of bad inputs share: a case, a folder of sound files, and ways to spoil them."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robustirl.demonstrations import Demonstrations, save
from robustirl.mdp import MDP

CORPUS = Path(__file__).parent / "corpus"
WALKS = Demonstrations.from_arrays([[0, 1, 2], [1]], [[0, 1], []], terminated=[True, False])

# Two states, two actions: stay or go; the second state absorbs and has one action.
KERNEL = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]
WORLD = MDP(KERNEL, discount=0.9)


spoiled: set[str] = set()
"""The files that the request under way has written itself, to be read."""


class Case(NamedTuple):
    """A bad request and the sentence it gets, in full, as a snapshot.

    `request` is called in a folder that holds what `prepare` puts there; for the command line it is the line.
    """

    name: str
    request: Callable[[], object] | str
    sentence: str


def require_sentence(message: str) -> None:
    """Refuse a message that is not one line ending with a full stop."""
    assert len(message.splitlines()) == 1
    assert message.endswith(".")
    assert not message.endswith("..")


def prepare(folder: Path) -> None:
    """Fill a folder with sound files of every kind, and some that are none."""
    for suffix in ("npz", "jsonl", "csv", "parquet"):
        save(WALKS, folder / f"walks.{suffix}")
    for name in ("fit", "estimator"):
        (folder / f"{name}.npz").write_bytes((CORPUS / "model" / f"seed-{name}").read_bytes())
    (folder / "folder.npz").mkdir()
    (folder / "minari").mkdir()  # Which Minari makes when it is first asked.
    (folder / "taken").mkdir()
    (folder / "taken" / "mine").write_text("mine")
    (folder / "file").write_text("mine")


def written(content: bytes | str, name: str) -> str:
    """Write a file and give its name: for a request that spoils a file before it reads it."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    spoiled.add(name)
    return name


def npz(name: str, **arrays: object) -> str:
    """Write an .npz file of these arrays, pickles included."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, **{key: np.asarray(value) for key, value in arrays.items()})
    return written(buffer.getvalue(), name)


def changed(source: str, name: str, change: Callable[[bytes], bytes]) -> str:
    """Write a spoiled copy of a file."""
    return written(change(Path(source).read_bytes()), name)


def with_members(source: str, name: str, **members: bytes | None) -> str:
    """Write a copy of an .npz file in which some members are replaced, or left out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(name, "w") as new:
        for member in old.namelist():
            content = members.get(member.removesuffix(".npy"), old.read(member))
            if content is not None:
                new.writestr(member, content)
    spoiled.add(name)
    return name


def header(text: str) -> bytes:
    """An .npy member with this header and no data to speak of."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\x00" * 64


def altered(source: str, **fields: object) -> str:
    """Change fields of a JSON file in place."""
    return written(json.dumps(json.loads(Path(source).read_text()) | fields), source)
