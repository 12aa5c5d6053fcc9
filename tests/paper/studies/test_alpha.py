"""The study of α: its cells exist, its shares are right by hand, and its command resumes."""

import csv
from pathlib import Path

import numpy as np
import pytest

from robustirl.paper.studies.alpha_cells import MISMATCHES, cell_names, find_cell
from robustirl.paper.studies.alpha_results import rule_points, shares, units_of
from robustirl.paper.studies.alpha_runs import CHOICES, AlphaRecord, AlphaSpec, is_number
from robustirl.paper.studies.alpha_tables import CELL_COLUMNS, COLUMNS, cell_rows, rows_of, summary_of
from robustirl.reports import to_markdown
from tests.commands import robustirl

HOLE = "hole, expert slips"


def records_of(values, cell=HOLE, draw=0, gain=5.0, **given):
    """Return records of curves that nothing speaks against; every candidate below 1 is said to gain as much."""
    found = []
    numbers = [choice for choice in CHOICES if is_number(choice)]
    for choice in CHOICES:
        alpha = float(choice) if is_number(choice) else 0.9
        value, moved = values.get(choice, -10.0), 1 - alpha
        curve = {"gap": 0.2 * moved, "distance": moved, "excess": 0.0, "arrival": 1.0, "reach": 1.0, "planned": 1.0}
        curve |= {"gain": gain * (alpha < 1), "gain_error": 1.0, "log_likelihood": -abs(alpha - 0.9)}
        curve |= {"own_gains": " ".join(["0"] * len(numbers)), "avoidable_gap": 0.0, "sampling_error": 0.0}
        curve |= {"direction_states": "unknown", "direction_actions": "unknown", "recommended": 0.0, **given}
        spec = AlphaSpec(cell, 100, draw, choice)
        found.append(AlphaRecord(spec, alpha, value, 0.0, value / 2, 0.0, **curve, seconds=0.0))
    return found


def test_shares_rows_and_cells_by_hand():
    second = CHOICES[1]  # The largest α below 1, which has all of the gain.
    records = records_of({"0.9": -2.0, second: -5.0, "transfer": -40.0})
    units = units_of(records)
    found = shares(units)[HOLE, 100, 0]
    assert (found["1"], found["0.9"], found["auto"], found["transfer"]) == (0.0, 0.8, 0.5, -3.0)
    assert found["likeliest"] == 0.8
    assert shares(units, "discounted")[HOLE, 100, 0] == found
    rows = rows_of(units_of([*records, *records_of({}, draw=1, gain=0.0)]))
    assert [row[0] for row in rows] == ["all", "hole", "hole, noisier expert"]
    assert rows[0][1:] == rows[1][1:] == rows[2][1:]
    row = dict(zip(COLUMNS, rows[0], strict=True))
    assert (row["auto: mean"], row["median"], row["worst draw"], row["worst cell"]) == (
        "0.250",
        "0.250",
        "0.00",
        "0.25",
    )
    assert row["± 95 %"] == "3.177"  # Of 0.5 and 0: a quarter times 12.706, the quantile of Student's t.
    assert (row["transfer"], row["best fixed α"], row["its mean"]) == ("-1.000", "0.9", "0.400")  # -2 counts for -3.
    assert row["best in hindsight"] == "0.400"
    (two,) = cell_rows(units_of([*records, *records_of({}, draw=1, gain=0.0)]))
    assert dict(zip(CELL_COLUMNS, two, strict=True))["± 95 %"] == "3.177"  # As above: two draws have an interval.
    (cell,) = cell_rows(units)
    cell = dict(zip(CELL_COLUMNS, cell, strict=True))
    assert (cell["cell"], cell["draws"], cell["mean α"]) == (HOLE, "1", f"{float(second):.3f}")
    assert (cell["share of auto"], cell["best α of the cell"], cell["its share"]) == ("0.500", "0.9", "0.800")


def test_actions_and_transfer_have_a_say():
    values = {"transfer": -1.0, CHOICES[1]: -5.0}
    calmer = {"gain": 1.25, "direction_actions": "calmer"}  # Not enough for a calmer expert.
    own = units_of(records_of(values, **calmer))[HOLE, 100, 0]
    assert (own["auto"].alpha, own["auto, actions"].alpha) == (float(CHOICES[1]), 1.0)
    assert own["auto or transfer"] is own["auto, actions"]
    own = units_of(records_of(values, **calmer, recommended=1.0))[HOLE, 100, 0]
    assert own["auto or transfer"] is own["transfer"]


def test_points_of_the_rule():
    points = rule_points(units_of(records_of({"0.9": -2.0})))
    assert len(points) == sum(map(is_number, CHOICES)) - 1
    assert ("hole", pytest.approx(0.02 / 0.081), pytest.approx(0.8)) in points


def test_where_standard_loses_nothing_there_is_nothing_to_remove():
    assert shares(units_of(records_of({"1": 0.0})))[HOLE, 100, 0]["auto"] == 0


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
    grid, objects = (find_cell(f"{kind} layout 3, uniform-action, 0 / 0.2") for kind in ("grid", "object"))
    assert (grid.group, grid.learner.num_states, set(grid.reward.tolist())) == ("layouts", 36, {-100.0, -1.0, 0.0})
    assert (objects.learner.num_states, set(objects.reward.tolist())) == (100, {-2.0, -1.0, 0.0})
    with refused("there is no cell 'random, uniform, -1'"):
        find_cell("random, uniform, -1")
    with refused("there is no cell 'grid layout x, uniform-action, 0 / 0.2'"):
        find_cell("grid layout x, uniform-action, 0 / 0.2")
    with refused("there is no cell 'nowhere'"):
        AlphaSpec("nowhere", 1, 0, "1").check()


def test_the_page_shows_the_data():
    docs = Path(__file__).parents[3] / "docs"
    with (docs / "data" / "alpha.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    assert tuple(columns) == COLUMNS
    head, *table = summary_of(rows)
    assert to_markdown(head, table).strip() in (docs / "choosing-alpha.md").read_text("utf-8")


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
    status, joined, _ = robustirl("study alpha --out joined --stores out", capsys)
    assert status == 0
    assert joined.split("wrote")[0] == out.split("wrote")[0]
    assert (here / "joined" / "alpha-cells.csv").read_text().startswith("cell,episodes,draws,mean α")


def test_the_command_refuses_cells_that_are_not_there(here, capsys):
    status, out, err = robustirl("study alpha --cells nowhere", capsys)
    assert (status, out) == (2, "")
    assert "no cell begins with nowhere" in err
    assert not list(here.iterdir())
