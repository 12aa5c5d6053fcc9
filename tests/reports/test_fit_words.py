"""The page about one fit says, of invented fits in worlds of every kind, what it said when somebody last read it."""

import base64
import dataclasses
import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from robustirl import MDP, envs
from robustirl.demonstrations import Demonstrations
from robustirl.envs.registry import FixedWorld
from robustirl.reports import FitFolder
from robustirl.reports.arrays import LARGEST, Pool
from robustirl.reports.fit_page import MOST_POINTS, _history, embedded_json, fit_payload
from robustirl.reports.fit_record import (
    _require_consistent,
    describe_alpha,
    describe_demonstrations,
    describe_world,
    encode_record,
    make_record,
)
from robustirl.reports.fit_words import describe, opening
from tests import invented
from tests.drawn import numbers
from tests.goldens import as_lines, require_golden

LINE = "robustirl fit --env {} --demos w.csv --out found --noise 0.2 --env-arg size=3 --env-arg wind=1"
ELSEWHERE = ("why", "advice", "warnings")  # Sentences about fits, which have tests of their own.


def ring(size):
    """Moves to the next state and the one after it."""
    kernel = np.zeros((size, 2, size))
    for state in range(size):
        kernel[state, 0, (state + 1) % size] = kernel[state, 1, (state + 2) % size] = 1
    return MDP(kernel, discount=0.9, initial=np.arange(size) / np.arange(size).sum())


def turning():
    """A grid in which an action leads right in one half and down in the other."""
    kernel = np.zeros((6, 2, 6))
    for state in range(6):
        right, down = (state + 1 if state % 3 < 2 else state), (state + 3 if state < 3 else state)
        kernel[state, 0, right if state < 3 else down] = kernel[state, 1, down if state < 3 else right] = 1
    return FixedWorld("turning", MDP(kernel, discount=0.9), shape=(2, 3))


def found(environment, world=None, *, folder="found", interrupted=False, curves=False, **options):
    """A folder of a fit in a world, and the walks it came from."""
    world = environment.mdp(0.0) if world is None else world
    size, actions = world.num_states, world.num_actions
    learned = {name: options.pop(name) for name in ("decisive", "episodes", "notes") if name in options}
    walks = Demonstrations.from_arrays(
        [[0, 1], [0, min(2, size - 1), size - 1], [1, 1]], terminated=[True, False, True]
    )
    told = describe_demonstrations(walks, world, Path("walks/w.csv"), "w.csv: 3 episodes.")
    words = LINE.format(environment.name).split()
    record = make_record(
        environment, world, told, None, invented.shares(size, 0.9), command=words, interrupted=interrupted
    )
    if curves:
        record = dataclasses.replace(record, alpha=describe_alpha(invented.selection()))
    model = invented.model(invented.fit(size, actions, **options), **learned)
    return FitFolder(Path(folder), model, dataclasses.replace(record, version="0"))


GRID = envs.make("gridworld-4")
THREE = envs.make("three-state")
FOLDERS = {
    "a grid": lambda: found(GRID, decisive=True, curves=True, interrupted=True, status="converged", steps=1),
    "a graph": lambda: found(THREE, THREE.mdp(0.2), decisive=False, episodes=1, status="settled", alpha=1.0),
    "a table": lambda: found(FixedWorld("ring", ring(41)), status="stopped", steps=0, notes=("ends are guessed",)),
    "a ring": lambda: found(FixedWorld("ring", ring(6)), status="failed", gap=1.25, steps=700),
    "a grid that turns": lambda: found(turning(), episodes=None, pairs=True),
    "local strengths": lambda: found(THREE, alpha=np.linspace(0.8, 1, 6).reshape(3, 2)),
    "no record": lambda: dataclasses.replace(found(THREE, folder="old/found"), record=None),
    "one length": lambda: with_lengths(found(THREE, decisive=True), (1.0, 1.0, 1.0)),
}


def with_lengths(folder, lengths):
    record = folder.record
    told = dataclasses.replace(record.demonstrations, lengths=lengths, terminated=1200)
    return dataclasses.replace(folder, record=dataclasses.replace(record, demonstrations=told))


def unpacked(data, text):
    """The arrays of a page, as the page reads them."""
    content = gzip.decompress(base64.b64decode(text))
    size = data["arrays"]["numbers"]
    return np.frombuffer(content, "<f4", size), np.frombuffer(content, "<u2", offset=4 * size)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_says_and_holds_what_it_did(name):
    folder = FOLDERS[name]()
    said = {key: value for key, value in describe(folder).items() if key not in ELSEWHERE}
    data, text = fit_payload(folder)
    places = data["world"]["positions"]  # Which way a graph is turned is for an eigenvector to say.
    data["world"]["positions"] = None if places is None else np.shape(places)
    floats, counts = unpacked(data, text)
    lines = ["says", *as_lines(said), "", "holds", *as_lines(json.loads(json.dumps(data)))]
    lines += [f"numbers: {numbers(floats)}", f"counts: {numbers(counts)}"]
    require_golden(f"pages/fit/{name.replace(' ', '-')}.txt", "\n".join(lines))


@pytest.mark.parametrize(("gap", "end"), [(1e-4, "."), (0.5, ".")])
def test_the_first_sentence_says_whether_to_use_it(gap, end):
    text = opening(found(THREE, gap=gap))
    assert text.startswith("A policy and a reward were learned from 12 recorded episodes in three-state (3 states,")
    assert text.endswith(end)


def test_a_long_history_is_thinned_to_its_ends():
    gaps = np.linspace(1, 0.5, 1000)
    kept = _history(gaps, 998)
    assert len(kept) == MOST_POINTS
    assert (kept[0], kept[-1][0]) == ([0, 1.0], 998)
    assert _history(np.array([]), 3) == []
    assert _history(np.array([0.123456, np.nan, 0.2]), 2) == [[0, 0.1235], [2, 0.2]]


def test_numbers_at_the_ends_of_single_precision():
    pool = Pool()
    pool.numbers([1e-31, 2e-30, 2 * LARGEST, -0.0, 123456.0])
    pool.places([-1.0, 0.0, 1.0, np.nan])
    pool.probabilities([0.0004, 0.0006, 1.0])
    content = gzip.decompress(base64.b64decode(pool.packed()))
    floats, counts = np.frombuffer(content[:20], "<f4"), np.frombuffer(content[20:], "<u2")
    np.testing.assert_allclose(floats, [0, 2e-30, np.nan, 0, 123500], rtol=1e-6)
    assert not np.signbit(floats[3])
    assert counts.tolist() == [0, 10000, 20000, 65535, 0, 1, 1000]


def test_an_action_must_lead_the_same_way_in_nine_cells_of_ten():
    # A row of twelve cells twice; action 0 goes right but in one or two cells, where it goes down.
    for odd, same in ((1, True), (3, False)):
        kernel = np.zeros((24, 2, 24))
        for state in range(24):
            right, down = (state + 1 if state % 12 < 11 else state), (state + 12 if state < 12 else state)
            kernel[state, 0, down if state < odd else right] = kernel[state, 1, down] = 1
        world = MDP(kernel, discount=0.9)
        told = describe_world(FixedWorld("rows", world, shape=(2, 12)), world)
        assert (told.directions is not None) == same
        assert told.actions == (("right", "down") if same else ("action 0", "action 1"))


def test_data_in_a_page_is_json_as_browsers_read_it():
    assert embedded_json({"name": "α < β\u2028", "size": 1.5}) == '{"name":"α \\u003c β\\u2028","size":1.5}'
    with pytest.raises(ValueError, match="JSON compliant"):
        embedded_json({"size": np.nan})


def test_a_record_of_one_row_and_of_an_action_that_stays():
    kernel = np.zeros((6, 3, 6))
    for state in range(6):
        kernel[state, 0, state + 1 if state % 3 < 2 else state] = kernel[state, 1, state] = 1
        kernel[state, 2, state + 3 if state < 3 else state] = 1
    world = MDP(kernel, discount=0.9)
    told = describe_world(FixedWorld("rows", world), world)
    assert (told.shape, told.actions) == ((2, 3), ("right", "stay", "down"))
    _require_consistent(
        dataclasses.replace(a_record(), world=dataclasses.replace(a_record().world, shape=(1, 3))), 3, 2
    )
    assert '"α"' in encode_record(dataclasses.replace(a_record(), version="α"))
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_record(dataclasses.replace(a_record(), player_occupancy=(math.nan,)))


def a_record():
    return found(THREE).record


def test_places_of_a_graph_have_four_digits():
    told = describe_world(THREE, THREE.mdp(0.0))
    assert told.positions is not None
    assert all(round(x, 4) == x for place in told.positions for x in place)
    assert any(round(x, 3) != x for place in told.positions for x in place)


@pytest.mark.parametrize(("actions", "listed"), [(8, True), (9, False)])
def test_few_actions_are_listed(actions, listed):
    world = MDP(np.tile(np.eye(2)[:, None], (1, actions, 1)), discount=0.9)
    text = next(fact.text for fact in describe(found(FixedWorld("many", world)))["world"] if fact.name == "actions")
    assert text == (f"{actions} ({', '.join(f'action {a}' for a in range(actions))})" if listed else f"{actions}")
