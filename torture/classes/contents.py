"""Sound formats with one wrong thing inside: sparse worlds, graphs, times, and what other libraries save."""

import csv
import datetime
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from robustirl import demonstrations, envs
from torture.classes import BadInput

NAN, INF = float("nan"), float("inf")
IDENTITY = {  # Three states, two actions, each of which stays: as scipy.sparse.save_npz writes it.
    "data": np.ones(6),
    "indices": np.tile(np.arange(3), 2),
    "indptr": np.arange(7),
    "shape": np.array([6, 3]),
    "format": np.array(b"csr"),
}
SPARSE: dict[str, dict[str, Any]] = {
    "format": {
        "two words": np.array([b"csr"] * 2),
        "a number": np.array(5),
        "none": np.zeros(0),
        "noise": np.array(b"\xff"),
        "escapes": np.array("csr\n\x1b[2J"),
    },
    "shape": {
        "three": np.array([6, 3, 1]),
        "one": np.array([6]),
        "a number": np.array(6),
        "negative": np.array([6, -3]),
        "parts": np.array([6.5, 3]),
        "NaN": np.array([NAN, 3]),
        "words": np.array(["6", "3"]),
        "huge": np.array([2**62, 2**61]),
        "many rows": np.array([6 * 10**9, 3]),
        "zeros": np.array([0, 0]),
    },
    "data": {
        "NaN": np.full(6, NAN),
        "infinite": np.full(6, INF),
        "complex": np.ones(6, complex),
        "2-D": np.ones((6, 1)),
        "words": np.array(list("abcdef")),
        "dates": np.zeros(6, "M8[s]"),
        "negative": np.array([2.0, -1, 1, 1, 1, 1]),
    },
    "indices": {
        "too large": np.array([0, 1, 2, 0, 1, 9]),
        "negative": np.array([0, 1, 2, 0, 1, -1]),
        "truths": np.zeros(6, bool),
        "halves": np.arange(6) / 2,
        "unsigned": np.array([0, 1, 2, 0, 1, 2**63], np.uint64),
        "words": np.array(list("012012")),
    },
    "indptr": {
        "falling": np.array([0, 2, 1, 3, 4, 5, 6]),
        "short": np.array([0, 6]),
        "none": np.zeros(0, int),
        "negative": np.arange(7) - 1,
        "beyond": np.array([0, 1, 2, 3, 4, 5, 60]),
    },
}
DIMACS = {
    "too many nodes": "p sp 1000000000000000 0\n",
    "a number of 5000 digits": f"p sp {'9' * 5000} 1\n",
    "negative counts": "p sp -3 -1\n",
    "counts with an exponent": "p sp 1e3 1\n",
    "a negative node": "p sp 3 1\na -1 2 3\n",
    "underscores": "p sp 3 1\na 1_0 2 3\n",
    "a fraction": "p sp 3 1\na 1.5 2 3\n",
    "no number": "p sp 3 1\na nan 2 3\n",
    "rows of two kinds": "p sp 3 2\na 1 2 3\n2 3\n",
    "rows of two kinds that are as long": "p sp 3 2\na 1 2 3\n2 3 1\n",
    "an unknown letter": "p sp 3 1\nz 1 2 3\n",
    "two headers": "p sp 3 1\np sp 3 1\n",
    "half an edge": "p sp 3 1\na 1\n",
    "comments alone": "c\n" * 5,
    "a long node": f"p sp 3 1\na 1 {'9' * 5000} 3\n",
    "digits of another script": "p sp 3 1\na \u0661 2 3\n",
}
EDGES: dict[str, Any] = {
    "halves": [[0.5, 1]],
    "NaN": [[NAN, 1]],
    "words": [["a", "b"]],
    "several lengths": [[0, 1], [2]],
    "negative": [[-1, 0]],
    "truths": [[True, False]],
    "huge": [[0, 2**62]],
    "unsigned": np.array([[0, 2**63]], np.uint64),
    "complex": [[1j, 0]],
    "masked": np.ma.array([[0, 1]], mask=[[False, True]]),
    "objects": np.array([[0, None]], object),
    "three": [[0, 1, 2]],
    "a mapping": {0: [1]},
    "a text": "0 1",
    "nothing": None,
    "a number": 5,
    "nested": [[[0, 1]]],
    "infinite": [[INF, 0]],
}
GRAPH: dict[str, dict[str, Any]] = {
    "num_nodes": {"huge": 10**12, "negative": -1, "too few": 1, "a fraction": 2.5, "a word": "2"},
    "destinations": {
        "none such": [5],
        "negative": [-1],
        "a word": "x",
        "nested": [[0]],
        "a fraction": [0.5],
        "nothing": None,
    },
    "discount": {"one": 1, "a word": "a", "NaN": NAN},
}
TIMES: dict[str, tuple[list[str], Any]] = {
    "too far apart": (["-1e308", "1e308"], 1),
    "a tiny step": (["0", "1"], 1e-320),
    "too many steps": (["0", "1"], 1e-9),
    **{f"a step of {step!r}": (["0", "1"], step) for step in (0, -1, NAN, INF, "1", [1], True)},
    "numbers and dates": (["0", "2024-01-01"], 1),
    "no time": (["NaT", "1"], 1),
    "infinite": (["inf", "1"], 1),
    "400 digits": (["9" * 400, "1"], 1),
    "minutes above 59": (["99:99", "99:98"], 60),
    "underscores": (["1_0", "2_0"], 1),
}
TRAJECTORY = {"obs": [0, 1], "acts": [0], "terminal": True}
TRAJECTORIES: dict[str, dict[str, Any]] = {
    "several lengths": {"obs": [[0], [1, 2]]},
    "nothing": {"obs": None},
    "a hole": {"obs": [0, None]},
    "words": {"obs": ["a", "b"]},
    "halves": {"obs": [0.5, 1]},
    "NaN": {"obs": [NAN, 1]},
    "infinite": {"obs": [INF, 1]},
    "too large": {"obs": [1e300, 1]},
    "negative": {"obs": [-5, 1]},
    "too many actions": {"acts": [0, 1, 2]},
    "no state": {"obs": [], "acts": []},
    "an end that is a word": {"terminal": "no"},
    "no end": {"terminal": None},
    "dates": {"obs": [datetime.datetime(2024, 1, 1)] * 2},
}
STATES = {
    **{
        name: {"_data_files": [{"filename": name}]}
        for name in ("../../etc/passwd", "/etc/passwd", "..", "", "a\0", "\x1b[2J")
    },
    "a long name": {"_data_files": [{"filename": "x" * 100_000}]},
    "a number": {"_data_files": [{"filename": 5}]},
    "no files": {"_data_files": []},
    "a mapping": {"_data_files": {}},
    "a word": {"_data_files": "data.arrow"},
    "a list": [],
}
BUFFER = {"observations": [[0], [1]], "actions": [[0], [0]], "episode_starts": [[1], [0]]}
BUFFERS: dict[str, dict[str, Any]] = {
    "several lengths": {"observations": [[0], [1, 2]]},
    "words": {"episode_starts": [["a"], ["b"]]},
    "NaN": {"episode_starts": [[NAN], [0]]},
    "no number": {"observations": [[NAN], [NAN]]},
    "objects": {"observations": [[None], [1]]},
    "no steps": {name: [] for name in BUFFER},
}


def bad_contents() -> Iterator[BadInput]:
    """Yield every format with every wrong thing."""
    for part, faults in SPARSE.items():
        for what, array in faults.items():
            yield BadInput(f"sparse world: {part}: {what}", functools.partial(_sparse, {part: array}))
    for what, text in DIMACS.items():
        yield BadInput(f"graph file: {what}", functools.partial(_dimacs, text))
    for what, edges in EDGES.items():
        yield BadInput(f"edges: {what}", functools.partial(envs.from_graph, edges, destinations=[0]))
    for option, values in GRAPH.items():
        for what, value in values.items():
            options = {"destinations": [0], option: value}
            yield BadInput(f"graph: {option}: {what}", functools.partial(envs.from_graph, [[0, 1]], **options))
    for what, (times, step) in TIMES.items():
        yield BadInput(f"times: {what}", functools.partial(_times, times, step))
    for what, change in TRAJECTORIES.items():
        walk = SimpleNamespace(**{**TRAJECTORY, **change})
        yield BadInput(f"trajectory: {what}", functools.partial(demonstrations.from_trajectories, [walk]))
    for what, state in STATES.items():
        yield BadInput(f"folder of imitation: {what!r:.40}", functools.partial(_imitation, state))
    for what, change in BUFFERS.items():
        buffer = SimpleNamespace(**{**BUFFER, **change})
        yield BadInput(f"buffer: {what}", functools.partial(demonstrations.from_rollout_buffer, buffer))


def _sparse(change: Mapping[str, np.ndarray]) -> object:
    np.savez("world.npz", **{**IDENTITY, **change})  # pyright: ignore[reportArgumentType]
    return envs.from_file("world.npz")


def _dimacs(text: str) -> object:
    Path("graph.gr").write_text(text, encoding="utf-8")
    return envs.read_graph("graph.gr")


def _times(times: list[str], step: Any) -> object:
    with Path("times.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("episode", "state", "time"), *(("a", i, time) for i, time in enumerate(times))])
    return demonstrations.load("times.csv", time_step=step)


def _imitation(state: object) -> object:
    folder = Path("trajectories")
    folder.mkdir()
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    return demonstrations.load(folder)
