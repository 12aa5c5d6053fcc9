"""What other programs hand over: pickles and archives, frames, recordings, and options of tables that are none."""

import functools
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from robustirl import demonstrations, envs, irl
from robustirl.demonstrations import Demonstrations, Recordings
from torture.classes import BadInput
from torture.targets import UnclearError

NAN = float("nan")
RAN = "code-was-run"
LOADERS: dict[str, Callable[[Any], object]] = {
    "demonstrations": demonstrations.load,
    "world": envs.from_file,
    "graph": envs.read_graph,
    "estimator": irl.RobustIRL.load,
    "fit": irl.load_fit,
    "imitation": irl.RobustImitation.load,
    "recordings": Recordings.load,
}
FILES = ("agent.zip", "agent.npz", "buffer.pkl", "policy.pt", "array.npy", "model.joblib")
OPTIONS: dict[str, dict[str, Any]] = {
    "columns": {
        "a list": ["a", "b"],
        "a number": 5,
        "nothing inside": {"episode": None},
        "one for two": {"episode": "state", "state": "state"},
        "numbers": {1: "a"},
    },
    "state_names": {"a text": "ab", "a number": 3, "a hole": ["a", None], "numbers": [1, 2], "twice": ["1", "1", "2"]},
    "first_state": {"an array": np.array([0, 1]), "two": 2, "a half": 0.5, "a word": "1", "NaN": NAN},
    "separator": {
        "a list": [";"],
        "a number": 5,
        "a truth": True,
        "two letters": "ab",
        "quotes": '"',
        "an escape": "\x1b",
    },
}
TEXTS = {
    "UTF-16": "episode,state\n0,1\n".encode("utf-16"),
    "UTF-16 from the other end": b"\xfe\xff" + "episode,state\n0,1\n".encode("utf-16-be"),
    "a zero byte": b"episode,state\n0,\x001\n",
    "an open quotation": b'episode,state\n"0,1\n',
    "a cell of 200,000 digits": b"episode,state\n0," + b"9" * 200_000 + b"\n",
    "a column twice": b"episode,state,state\n0,1,2\n",
    "names 100,000 deep": b"# robustirl.names " + b"[" * 100_000 + b"\nepisode,state\n0,1\n",
}
FRAMES: dict[str, Any] = {
    "nothing": {"episode": None, "state": None},
    "texts": {"episode": "0", "state": "1"},
    "numbers": {"episode": 0, "state": 1},
    "sets": {"episode": {0}, "state": {1}},
    "several lengths": {"episode": [0], "state": [1, 2]},
    "two axes": {"episode": np.zeros((2, 2)), "state": np.zeros((2, 2))},
    "columns and nothing else": SimpleNamespace(columns=["episode", "state"]),
    "columns that are a number": SimpleNamespace(columns=5),
    "rows": [{"episode": 0, "state": 1}],
    "a name": "walks.csv",
}
OBSERVATIONS = [[[0.0, 1.0], [1.0, 2.0]]]
RECORDED: dict[str, dict[str, Any]] = {
    "nothing": {"observations": None},
    "a number": {"observations": 5},
    "a text": {"observations": "abc"},
    "masked": {"observations": [np.ma.array([[0.0], [1.0]], mask=[[False], [True]])]},
    "complex": {"observations": [[[1j], [2j]]]},
    "dates": {"observations": [np.zeros((2, 1), "M8[s]")]},
    "words": {"observations": [[["1"], ["2"]]]},
    "NaN": {"observations": [[[NAN], [1.0]]]},
    "ends in words": {"terminated": ["no"]},
    "an end of 2": {"terminated": [2]},
    "one end for all": {"terminated": True},
    "masked actions": {"actions": [np.ma.array([[1.0]], mask=[[True]])]},
    "actions that are a number": {"actions": 5},
}
SAVED: dict[str, Any] = {
    "lengths": np.array([2, 3]),
    "observations": np.zeros((5, 2)),
    "terminated": np.array([True, False]),
    "actions": np.zeros((3, 1)),
}
DAMAGE: dict[str, dict[str, np.ndarray]] = {
    "lengths": {
        "too short": np.array([2, 2]),
        "negative": np.array([-2, 7]),
        "floats": np.array([2.0, 3.0]),
        "huge": np.array([2**62, 2**62]),
        "that overflow": np.array([2**63 + 2, 2**63 + 3], np.uint64),
        "none": np.array([], int),
    },
    "observations": {"one axis": np.zeros(5), "complex": np.zeros((5, 2), complex), "no axis": np.array(5.0)},
    "terminated": {"words": np.array(["a", "b"]), "no axis": np.array(True), "NaN": np.array([NAN, 0])},
    "actions": {"too few": np.zeros((1, 1)), "too many": np.zeros((9, 1)), "three axes": np.zeros((3, 1, 1))},
}


class Booby:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (RAN,)


def bad_foreign() -> Iterator[BadInput]:
    """Yield everything of this file."""
    for door, load in LOADERS.items():
        for file in FILES:
            for what, content in (
                ("archive", _archive()),
                ("pickle", pickle.dumps([Booby()])),
                ("objects", _objects()),
            ):
                yield BadInput(f"{door}: {file} as {what}", functools.partial(_load_unharmed, load, file, content))
    for option, values in OPTIONS.items():
        for what, value in values.items():
            yield BadInput(
                f"table, {option}: {what}", functools.partial(_table, b"episode,state\n0,1\n", **{option: value})
            )
    for what, text in TEXTS.items():
        yield BadInput(f"table: {what}", functools.partial(_table, text))
    for what, frame in FRAMES.items():
        yield BadInput(f"frame: {what}", functools.partial(Demonstrations.from_frame, frame))
    for what, change in RECORDED.items():
        given = {"observations": OBSERVATIONS} | change
        yield BadInput(f"recordings: {what}", functools.partial(Recordings.from_arrays, **given))
    for part, faults in DAMAGE.items():
        for what, array in faults.items():
            yield BadInput(f"file of recordings, {part}: {what}", functools.partial(_recordings, {part: array}))
    for name in ("", "missing/r.npz", "a\0b", "x" * 300, "."):
        save = Recordings.from_arrays(OBSERVATIONS).save
        yield BadInput(f"recordings to {name!r:.20}", functools.partial(save, name))


@functools.cache
def _archive() -> bytes:
    """Return what stable-baselines3 saves of an agent: JSON, and pickles inside."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("data", json.dumps({"policy_class": {":type:": "type", ":serialized:": "gASV"}}))
        file.writestr("policy.pth", pickle.dumps(Booby()))
        file.writestr("_stable_baselines3_version", "2.2.1")
    return buffer.getvalue()


@functools.cache
def _objects() -> bytes:
    """Return an .npz file whose arrays hold Python objects, as pickles."""
    buffer = io.BytesIO()
    booby = np.array([Booby()], object)
    np.savez(buffer, kernel=booby, states=booby, observations=booby, lengths=booby, data=booby, format=np.array(b"csr"))
    return buffer.getvalue()


def _load_unharmed(load: Callable[[Any], object], file: str, content: bytes) -> object:
    Path(file).write_bytes(content)
    try:
        return load(file)
    finally:
        if Path(RAN).exists():
            raise UnclearError("the code in the file was run")


def _table(content: bytes, **options: Any) -> object:
    Path("table.csv").write_bytes(content)
    return demonstrations.load("table.csv", **options)


def _recordings(change: dict[str, np.ndarray]) -> object:
    np.savez("recordings.npz", **(SAVED | change))  # pyright: ignore[reportArgumentType]
    return Recordings.load("recordings.npz")
