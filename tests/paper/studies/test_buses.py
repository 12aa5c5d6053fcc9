"""The study of Rust's buses across groups at its smallest, and what it writes."""

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies import buses, buses_groups, buses_resampling, buses_runs
from robustirl.paper.studies.buses import BusesStudy
from robustirl.paper.studies.buses_groups import make_judge
from robustirl.paper.studies.buses_ways import OWN, judge_policy
from robustirl.paper.studies.registry import Frame, StudyInterrupted
from robustirl.sweeps import Store
from tests.paper.studies.one_state import COSTS, one_state


@pytest.mark.slow
def test_the_study_goes_both_ways_and_continues_where_it_was_stopped(tmp_path):
    def stop(activity, done, of):
        if activity == "resamples" and done:
            raise KeyboardInterrupt

    study = BusesStudy(groups=(4, 3), resamples=3)
    with pytest.raises(StudyInterrupted, match="interrupted after 23 of 27 runs"):
        study.run(Frame(tmp_path, stop, say=lambda text: None))
    kept = {path.name: path.stat().st_mtime_ns for path in Store.read(tmp_path).batches.iterdir()}
    study.run(Frame(tmp_path, say=lambda text: None))
    assert (
        kept.items() <= {path.name: path.stat().st_mtime_ns for path in Store.read(tmp_path).batches.iterdir()}.items()
    )
    rows = [line.split(" | ") for line in (tmp_path / "buses.md").read_text().splitlines()[2:]]
    assert len(rows) == 2 * 8 + 2 + 2
    standard = {
        (row[0].strip("| "), row[1]): float(row[4].split()[0]) for row in rows if row[2] == "standard, likelihood"
    }
    assert standard == {("3", "4"): -0.04163, ("4", "3"): -0.04180}
    assert len((tmp_path / "buses-resampled.md").read_text().splitlines()) == 4
    own = [row for row in rows if row[2] == "own cost"]
    # Rust's costs predict 33 and 27 replacements where there were as many.
    assert [round(float(row[6])) for row in own] == [33, 27]
    assert [row[-1].split()[0] for row in own] == ["0.0000", "0.0000"]


def test_one_group_is_no_pair(tmp_path):
    with pytest.raises(InvalidInputError, match=r"--groups is \(4, 4\), but at least two different groups are needed"):
        BusesStudy(groups=(4, 4)).run(Frame(tmp_path))


@pytest.mark.usefixtures("mistyped")
def test_what_the_study_of_buses_writes_and_says(tmp_path, monkeypatch):
    """Groups of one state, with stand-ins for what is learned."""
    chosen = {4: [1] + [0] * 3, 3: [0] * 4}
    policy = np.array([[0.5, 0.5]])
    judge = make_judge(one_state([1] * 25 + [0] * 75), COSTS)
    named = lambda group: group.number  # noqa: E731
    for module in (buses, buses_runs, buses_resampling):
        monkeypatch.setattr(module, "read_group", lambda number, *_: one_state(chosen[number])._replace(number=number))
    for module in (buses_runs, buses_resampling):
        monkeypatch.setattr(module, "cost_model", lambda: COSTS)
    monkeypatch.setattr(buses_runs, "WAYS", ("first", "second"))
    monkeypatch.setattr(buses_runs, "make_judge", lambda group, _: judge if group.choices.actions.any() else None)
    monkeypatch.setattr(buses_runs, "policies", lambda *_: [("first", 1.0, policy), ("second", 0.9, policy[:, ::-1])])
    monkeypatch.setattr(
        buses_runs,
        "policy_of_others",
        lambda others, target, _: learned.append((*map(named, others), target.number)) or policy,
    )
    monkeypatch.setattr(
        buses_runs, "own_row", lambda group, *_: judge_policy(group.number, OWN, 1.0, policy, group, None, None)
    )
    monkeypatch.setattr(buses_resampling, "resampled_gains", lambda a, b, _, drawn: np.array(drawn) * a.number)
    monkeypatch.setattr(buses_runs, "compare_costs", lambda *_: buses_groups.OneCost((4, 3), 1.234, 2, 0.0456))
    said, steps, learned = [], [], []
    frame = Frame(tmp_path, say=said.append, progress=lambda *step: steps.append(step[1:]))
    BusesStudy(groups=(4, 3), resamples=0).run(frame)
    rows = [line.strip("| ").split(" | ")[:7] for line in (tmp_path / "buses.md").read_text().splitlines()[2:]]
    half = "-0.69315 ± 0.00000"
    assert rows == [
        ["3", "4", "first", "1", half, "+0.00000 ± 0.00000", "2.0"],
        ["3", "4", "second", "0.9", half, "+0.00000 ± 0.00000", "2.0"],
        ["4", "3", "first", "1", half, "+0.00000 ± 0.00000", "2.0"],
        ["4", "3", "second", "0.9", half, "+0.00000 ± 0.00000", "2.0"],
        ["others", "4", "transfer, joint", "1", half, "–", "2.0"],
        ["others", "3", "transfer, joint", "1", half, "–", "2.0"],
        ["4", "4", "own cost", "1", half, "–", "2.0"],
    ]
    assert learned == [(3, 4), (4, 3)]
    assert steps == [(0, 7), (2, 7), (4, 7), (5, 7), (6, 7), (7, 7)]
    assert said[-2:] == [
        "group 4: 4 months, 1 engines replaced, at 2,500 miles on average",
        "group 3: 4 months, 0 engines replaced",
    ]
    # Neither group is a source with a cost for a target with one.
    summary = (tmp_path / "buses-summary.md").read_text().splitlines()
    assert summary[2:4] == ["| first | – | – | -0.69315 | 0 |", "| second | – | – | -0.69315 | 1 |"]
    assert not (tmp_path / "buses-resampled.md").exists()
    # The same command computes nothing; with replacements in both groups there are resamples and a test as well.
    BusesStudy(groups=(4, 3), resamples=0).run(Frame(tmp_path, say=said.append))
    assert len(learned) == 2
    chosen[3] = chosen[4]
    BusesStudy(groups=(4, 3), resamples=3).run(Frame(tmp_path / "both", say=said.append))
    assert (tmp_path / "both" / "buses-resampled.md").read_text().splitlines()[2:] == [
        "| 4 | 3 | +4.00000 | +0.20000 to +7.80000 | 3 |",
        "| 3 | 4 | +3.00000 | +0.15000 to +5.85000 | 3 |",
    ]
    assert said[-1] == (
        "one cost for groups 4 and 3: twice the log-likelihood lost is 1.23, chi-squared with 2 degrees of freedom"
        " (p = 0.046)"
    )
