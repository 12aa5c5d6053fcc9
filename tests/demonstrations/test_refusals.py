"""What is no demonstration is refused in a sentence with its culprit."""

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, estimate_occupancy

WALKS = Demonstrations.from_arrays([[0, 1], [2]], [[0], []])
arrays = Demonstrations.from_arrays


def estimate(**options):
    return lambda: estimate_occupancy(WALKS, **{"num_states": 3, "discount": 0.9, **options})


@pytest.mark.usefixtures("mistyped")
@pytest.mark.parametrize(
    ("action", "culprits"),
    [
        (lambda: arrays([]), ["no episodes"]),
        (lambda: arrays(5), ["the list of states is 5"]),
        (lambda: arrays([[0], []]), ["episode 1 is empty"]),
        (lambda: arrays([[0, 1], [2, -3]]), ["episode 1", "-3", "place 1"]),
        (lambda: arrays([[0.0, 1.0]]), ["episode 0", "float64", "astype(int)"]),
        (lambda: arrays([[True, False]]), ["episode 0", "bool"]),
        (lambda: arrays([[[0, 1]]]), ["episode 0", "(1, 2)"]),
        (lambda: arrays([[0, [1]]]), ["episode 0", "cannot be read as numbers"]),
        (lambda: arrays([[2**64 - 1]]), ["episode 0", str(2**64 - 1)]),
        (lambda: arrays([np.ma.array([0, 1], mask=[0, 1])]), ["episode 0", "masked"]),
        (lambda: arrays([[0, 1], [2, 3]], [[0], [1, 1, 1]]), ["episode 1 has 2 states and 3 actions"]),
        (lambda: arrays([[0, 1], [2, 3]], [[0]]), ["states of 2 episodes", "actions of 1"]),
        (lambda: arrays([[0, 1]], [[-1]]), ["actions of episode 0", "-1"]),
        (lambda: arrays([[0], [1]], terminated=[True, False, True]), ["terminated", "(3,)", "2 episodes"]),
        (lambda: arrays([[0], [1]], terminated=[1, 0]), ["terminated", "int64"]),
        (lambda: Demonstrations([0, 1, 2, 3], None, [1, 2]), ["4 states", "add up to 3"]),
        (lambda: Demonstrations([0, 1, 2, 3], [0, 0, 0], [2, 2]), ["3 actions", "4 states in 2 episodes need 2"]),
        (lambda: Demonstrations([0], None, [1], final_actions=[0]), ["1 final actions", "without actions"]),
        (lambda: Demonstrations([0, 2], None, [2], state_names=("A", "B")), ["state 2 occurs", "2 state names"]),
        (lambda: Demonstrations([0], None, [1], state_names=("A", "A")), ["'A'", "more than once"]),
        (lambda: Demonstrations([0], None, [1], state_names=5), ["the state names is 5"]),
        (lambda: WALKS + WALKS.without_actions(), ["sets 0 and 1", "has_actions", "without_actions"]),
        (lambda: WALKS + WALKS.replace(terminated=True), ["sets 0 and 1", "ends_known", "in_world"]),
        (lambda: Demonstrations.concatenate([]), ["no demonstrations"]),
        (lambda: Demonstrations.concatenate([WALKS, 5]), ["set 1 of the demonstrations", "int"]),
        (lambda: WALKS[2:], ["no episode of the 2"]),
        (lambda: WALKS.subset([0, 7]), ["episode 7", "there are 2"]),
        (lambda: WALKS.subset([-4]), ["-4"]),
        (lambda: WALKS[[True]], ["mask", "(1,)", "2 episodes"]),
        (lambda: WALKS["one"], ["the index is 'one'"]),
        (lambda: WALKS.renumber(state_names=["B"]), ["no state names"]),
        (lambda: WALKS.replace(state_names="ABC").renumber(state_names=["B"]), ["the state names is 'ABC'"]),
        (estimate(num_states=2), ["episode 1 is in state 2 at step 0", "2 states"]),
        (estimate(discount=1.0), ["discount", "1.0"]),
        (estimate(tail="guess"), ["'guess'", "chain, hold, renormalize"]),
        (estimate(confidence=1.0), ["the confidence is 1.0"]),
        (estimate(resamples=10), ["resamples", "10", "100"]),
        (estimate(num_states=None), ["neither a world nor `num_states`"]),
        (estimate(num_states=10**9), ["an occupancy of 1000000000 states needs about", "GiB"]),
        (lambda: estimate_occupancy([[0, 1]], num_states=2, discount=0.5), ["type list", "load(path)"]),
    ],
)
def test_what_is_no_demonstration_is_refused(action, culprits, refused, monkeypatch):
    if "GiB" in culprits:
        monkeypatch.setattr(jax, "devices", lambda: [type("Device", (), {"platform": "gpu", "memory_stats": dict})()])
        monkeypatch.setattr("pathlib.Path.read_text", lambda *_, **__: "MemAvailable: 9 kB\n")
    with refused(*culprits):
        action()
