"""Statistics of the study of physics, on hand-made runs."""

import dataclasses

import numpy as np
import pytest

from robustirl.paper.studies.physics_results import (
    RUN_COLUMNS,
    Cell,
    improvement_interval,
    interquartile_mean,
    interval,
    normalized,
    probability_of_improvement,
    rows_of,
    run_rows,
    sampled_runs,
)
from tests.paper.studies.hand_made import records_of


def test_statistics_have_their_hand_computed_values():
    # Of eight numbers the two smallest and the two largest go: (3 + 4 + 5 + 6) / 4.
    assert interquartile_mean([8, 1, 3, 4, 100, 6, 5, -50]) == pytest.approx(4.5)
    # Three of four pairs are larger, one is equal: 3.5 / 4; in the second level none of one.
    first, second = [np.array([1.0, 2.0]), np.array([0.0])], [np.array([1.0, 0.0]), np.array([1.0])]
    assert probability_of_improvement(first[0], second[0]) == 0.875
    assert probability_of_improvement(first, second) == 0.4375
    # Two values, each drawn with probability 1/2 twice: the mean is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4.
    assert interval(np.array([0.0, 1.0])) == (0.0, 1.0)
    # Levels that differ do not widen an interval, since seeds are drawn within each.
    assert interval([np.full(3, 1.0), np.full(3, 3.0)]) == (2.0, 2.0)
    assert improvement_interval([np.array([2.0, 2.0])], [np.array([1.0, 3.0])]) == (0.0, 1.0)


def test_returns_are_normalized_in_each_world_by_its_own_expert():
    cells = normalized(records_of("hopper", "mass", 2.0, {"alpha=1": (60, 60)}))
    found = cells[Cell("hopper", "mass", 16, 2.0)]["alpha=1"]
    assert found["learner_return"].tolist() == [0.5, 0.5]
    assert found["expert_return"].tolist() == [0.25, 0.25]
    rows = rows_of(records_of("hopper", "mass", 2.0, {"alpha=1": (60, 60), "alpha=0.9": (110, 10)}))
    (robust,) = [row for row in rows if row[4] == "alpha=0.9"]
    assert robust[5:] == (2, "1.00", "1.00 to 1.00", "1.00", "0.00", "0.00 to 0.00", "0.00", "1.00")


def test_every_run_is_a_row_of_the_file():
    (record,) = [one for one in records_of("hopper", "mass", 2.0, {"alpha=1": (60.126, 1)}) if one.spec.seed][-1:]
    cells = dict(zip(RUN_COLUMNS, run_rows([record])[0], strict=True))
    assert (cells["world"], cells["factor"], cells["seed"], cells["steps"]) == ("hopper", 2.0, 1, 1)
    assert (cells["learner_return"], cells["expert_return"], cells["gap"]) == (60.13, 1.0, 0.0)
    assert run_rows([dataclasses.replace(record, gap=float("nan"))])[0][-4:] == ("", "", "", "mjx")
    drawn = dataclasses.replace(record, learner_sampled=7.126, expert_sampled=8.0)
    assert run_rows([drawn])[0][-3:-1] == (7.13, 8.0)
    (swapped,) = sampled_runs([record, drawn])  # Runs that were not measured so are left out.
    assert (swapped.learner_return, swapped.expert_return, swapped.spec) == (7.126, 8.0, record.spec)
