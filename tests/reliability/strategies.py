"""Almost valid worlds and trajectories for Hypothesis: sound ones with one thing off.

Each draws the arguments of a constructor and says whether they are sound in spite of it (`None` where that depends on
the draw, and the test looks for itself).
"""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.strategies import SHAPES, generators, kernels


class Attempt(NamedTuple):
    """Arguments of a constructor, what is off about them, and whether that is fine."""

    arguments: dict[str, Any]
    fault: str
    sound: bool | None


def _entry(draw, array: np.ndarray) -> tuple[int, ...]:
    return tuple(draw(st.integers(0, size - 1)) for size in array.shape)


def _odd_rows(draw, kernel):
    by = draw(st.sampled_from([1e-13, -1e-13, 1e-6, -1e-6, 0.5, -0.25]))
    row = kernel[_entry(draw, kernel)[:2]]
    row[int(np.argmax(row))] += by
    return {"kernel": kernel}, bool(abs(by) < 1e-12 or not row.any())


def _negative_entry(draw, kernel):
    *pair, target = _entry(draw, kernel)
    row = kernel[tuple(pair)]
    by = draw(st.sampled_from([1e-300, 1e-9, 0.5])) + row[target]
    row[target] -= by
    row[(target + 1) % len(row)] += by
    return {"kernel": kernel}, None  # With one state, or a tiny entry, nothing may have changed.


def _odd_entry(draw, kernel):
    kernel[_entry(draw, kernel)] = draw(st.sampled_from([np.nan, np.inf, -np.inf, 2.0, 1e308]))
    return {"kernel": kernel}, False


def _no_such_action(draw, kernel):
    kernel[_entry(draw, kernel)[:2]] = 0
    return {"kernel": kernel}, kernel.shape[1] > 1


def _odd_shape(draw, kernel):
    states = kernel.shape[0]
    change = draw(
        st.sampled_from(["cut", "flat", "deep", "empty", "ragged", "words", "complex", "object", "longer", "none"])
    )
    made: dict[str, Any] = {
        "cut": kernel[..., :-1],
        "flat": kernel.reshape(-1),
        "deep": kernel[None],
        "empty": kernel[:0],
        "ragged": [*kernel[:-1].tolist(), [[1.0, 0.0]], [[1.0]]],
        "words": kernel.astype(str),
        "complex": kernel.astype(complex),
        "object": np.full(kernel.shape, None),
        "longer": np.concatenate([kernel, kernel]),
        "none": None,
    }
    return {"kernel": made[change]}, False if states > 1 or change != "cut" else None


def _odd_discount(draw, kernel):
    values: list[Any] = [1.0, 1 + 1e-9, -1e-9, np.nan, np.inf, "0.9", None, [0.9], 1j, 1 - 1e-12, 0.0, 0]
    value = draw(st.sampled_from(values))
    return {"kernel": kernel, "discount": value}, isinstance(value, int | float) and 0 <= value < 1


def _odd_start(draw, kernel):
    size = kernel.shape[0]
    sound = np.full(size, 1 / size)
    shift = np.zeros(size)
    shift[0], shift[-1] = 2.0, -2.0
    made: dict[str, Any] = {
        "long": np.append(sound, 0.0),
        "scalar": 1.0,
        "table": sound[:, None],
        "twice": 2 * sound,
        "half": sound / 2,
        "nan": np.append(sound[1:], np.nan),
        "zero": np.zeros(size),
        "negative": sound + shift if size > 1 else np.array([-1.0]),
        "words": ["one"] * size,
        "whole": np.eye(size)[0],
        "integers": np.eye(size, dtype=int)[0],
        "nearly": sound * (1 + 1e-14),
    }
    name = draw(st.sampled_from(sorted(made)))
    return {"kernel": kernel, "initial": made[name]}, name in ("whole", "integers", "nearly")


def _odd_mask(draw, kernel):
    shape = kernel.shape[:2]
    made: dict[str, Any] = {
        "numbers": np.ones(shape),
        "long": np.ones((shape[0] + 1, shape[1]), bool),
        "row": np.ones(shape[0], bool),
        "nothing": np.zeros(shape, bool),
        "words": np.full(shape, "yes"),
        "ragged": [[True], [True, False]],
        "all": np.ones(shape, bool),
    }
    name = draw(st.sampled_from(sorted(made)))
    return {"kernel": kernel, "mask": made[name]}, name == "all"


WORLD_FAULTS = (
    _odd_rows,
    _negative_entry,
    _odd_entry,
    _no_such_action,
    _odd_shape,
    _odd_discount,
    _odd_start,
    _odd_mask,
)


@st.composite
def almost_worlds(draw) -> Attempt:
    """The arguments of `MDP`, with one thing off."""
    kernel, _ = draw(kernels(draw(st.sampled_from(SHAPES))))
    fault = draw(st.sampled_from(WORLD_FAULTS))
    arguments, sound = fault(draw, kernel)
    return Attempt({"discount": 0.9} | arguments, fault.__name__.strip("_"), sound)


@st.composite
def almost_trajectories(draw, num_states: int = 4, num_actions: int = 2) -> Attempt:
    """The arguments of `Demonstrations.from_arrays`, with one thing off."""
    rng = draw(generators())
    lengths = rng.integers(1, 5, size=draw(st.integers(1, 4)))
    states: list[Any] = [rng.integers(num_states, size=n) for n in lengths]
    actions: Any = [rng.integers(num_actions, size=n - 1) for n in lengths]
    terminated: Any = rng.random(len(lengths)) < 0.5
    e = draw(st.integers(0, len(lengths) - 1))
    step = draw(st.integers(0, len(states[e]) - 1))

    def with_state(value, kind=None):
        changed = states[e].astype(kind) if kind else states[e].copy()
        changed[step] = value
        return {"states": [*states[:e], changed, *states[e + 1 :]]}

    faults: dict[str, tuple[dict[str, Any], bool]] = {
        "none": ({}, True),
        "negative": (with_state(-1), False),
        "beyond 64 bits": (with_state(2**63, np.uint64), False),
        "large": (with_state(2**62), True),
        "float": (with_state(0.5, float), False),
        "nan": (with_state(np.nan, float), False),
        "object": (with_state(None, object), False),
        "bool": ({"states": [s > 0 for s in states]}, False),
        "words": ({"states": [s.astype(str) for s in states]}, False),
        "table": ({"states": [s[:, None] for s in states]}, False),
        "scalar": ({"states": [*states[:-1], 3]}, False),
        "ragged": ({"states": [*states[:-1], [[0], [1, 2]]]}, False),
        "small integers": (with_state(1, np.uint8), True),
        "no episodes": ({"states": [], "actions": []}, False),
        "an empty episode": ({"states": [*states, []], "actions": [*actions, []], "terminated": False}, False),
        "too many actions": ({"actions": [*actions[:-1], np.append(actions[-1], 0)]}, False),
        "too few episodes of actions": ({"actions": actions[:-1]}, False),
        "negative action": ({"actions": [*actions[:-1], actions[-1] - 1 - num_actions]}, actions[-1].size == 0),
        "no actions": ({"actions": None}, True),
        "ends as numbers": ({"terminated": terminated.astype(int)}, False),
        "too many ends": ({"terminated": np.append(terminated, True)}, False),
        "one end for all": ({"terminated": True}, True),
        "ends as words": ({"terminated": ["yes"] * len(states)}, False),
    }
    name = draw(st.sampled_from(sorted(faults)))
    change, sound = faults[name]
    return Attempt({"states": states, "actions": actions, "terminated": terminated} | change, name, sound)
