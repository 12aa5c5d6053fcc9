"""Rows belong to the episodes that they name, however a number is spelled."""

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.demonstrations.io.ordering import OrderedRows


def episodes(cells):
    found = Demonstrations.from_frame({"episode": cells, "state": list(range(len(cells)))})
    return [episode.states.tolist() for episode in found]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["7", "7.0", " 7 "], [[0, 1, 2]]),
        ([7, 7.0, "7"], [[0, 1, 2]]),
        ([7.0, 8], [[0], [1]]),
        (["a", "A"], [[0], [1]]),
        (["007", "008"], [[0], [1]]),
        (["7.5", "7"], [[0], [1]]),
        (["1e3", "1e4"], [[0], [1]]),
        ([18446744073709551616, 18446744073709551617], [[0], [1]]),
    ],
)
def test_a_number_is_one_episode_however_programs_write_it(cells, expected):
    assert episodes(cells) == expected


def test_cells_without_a_text_are_refused(refused):
    class Mute:
        def __str__(self):
            raise RuntimeError("no words")

    for cell in (10**5000, Mute()):
        with refused(f"a cell of the type {type(cell).__name__} cannot be written as text"):
            episodes([cell])
        with refused("the column 'state' holds"):
            Demonstrations.from_frame({"episode": [0], "state": [cell]})


@pytest.mark.parametrize(
    "cells", [["07", "7"], ["1e3", "1000"], ["-1", "-1.0"], ["7.50", 7.5], ["+7", "07"], ["1" + "0" * 30, "1e30"]]
)
@pytest.mark.parametrize("time_step", [None, 1.0])
def test_two_spellings_of_a_number_that_may_be_names_are_refused(cells, time_step, refused):
    rows = {"episode": cells, "state": [0, 1], "time": [0, 0]}
    with refused("row 1 of the frame is of episode", "which are the same number"):
        Demonstrations.from_frame(rows, time_step=time_step)


@pytest.mark.parametrize("line", ["#0,1", " #0,1", "# a comment", "#"])
def test_comments_below_the_header_are_no_episodes(tmp_path, line, refused):
    path = tmp_path / "log.csv"
    for rows in (("0,1", line, "0,2"), (line, "0,1"), ("0,1", line)):
        path.write_text("\n".join(["episode,state", *rows]) + "\n")
        if not (rows[0] == line and "," not in line):  # Alone so far, it may be a row that was cut off.
            with refused("begins with # as comments do", f"line {rows.index(line) + 2} of"):
                load(path)
    path.write_text("# above\nepisode,state\n#0,1\n#1,2\n")  # Names of episodes, if all are like that.
    assert len(load(path)) == 2


def test_rows_are_named_with_step_and_episode_and_long_names_are_cut():
    episodes = ["a" * 40, "b" * 41, "b" * 41]
    rows = OrderedRows(episodes, np.array([0, 2, 1]), np.array([True, True, False]), lambda i: f"row {i}")
    assert rows.name(0) == f"row 0, step 0 of episode {'a' * 40}"
    assert rows.name(1) == f"row 2, step 0 of episode {'b' * 40}..."
    assert rows.name(2) == f"row 1, step 1 of episode {'b' * 40}..."
