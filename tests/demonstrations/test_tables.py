"""Tables made elsewhere: columns, names, order, ends, and frames of several libraries."""

import datetime
import time

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.demonstrations.choices import Choices
from robustirl.demonstrations.tables import TableOptions, read_frame

frame = Demonstrations.from_frame
LOG = {"trip": [7, 7, 8], "link": ["B", "A", "B"], "turn": ["left", "right", "left"]}
COLUMNS = {"episode": "trip", "state": "link", "action": "turn"}


def test_a_table_with_an_action_in_every_row_is_a_log_of_choices():
    demos = frame(LOG, columns=COLUMNS)
    assert demos == Demonstrations(
        [1, 0, 1],
        [0],
        [2, 1],
        final_actions=[1, 0],
        state_names=("A", "B"),
        action_names=("left", "right"),
    )
    choices = Choices.of(demos)
    rows = sorted(zip(choices.groups, choices.states, choices.actions, strict=True))
    assert rows == [(0, 0, 1), (0, 1, 0), (1, 1, 0)]


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars lazy", "pyarrow", "pyarrow words"])
def test_frames_of_other_libraries_read_alike(kind):
    expected = frame(LOG, columns=COLUMNS)
    library = pytest.importorskip(kind.split()[0])
    given = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[kind.split()[0]]
    table = getattr(library, given)(LOG)
    if kind == "polars lazy":
        table = table.lazy()
    if kind == "pyarrow words":
        table = library.table({name: library.array(column).dictionary_encode() for name, column in LOG.items()})
    assert frame(table, columns=COLUMNS) == expected


def test_names_are_numbered_as_they_are_given():
    for names in (["B", "C", "A"], {"A": 2, "B": 0, "C": 1}):
        demos = frame(LOG, columns=COLUMNS, state_names=names)
        assert (demos.states.tolist(), demos.state_names) == ([0, 2, 0], ("B", "C", "A"))
    # Numbers stay numbers, and get the names; unless the names are these numbers.
    numbered = frame({"episode": [0, 0], "state": [2, 0]}, state_names=["B", "C", "A"])
    assert (numbered.states.tolist(), numbered.state_names) == ([2, 0], ("B", "C", "A"))
    assert frame({"episode": [0, 0], "state": [20, 10]}, state_names=["10", "20"]).states.tolist() == [1, 0]
    # Numbers that merely became words or floats are numbers.
    assert frame({"episode": [0, 0], "state": ["2", "0"]}).states.tolist() == [2, 0]
    assert frame({"episode": [0, 0], "state": [2.0, 0.0]}).states.tolist() == [2, 0]


def test_steps_order_rows_and_count():
    shuffled = {"episode": ["b", "a", "b", "a"], "step": [2, 5, 1, 4], "state": [1, 2, 0, 3]}
    assert [e.states.tolist() for e in frame(shuffled)] == [[0, 1], [3, 2]]
    days = [datetime.date(2024, 5, day) for day in (9, 2, 1, 30)]  # Whatever orders will do.
    dated = {**shuffled, "step": days}
    assert [e.states.tolist() for e in frame(dated)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("ends", [[None, "true", "FALSE"], ["", "1", "0"], [False, True, False], [0, 1, 0]])
def test_ends_are_told_in_several_ways(ends):
    demos = frame({"episode": [0, 0, 1], "state": [0, 1, 0], "terminated": ends})
    assert (demos.ends_known, demos.terminated.tolist()) == (True, [True, False])
    silent = frame({"episode": [0, 0, 1], "state": [0, 1, 0], "terminated": [None] * 3})
    assert not silent.ends_known


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_tables_are_read_whatever_separates_their_cells(tmp_path, separator):
    rows = ["\ufeffepisode,state,action", "1, NA,left", "1,B , ", "", "2,B,left", ""]
    (tmp_path / "log.csv").write_text("\r\n".join(rows).replace(",", separator))
    demos = load(tmp_path / "log.csv")
    assert demos.state_names == ("B", "NA")  # A name like another, not a missing one.
    assert [e.states.tolist() for e in demos] == [[1, 0], [0]]
    assert demos.final_actions is not None
    assert demos.final_actions.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("table", "options", "culprits"),
    [
        ({"state": [0]}, {}, ["no column 'episode'", 'columns={"episode": ...}']),
        ({"episode": [0], "state": [0]}, {"columns": {"action": "turn"}}, ["no column 'turn'", "correct the name"]),
        ({"episode": [0], "state": [0]}, {"columns": {"episode": "state"}}, ["'state'", "stands for something else"]),
        ({"episode": [0], "state": [0]}, {"columns": {"place": "state"}}, ["'place'", "means nothing"]),
        ({"episode": [], "state": []}, {}, ["no rows"]),
        ({"episode": [0, None], "state": [0, 1]}, {}, ["'episode' is empty in row 1"]),
        ({"episode": [0, 0], "state": [0, None]}, {}, ["'state' is empty in row 1"]),
        ({"episode": [0, 0], "state": [0, -1]}, {}, ["-1", "row 1", "whole numbers from 0"]),
        ({"episode": [0, 0], "state": [0, 1.5]}, {}, ["1.5", "row 1", "whole numbers from 0"]),
        ({"episode": [0, 0], "state": [0, "A"]}, {}, ["'A'", "row 1"]),
        ({"episode": [0, 0], "state": ["A", "D"]}, {"state_names": ["A", "B"]}, ["'D'", "row 1", "the 2 state names"]),
        ({"episode": [0, 0], "state": [0, 2]}, {"state_names": ["A", "B"]}, ["'2'", "row 1", "the 2 state names"]),
        ({"episode": [0], "state": ["A"]}, {"state_names": "AB"}, ["state_names is 'AB'", "a list of words"]),
        ({"episode": [0], "state": ["A"]}, {"state_names": {"A": 1}}, ["from 0 to 0"]),
        ({"episode": [0, 1, 0], "state": [0, 1, 0]}, {}, ["row 2", "returns to episode '0'", "'step'"]),
        ({"episode": [0, 0], "state": [0, 1], "step": [0, 2]}, {}, ["row 1", "step 2", "after step 0", "gaps"]),
        ({"episode": [0, 0], "state": [0, 1], "step": [0.5, 0.5]}, {}, ["row 1", "after step 0.5"]),
        ({"episode": [0, 0, 0], "state": [0, 1, 0], "action": [1, None, 1]}, {}, ["'action' is empty in row 1"]),
        ({"episode": [0, 0], "state": [0, 1], "terminated": [True, True]}, {}, ["says true in row 0"]),
        ({"episode": [0, 1], "state": [0, 1], "terminated": [True, None]}, {}, ["says nothing in row 1"]),
        ({"episode": [0], "state": [0], "terminated": ["maybe"]}, {}, ["'maybe'", "true or false"]),
        ([[0, 1]], {}, ["list was given", "pandas or polars"]),
    ],
)
def test_tables_that_cannot_be_understood_are_refused(table, options, culprits, refused):
    with refused(*culprits):
        frame(table, **options)


def test_names_that_a_world_lacks_are_not_numbered_by_guess(refused):
    with refused("'B'", "but the lake has no names for its states", "state_names in the world's order"):
        read_frame({"episode": [0], "state": ["B"]}, TableOptions(world="the lake"))


def test_what_was_understood_is_said():
    told = read_frame(LOG, TableOptions(COLUMNS))[1]
    for part in ("the frame: 2 episodes", "state from 'link'", "2 states by name (A = 0, B = 1)", "order of rows"):
        assert part in told


@pytest.mark.slow
def test_a_million_rows_take_seconds(tmp_path):
    rng = np.random.default_rng(0)
    states, episodes = rng.integers(500, size=10**6), np.repeat(np.arange(10**4), 100)
    lines = "\n".join(f"{e},s{s}" for e, s in zip(episodes.tolist(), states.tolist(), strict=True))
    (tmp_path / "log.csv").write_text(f"episode,state\n{lines}\n")
    begin = time.perf_counter()
    demos = load(tmp_path / "log.csv")
    assert time.perf_counter() - begin < 10
    assert (len(demos), demos.states.size) == (10**4, 10**6)
