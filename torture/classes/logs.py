"""Logs that can be read in two ways, or hold what is neither a number nor a name: cells, times, episodes, names, lists.

What a log may not be as a file is in `files.py`, and what may be wrong with the text of one in `foreign.py`.
"""

import datetime
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robustirl import MDP, demonstrations, envs, irl, planning
from robustirl.demonstrations import Demonstrations, Episode, Recordings
from torture.classes import BadInput
from torture.classes.numbers import HALF, KERNEL, world

STAMPS = np.array(["2024-05-01", "2024-05-02"], "M8[ns]")
SPANS = np.array([1, 2], "m8[ns]")


class Mute:
    """An object without a text."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Closed:
    """A column, or an array, that cannot be read."""

    def tolist(self) -> Any:
        """Fail."""
        raise RuntimeError("closed.\nReally.")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("closed.\nReally.")


CELLS: dict[str, Any] = {
    "dates of NumPy": STAMPS,
    "a list of dates of NumPy": list(STAMPS),
    "spans of NumPy": SPANS,
    "a list of spans of NumPy": list(SPANS),
    "spans": [datetime.timedelta(1)] * 2,
    "days": [datetime.date(2024, 5, 1)] * 2,
    "hours": [datetime.time(1)] * 2,
    "complex": [np.complex128(1), np.complex128(0)],
    "truths": np.array([True, False]),
    "a number of 5000 digits": [10**5000] * 2,
    "-2**70": [-(2**70)] * 2,
    "objects without a text": [Mute(), Mute()],
    "bytes": [b"0", b"1"],
    "lists": [[0], [1]],
    "a column that cannot be read": Closed(),
}
FINE = {("time", "dates of NumPy"), ("time", "a list of dates of NumPy"), ("time", "-2**70")}
TIMES = {
    "a number": "5",
    "a time of day": "0:05",
    "a timestamp": "1970-01-01 00:00:09",
    "a timestamp with a zone": "1970-01-01T00:00:09+00:00",
}
ROWS = {"episode": [0, 0], "state": [0, 1], "time": [0, 1]}
BINNED: dict[str, dict[str, Any]] = {
    "an end before the end": {"terminated": ["true", "false"]},
    "an end before the end, in order of time": {"time": [1, 0], "terminated": [None, True]},
    "no end at the end": {"terminated": [False, None]},
    "steps against times": {"step": [1, 0]},
    "steps with a gap": {"step": [0, 2]},
    "past midnight": {"time": ["23:30", "0:30"]},
    "dates as numbers": {"time": [20240430, 20240501]},
    "dates as words": {"time": ["20240430", "20240501"]},
    "dates and hours as words": {"time": ["20240430083000", "20240501083000"]},
}
SPELLINGS = (("07", "7"), ("1e3", "1000"), ("-1", "-1.0"), ("7.50", "7.5"))
NAMES: dict[str, Any] = {
    "words": {"a": "0", "b": 1},
    "nothing": {"a": None, "b": 1},
    "halves": {"a": 0.5, "b": 1},
    "truths": {"a": False, "b": True},
    "lists": {"a": [0], "b": [1]},
    "a gap": {"a": 0, "b": 2},
    "no number": {"a": float("nan"), "b": 1},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "a column for two": {"columns": {"episode": "state"}},
    "a state that is the episode": {"columns": {"state": "episode"}},
    "the first state beside names": {"first_state": 1, "state_names": ["0", "1"]},
    "the first action without actions": {"first_action": 1},
    "names of actions without actions": {"action_names": ["a"]},
    "a separator": {"separator": ";"},
}
STATES = Episode(np.array([0, 1]), None, True)
MOVES = Episode(np.array([0, 1]), np.array([1]), True)
OPEN = Episode(np.array([0, 1]), None, None)
LISTS: dict[str, Any] = {
    "states and actions, or two episodes": ([0, 0, 1], [1, 1]),
    "the same as arrays": (np.array([0, 1]), np.array([1])),
    "actions of some": [STATES, MOVES],
    "actions of the first": [MOVES, STATES],
    "ends of some": [STATES, OPEN],
    "an Episode and a list": [STATES, [0, 1]],
    "a list and an Episode": [[0, 1], STATES],
    "a pair and a list": [([0, 1], [1]), [0, 1]],
    "a list and nothing": [[0, 1], None],
    "several lengths": [[[0], [0, 1]]],
    "an array that cannot be read": Closed(),
    "a list of such": [Closed()],
}
ARRAYS: dict[str, Callable[[Any], object]] = {
    "occupancy": lambda value: irl.fit(world(), value),
    "alpha": lambda value: irl.fit(world(), HALF, alpha=value),
    "kernel": lambda value: MDP(value, discount=0.9),
    "discount": lambda value: MDP(KERNEL, discount=value),
    "initial distribution": lambda value: MDP(KERNEL, discount=0.9, initial=value),
    "mask": lambda value: MDP(KERNEL, discount=0.9, mask=value),
    "states": lambda value: Demonstrations.from_arrays([value]),
    "actions": lambda value: Demonstrations.from_arrays([[0, 1]], [value]),
    "ends": lambda value: Demonstrations.from_arrays([[0, 1]], terminated=value),
    "observations": lambda value: Recordings.from_arrays([value]),
    "reward": lambda value: planning.solve(world(), value),
    "number of steps": lambda value: irl.fit(world(), HALF, steps=value),
    "tolerance": lambda value: irl.fit(world(), HALF, tolerance=value),
}
LINES = {
    "a field twice": '{"states": [0], "states": [1]}',
    "a number of 5000 digits": f'{{"states": [{"9" * 5000}]}}',
}
HEADER = json.dumps(
    {"format": "robustirl.demonstrations", "schema": 1, "episodes": 1, "has_actions": False, "ends_known": False}
)
MASKS = {"NaN": float("nan"), "a half": 0.5, "minus one": -1, "two": 2}


def bad_logs() -> Iterator[BadInput]:
    """Yield every log of this file."""
    for column, (what, cells) in itertools.product(("state", "step", "action", "terminated", "time"), CELLS.items()):
        if (column, what) not in FINE:
            yield BadInput(f"log, {column}: {what}", functools.partial(_frame, {column: cells}, column == "time"))
    for first, second in itertools.permutations(TIMES, 2):
        times = {"time": [TIMES[first], TIMES[second]]}
        yield BadInput(f"log: {first} and {second}", functools.partial(_frame, times, True))
    for what, change in BINNED.items():
        yield BadInput(f"log with times: {what}", functools.partial(_frame, change, True))
    for first, second in SPELLINGS:
        for binned in (False, True):
            change = {"episode": [first, second]}
            name = f"log: episodes {first} and {second}{' with times' if binned else ''}"
            yield BadInput(name, functools.partial(_frame, change, binned))
    for option, (what, names) in itertools.product(("state_names", "action_names"), NAMES.items()):
        change = {"state": ["a", "b"], "action": ["a", None]}
        yield BadInput(f"log, {option}: {what}", functools.partial(_frame, change, False, **{option: names}))
    for what, options in OPTIONS.items():
        yield BadInput(f"log: {what}", functools.partial(_frame, {}, False, **options))
    for what, given in LISTS.items():
        yield BadInput(f"episodes: {what}", functools.partial(_fitted, given))
    for door, call in ARRAYS.items():
        yield BadInput(f"{door} that cannot be read", functools.partial(call, Closed()))
    for what, line in LINES.items():
        yield BadInput(f"log in JSON: {what}", functools.partial(_json_lines, line))
    for what, value in MASKS.items():
        yield BadInput(f"world file, mask: {what}", functools.partial(_mask, value))
    for size in (1e16, 1e30, 1e300):
        yield BadInput(f"recordings to clone: {size:g}", functools.partial(_cloned, size))


def _frame(change: Mapping[str, Any], binned: bool, **options: Any) -> object:
    rows = {name: cells for name, cells in ROWS.items() if binned or name != "time"} | dict(change)
    return Demonstrations.from_frame(rows, **({"time_step": 1.0} if binned else {}), **options)


def _fitted(given: Any) -> object:
    return irl.RobustIRL(1.0, steps=1, throw=False).fit(world(), given)


def _json_lines(line: str) -> object:
    Path("log.jsonl").write_text(f"{HEADER}\n{line}\n", encoding="utf-8")
    return demonstrations.load("log.jsonl")


def _mask(value: float) -> object:
    np.savez("world.npz", kernel=np.full((2, 2, 2), 0.5), mask=[[value, 1], [1, 1]])
    return envs.from_file("world.npz")


def _cloned(size: float) -> object:
    import jax

    seen = Recordings.from_arrays([np.array([[0.0], [size], [1.0]])], [np.zeros((2, 1))])
    return irl.clone_behavior(seen, key=jax.random.key(0))
