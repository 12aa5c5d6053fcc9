"""The study of α: its cells exist, its shares are right by hand, and its command resumes."""

import numpy as np
import pytest

from robustirl.paper.studies.alpha_cells import MISMATCHES, cell_names, find_cell
from robustirl.paper.studies.alpha_results import cell_rows, rows_of, rule_points, shares
from robustirl.paper.studies.alpha_runs import CHOICES, AlphaRecord, AlphaSpec, is_number
from tests.commands import robustirl

HOLE = "hole, expert slips"


def records_of(values, cell=HOLE, draw=0, gain=5.0):
    """Return records of curves that nothing speaks against; every candidate below 1 is said to gain as much."""
    found = []
    for choice in CHOICES:
        alpha = float(choice) if is_number(choice) else 0.9
        value, moved = values.get(choice, -10.0), 1 - alpha
        curve = (0.2 * moved, moved, 0.0, 1.0, 1.0, gain * (alpha < 1), 1.0, 0.0)
        found.append(AlphaRecord(AlphaSpec(cell, 100, draw, choice), alpha, value, 0.0, value / 2, 0.0, *curve, 0.0))
    return found


def test_shares_rows_and_cells_by_hand():
    second = CHOICES[1]  # The largest α below 1, which has all of the gain.
    records = records_of({"0.9": -2.0, second: -5.0, "transfer": -40.0})
    found = shares(records)[HOLE, 100, 0]
    assert (found["1"], found["0.9"], found["auto"], found["transfer"]) == (0.0, 0.8, 0.5, -3.0)
    assert shares(records, "discounted")[HOLE, 100, 0] == found
    hole, everything = rows_of([*records, *records_of({}, draw=1, gain=0.0)])
    assert hole[1:] == everything[1:]
    assert (hole[0], hole[2], hole[5], hole[6], hole[7]) == ("hole", "0.250", "0.00", "0.25", "0.25")
    assert hole[10:] == ("-1.000", "0.9", "0.400", "0.400")  # Transfer counts as -2 in the mean.
    (row,) = cell_rows(records)
    assert row == (HOLE, "100", "1", f"{float(second):.3f}", *["0.500"] * 3, "0.800", "0.000", "0.000", "-3.000")


def test_points_of_the_rule():
    points = rule_points(records_of({"0.9": -2.0}))
    assert len(points) == sum(map(is_number, CHOICES)) - 1
    assert ("hole", pytest.approx(0.2), pytest.approx(0.8)) in points


def test_where_standard_loses_nothing_there_is_nothing_to_remove():
    assert shares(records_of({"1": 0.0}))[HOLE, 100, 0]["auto"] == 0


@pytest.mark.parametrize("kind", MISMATCHES)
def test_random_worlds_have_the_mismatch_of_their_name(kind):
    cell = find_cell(f"random, {kind}, 0")
    learner, expert = (np.asarray(world.kernel.to_array()) for world in (cell.learner, cell.expert))
    differs = np.abs(learner - expert).sum(-1).max(-1) > 1e-9
    assert differs.sum() == (1 if kind == "one-state" else 20)
    assert (expert.max(-1).mean() > learner.max(-1).mean()) == (kind == "reversed")


def test_names_are_found_and_others_refused(refused):
    assert len(set(cell_names())) == len(cell_names())
    assert find_cell("frozen-lake, slip, 0 / 0.667").expert_kind == "optimal"
    assert find_cell("random, uniform, 123").learner.num_states == 20
    with refused("there is no cell 'random, uniform, -1'"):
        find_cell("random, uniform, -1")
    with refused("there is no cell 'nowhere'"):
        AlphaSpec("nowhere", 1, 0, "1").check()


@pytest.mark.slow
def test_the_command_resumes(here, capsys):
    line = "study alpha --out out --draws 1 --episodes 20 --cells hole"
    status, out, _ = robustirl(line, capsys)
    assert status == 0
    assert "| hole, learner slips | 20 |" in out
    before = (here / "out" / "results.csv").read_text()
    status, again, _ = robustirl(line, capsys)
    assert (status, again) == (0, out)
    assert (here / "out" / "results.csv").read_text() == before


def test_the_command_refuses_cells_that_are_not_there(here, capsys):
    status, out, err = robustirl("study alpha --cells nowhere", capsys)
    assert (status, out) == (2, "")
    assert "no cell begins with nowhere" in err
    assert not list(here.iterdir())
