"""Runs of the study, and the test of one cost for two groups."""

import numpy as np
import pytest

from robustirl.paper.studies import buses_groups
from robustirl.paper.studies.buses_groups import compare_costs
from robustirl.paper.studies.buses_resampling import (
    resample_specs,
)
from robustirl.paper.studies.buses_results import OTHERS, Row
from robustirl.paper.studies.buses_runs import BusesRecord, one_cost_specs, row_of, specs_of
from robustirl.paper.studies.buses_ways import JOINT, OWN, WAYS
from robustirl.rewards import LinearReward
from tests.paper.studies.one_state import COSTS, counted, one_state


def test_the_runs_are_all_ways_of_all_pairs():
    groups = [one_state(chosen)._replace(number=number) for number, chosen in ((4, [0, 1]), (3, [1, 0]), (1, [0, 0]))]
    found = [(spec.source, spec.target, spec.way) for spec in specs_of(groups, 0.9, 0.8, "hold")]
    pairs = [("3", 4), ("1", 4), ("4", 3), ("1", 3), ("4", 1), ("3", 1)]
    joint = [("3 1", 4, JOINT), ("4 1", 3, JOINT), ("4 3", 1, JOINT)]
    assert found == [(*pair, way) for pair in pairs for way in WAYS] + joint + [("4", 4, OWN), ("3", 3, OWN)]
    assert [spec.groups for spec in one_cost_specs(groups, 0.9)] == ["4 3"]
    assert one_cost_specs(groups[1:], 0.9) == []
    drawn = resample_specs(groups, 0.9, 2)
    assert [(spec.source, spec.target, spec.resample) for spec in drawn] == [(4, 3, 0), (4, 3, 1), (3, 4, 0), (3, 4, 1)]
    measures = [float(number) for number in range(11)]
    rows = [row_of(BusesRecord(spec, *measures, seconds=0.0)) for spec in specs_of(groups, 0.9, 0.8, "hold")[-3:-1]]
    assert rows == [Row(OTHERS, 1, JOINT, *measures), Row(4, 4, OWN, *measures)]


def test_a_test_of_one_cost_is_the_likelihood_that_is_lost(monkeypatch):
    """30 of 100 and 10 of 100 choices replace: twice the difference to 40 of 200, by hand."""
    one, joint = counted()
    monkeypatch.setattr(buses_groups, "fit", one)
    monkeypatch.setattr(buses_groups, "fit_jointly", joint)
    groups = [one_state([1] * taken + [0] * (100 - taken))._replace(number=taken) for taken in (30, 10)]
    found = compare_costs([*groups, one_state([0] * 10)], COSTS)
    assert found is not None
    logs = [taken * np.log(taken / of) + (of - taken) * np.log(1 - taken / of) for taken, of in ((30, 100), (10, 100))]
    assert found.statistic == pytest.approx(2 * (sum(logs) - 40 * np.log(0.2) - 160 * np.log(0.8)))
    assert (found.groups, found.freedom) == ((30, 10), 1)
    assert found.p_value == pytest.approx(0.000316, abs=1e-6)
    wide = LinearReward(np.zeros((1, 2, 3)))
    assert [
        test and test.freedom for test in (compare_costs([*groups, groups[0]], wide), compare_costs(groups[:1], COSTS))
    ] == [6, None]
