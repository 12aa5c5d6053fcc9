"""The study of α from data, at small size, and its arithmetic."""

import dataclasses

import pytest

from robustirl.paper.finite import Record, RunSpec
from robustirl.paper.studies.alpha_from_data import AUTO, as_cells, regrets, specs_of, summarize
from robustirl.sweeps import run
from robustirl.sweeps.executor import flat


def record(value, alpha=1.0, auto="", environment="gridworld-1", expert=0.1, used=None):
    spec = RunSpec(environment, "uniform-state", 0.0, expert, alpha, demonstrations=10, auto=auto)
    used = alpha if used is None else used
    return Record(spec, used, value, -0.5, -0.7, -0.3, -0.2, 0.01, 0.02, 3.0, None, None, None, 200, "budget", 0.5)


def test_regret_is_measured_against_the_best_of_the_same_draw():
    records = [record(-5.0), record(-3.0, 0.9), record(-4.0, auto="states", used=0.95)]
    (cell,) = regrets(records).values()
    assert cell == {1.0: 2.0, 0.9: 0.0, AUTO: 1.0}


def test_the_summary_takes_the_best_fixed_alpha_in_hindsight():
    records = [
        record(value, alpha, expert=expert)
        for expert, values in ((0.1, (-9.0, -5.0, -4.0, -4.5, -6.0)), (0.2, (-19.0, -9.0, -8.0, -7.0, -7.5)))
        for alpha, value in zip((1.0, 0.95, 0.9, 0.85, 0.8), values, strict=True)
    ]
    records += [
        record(-4.0, auto="states", expert=0.1, used=0.9),
        record(-7.5, auto="states", expert=0.2, used=0.81),
    ]
    row, everything = summarize(records)
    assert row == dataclasses.replace(everything, environment="gridworld-1")
    assert row.auto == pytest.approx((0.25, 0.25))
    assert row.standard == pytest.approx((8.5, 8.5))
    assert row.best_alpha == 0.85
    assert row.best_fixed == pytest.approx((0.25, 0.25))
    assert row.estimated == pytest.approx(0.005)
    assert as_cells(row) == ("gridworld-1", "0.25, 0.25", "8.50, 8.50", "0.25, 0.25", "0.85", "+0.005")


def test_a_run_with_estimated_alpha_uses_the_estimate():
    specs = specs_of(
        "uniform-state",
        environments=("gridworld-4",),
        learner_noises=(0.0,),
        expert_noises=(0.2,),
        draws=2,
        trajectories=100,
        steps=3,
    )
    found = [item.record for item in flat(run(specs, workers=1))]
    assert len(found) == 12
    auto = [r for r in found if r.spec.auto]
    assert all(0.7 < r.alpha_used < 0.9 for r in auto)
    assert auto[0].alpha_used != auto[1].alpha_used  # Other draws, other estimates.
    assert all(r.alpha_used == r.spec.alpha for r in found if not r.spec.auto)
