"""A mutation fuzzer in plain NumPy, for machines without a coverage-guided one, and for the test suite.

Every input is a valid one with some damage: bytes flipped, cut out, repeated, inserted or spliced with another; or, for
JSON, a value somewhere inside replaced by one that it should not be. A seed decides all of it.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from torture.targets import Target, try_input

# What a number, a word or a container may turn into.
ODD: tuple[Any, ...] = (None, True, -1, 0, 2**63, 10**400, 1e308, float("nan"), float("inf"), "", "nan", "x" * 300)
ODD_CONTAINERS: tuple[Any, ...] = ([], {}, [[]], [None], {"": 0}, [[1], [2, 3]], [0] * 100, {"array": "x"})
WORDS = (
    b"0",
    b"-1",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"1" * 5000,
    b"\x00",
    b"\xff\xfe",
    b"[" * 3000,
    b'\n,"',
)


def mutations(seeds: list[bytes], rng: np.random.Generator, *, as_json: bool = False) -> Iterator[bytes]:
    """Yield damaged inputs without end."""
    while True:
        content = seeds[rng.integers(len(seeds))]
        if as_json and rng.random() < 0.9:
            value = json.loads(content)
            for _ in range(rng.integers(1, 4)):
                value = _replaced(value, rng)
            yield json.dumps(value).encode()
            continue
        for _ in range(rng.integers(1, 5)):
            content = _damaged(content, seeds, rng)
        yield content


def _damaged(content: bytes, seeds: list[bytes], rng: np.random.Generator) -> bytes:
    size = len(content)
    begin, end = sorted(int(i) for i in rng.integers(size + 1, size=2))
    match rng.integers(7):
        case 0:  # A bit.
            place = int(rng.integers(max(size, 1)))
            return (
                content[:place] + bytes([content[place] ^ (1 << int(rng.integers(8)))]) + content[place + 1 :]
                if size
                else b"x"
            )
        case 1:  # A byte.
            place = int(rng.integers(max(size, 1)))
            return content[:place] + bytes([int(rng.integers(256))]) + content[place + 1 :]
        case 2:  # Cut off.
            return content[:end]
        case 3:  # A piece missing.
            return content[:begin] + content[min(end, begin + 16) :]
        case 4:  # A piece twice.
            return content[:end] + content[begin:end] + content[end:]
        case 5:  # Something that does not belong.
            word = WORDS[rng.integers(len(WORDS))]
            return content[:begin] + word + content[begin + int(rng.integers(2)) * len(word) :]
        case _:  # The rest of another.
            other = seeds[rng.integers(len(seeds))]
            return content[:begin] + other[int(rng.integers(len(other) + 1)) :]


def _replaced(value: Any, rng: np.random.Generator) -> Any:
    """Return the value with something inside of it, or itself, replaced, left out or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        name = list(value)[rng.integers(len(value))]
        if rng.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        if rng.random() < 0.05:
            return value | {f"{name}x": value[name]}
        return value | {name: _replaced(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return value[:place] + value[place + 1 :] if rng.random() < 0.5 else [*value, value[place]]
        return [*value[:place], _replaced(value[place], rng), *value[place + 1 :]]
    pool = ODD if rng.random() < 0.6 else ODD_CONTAINERS
    return pool[rng.integers(len(pool))]


class BrokenError(Exception):
    """A loader that failed on an input, which comes with the exception."""

    def __init__(self, content: bytes, error: BaseException, seconds: float):
        super().__init__(f"{type(error).__name__}: {error}")
        self.content, self.error, self.seconds = content, error, seconds


def fuzz(
    target: Target,
    *,
    seed: int,
    inputs: int | None = None,
    seconds: float = float("inf"),
    slowest: float = 10.0,
    seeds: list[bytes] | None = None,
) -> Iterator[BrokenError | bool]:
    """Try damaged inputs one after another; yield whether each was accepted, or how the loader broke.

    An input that takes longer than `slowest` seconds counts as broken, too. `seeds` stand in for the target's own,
    which may take a while to make.
    """
    source = mutations(seeds or target.seeds(), np.random.default_rng(seed), as_json=target.json)
    end = time.monotonic() + seconds
    done = 0
    while (inputs is None or done < inputs) and time.monotonic() < end:
        content, begin = next(source), time.monotonic()
        try:
            found: BrokenError | bool = try_input(target, content)
        except Exception as error:
            found = BrokenError(content, error, time.monotonic() - begin)
        if (taken := time.monotonic() - begin) > slowest:
            found = BrokenError(content, TimeoutError(f"{taken:.1f} s"), taken)
        done += 1
        yield found
