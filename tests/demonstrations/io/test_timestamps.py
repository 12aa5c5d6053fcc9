"""Logs with timestamps become steps at the ticks of a clock."""

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.demonstrations.io import timestamps
from tests.commands import robustirl

LOG = """trip,link,when
7,3,2024-05-01 08:00:00
8,1,2024-05-01T09:00:00
7,4,2024-05-01 08:01:10
7,5,2024-05-01 08:02:00
8,2,2024-05-01T09:00:59
"""
COLUMNS = {"episode": "trip", "state": "link", "time": "when"}


def test_the_state_at_every_tick_is_the_latest(here):
    (here / "log.csv").write_text(LOG)
    # Trip 7 has rows at 0, 70 and 120 s, trip 8 at 0 and 59 s.
    found = load("log.csv", columns=COLUMNS, time_step=60)
    assert [episode.states.tolist() for episode in found] == [[3, 3, 5], [1, 2]]
    found = load("log.csv", columns=COLUMNS, time_step=30)
    assert [episode.states.tolist() for episode in found] == [[3, 3, 3, 4, 5], [1, 1, 2]]


def test_numbers_and_ends_are_read():
    rows = {"episode": [0, 0, 1], "state": [0, 1, 2], "time": [0.5, 2.0, 9.0], "terminated": [None, True, False]}
    found = Demonstrations.from_frame(rows, time_step=1.0)
    assert [episode.states.tolist() for episode in found] == [[0, 0, 1], [2]]
    assert found.terminated.tolist() == [True, False]
    clock = {"episode": [0, 0], "state": [0, 1], "time": ["9:58", "10:00:30"]}
    assert Demonstrations.from_frame(clock, time_step=60).states.tolist() == [0, 0, 0, 1]
    clock["time"] = ["9:58", "10:00"]  # Two minutes: a clock without seconds is at the full minute.
    assert Demonstrations.from_frame(clock, time_step=60).states.tolist() == [0, 0, 1]
    clock["time"] = ["9:59:30", "10:00"]
    assert Demonstrations.from_frame(clock, time_step=30).states.tolist() == [0, 1]
    assert len(Demonstrations.from_frame(rows)[0].states) == 2  # Without a time step the column is ignored.


def test_the_command_line_says_what_was_understood(here, capsys):
    (here / "log.csv").write_text(LOG)
    line = "demos inspect log.csv --columns episode=trip,state=link,time=when"
    status, out, _ = robustirl(f"{line} --time-step 60", capsys)
    assert status == 0
    assert "a step every 60 of time" in out
    status, _, err = robustirl(line, capsys)
    assert status == 2
    assert "--time-step" in err


@pytest.mark.parametrize(
    ("rows", "options", "culprits"),
    [
        ({"time": ["soon"]}, {"time_step": 1.0}, ("'time'", "'soon'", "row 0")),
        ({"time": [0]}, {"time_step": -1.0}, ("time step", "-1.0", "above 0")),
        ({"time": [0], "action": [1]}, {"time_step": 1.0}, ("actions", "time step")),
        ({"time": ["3,5"]}, {"time_step": 1.0}, ("'3,5'", "write numbers with points, not with decimal commas.")),
        ({"time": ["soon"]}, {"time_step": 1.0}, ("08:30:00 is needed.",)),
        ({"time": [None]}, {"time_step": 1.0}, ("holds nothing in row 0", "08:30:00 is needed.")),
        ({"time": [True]}, {"time_step": 1.0}, ("holds True in row 0",)),
        ({}, {"time_step": 1.0}, ("no column 'time'",)),
    ],
)
def test_what_cannot_be_binned_is_refused(refused, rows, options, culprits):
    with refused(*culprits):
        Demonstrations.from_frame({"episode": [0], "state": [0], **rows}, **options)
    many = {"episode": [0, 0], "state": [0, 1], "time": [0.0, 1e12]}
    with refused("a longer one"):
        Demonstrations.from_frame(many, time_step=1.0)


def test_a_row_shortly_after_a_tick_has_a_tick_of_its_own():
    for last, states in ((2.0005, [0, 0, 0, 1]), (2 + 1e-12, [0, 0, 1])):  # The second is a matter of rounding.
        rows = {"episode": [0, 0], "state": [0, 1], "time": [0.0, last]}
        assert Demonstrations.from_frame(rows, time_step=1.0).states.tolist() == states


def test_steps_are_counted_before_they_are_made(monkeypatch, refused):
    rows = {"episode": [0, 0, 1, 1], "state": [0, 1, 2, 3], "time": [0, 4, 0, 2]}  # Five steps and three.
    monkeypatch.setattr(timestamps, "MAX_STEPS", 8)
    assert len(Demonstrations.from_frame(rows, time_step=1.0).states) == 8
    monkeypatch.setattr(timestamps, "MAX_STEPS", 7)
    with refused("a time step of 1 makes 8 steps of this table, but 7 are the most"):
        Demonstrations.from_frame(rows, time_step=1.0)


def test_ticks_are_compared_to_a_millionth_of_a_step_and_zones_count(refused):
    # A row a ten-thousandth of a step after the second tick is not there yet.
    rows = {"episode": [0] * 3, "state": [0, 1, 2], "time": [0.0, 100.01, 200.0]}
    assert Demonstrations.from_frame(rows, time_step=100.0).states.tolist() == [0, 0, 2]
    small = {"episode": [0] * 3, "state": [0, 1, 2], "time": [0.0, 1.0001e-6, 2e-6]}
    assert Demonstrations.from_frame(small, time_step=1e-6).states.tolist() == [0, 0, 2]
    zones = {"episode": [0, 0], "state": [0, 1], "time": ["2024-05-01T10:00:00+02:00", "2024-05-01T08:01:00+00:00"]}
    assert Demonstrations.from_frame(zones, time_step=30).states.tolist() == [0, 0, 1]
    some = {"episode": [0, 0], "state": [0, 1], "time": [0, 1], "action": [1, None]}
    with refused("the table has actions, which a time step cannot bin"):
        Demonstrations.from_frame(some, time_step=1.0)


def binned(times, time_step, **columns):
    rows = {"episode": [0] * len(times), "state": list(range(len(times))), "time": times, **columns}
    return Demonstrations.from_frame(rows, time_step=time_step)


@pytest.mark.parametrize(
    ("terminated", "problem"),
    [(["true", "false", "false"], "says true in row 0"), ([None, True, False], "says true in row 1")],
)
def test_an_end_before_the_last_time_is_refused(terminated, problem, refused):
    rows = {"episode": [0] * 3, "state": [0, 1, 2], "terminated": terminated}
    with refused(problem, "in the last row of every"):
        Demonstrations.from_frame(rows)
    for step in (1, 10):  # At the longer one, the row in the middle is at no tick.
        with refused(problem, "in the last row of every"):
            binned([0, 1, 2], step, terminated=terminated)
    with refused("says nothing in row 2"):
        binned([0, 1, 2], 1, terminated=[False, False, None])
    assert binned([2, 0, 1], 1, terminated=[True, None, False]).terminated.tolist() == [True]


def test_every_row_is_read_also_between_ticks(refused):
    with refused("'state' holds 'x' in row 1"):
        binned([0, 1, 2], 2, state=[0, "x", 2])
    found = binned([0, 1, 2], 2, state=["b", "a", "c"])  # Names have one number, whatever the step.
    assert (found.states.tolist(), found.state_names) == ([1, 2], ("a", "b", "c"))


def test_steps_and_times_go_the_same_way(refused):
    assert binned([3, 1, 2], 1, step=[2, 0, 1]).states.tolist() == [1, 2, 0]
    assert binned([0, 0, 1], 1, step=[1, 0, 2]).states.tolist() == [0, 2]  # Steps order rows of one time.
    with refused("'time' holds 0 in row 0", "before 1 in row 1", "leave out 'step'"):
        binned([0, 1, 2], 1, step=[1, 0, 2])
    with refused("is step 5 of episode '0', but step 2 is due"):
        binned([0, 1, 2], 1, step=[0, 1, 5])


def test_a_clock_does_not_pass_midnight(refused):
    with refused("'time' holds '00:30' in row 2", "before '23:30' in row 1", "if midnight passed"):
        binned(["23:00", "23:30", "00:30"], 1800)
    apart = {"episode": [0, 1, 0], "state": [0, 1, 2], "time": ["23:00", "0:30", "23:30"]}
    found = Demonstrations.from_frame(apart, time_step=1800)  # Each episode has its own day.
    assert [episode.states.tolist() for episode in found] == [[0, 2], [1]]
    assert binned(["2024-05-01 23:30", "2024-05-02 00:30"], 1800).states.tolist() == [0, 0, 1]


@pytest.mark.parametrize("write", [int, str, lambda number: np.int64(number)])
def test_no_digit_of_a_large_time_is_lost(write):
    nanoseconds = [write(1714550400000000000 + 100 * i) for i in range(4)]
    assert binned(nanoseconds, 100).states.tolist() == [0, 1, 2, 3]


def test_tenths_of_seconds_since_1970_are_tenths():
    for write in (float, str):
        assert binned([write(1714550400 + i / 10) for i in range(5)], 0.1).states.tolist() == [0, 1, 2, 3, 4]


def test_dates_of_numpy_are_dates(refused):
    minutes = np.array(["2024-05-01T08:00", "2024-05-01T08:02"])
    for unit in ("ns", "us", "s", "m"):
        times = minutes.astype(f"M8[{unit}]")
        assert binned(times, 60).states.tolist() == [0, 0, 1]
        assert binned(list(times), 60).states.tolist() == [0, 0, 1]
        hidden = np.ma.array(times, mask=[False, True])
        with refused("'time' holds nothing in row 1"):
            binned(hidden, 60)
