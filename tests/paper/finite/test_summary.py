"""The table of wins and costs, and the intervals over layouts, on records with known answers."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from robustirl.paper.finite import Record, RunSpec
from robustirl.paper.finite.layouts import Interval, cells, interval, settled_layouts, shapes
from robustirl.paper.finite.summary import best_alpha, compare_with_standard, regret, rule_alpha


def record(alpha=1.0, expert=0.1, learner=0.0, value=-2.0, optimal=-1.0, seed=0):
    spec = RunSpec("gridworld-4", "published", learner, expert, alpha, seed=seed)
    return Record(
        spec, spec.alpha, value, optimal, -0.7, value, -0.2, 0.01, 0.02, 3.0, None, None, None, 200, "budget", 0.5
    )


def test_the_best_alpha_is_that_of_the_best_mean_and_never_one():
    records = [record(1.0, value=-0.1), record(0.9, value=-3.0), record(0.8, value=-2.0), record(0.8, 0.2, value=-3.5)]
    assert best_alpha(records) == 0.8
    assert best_alpha(records[:1]) is None


@pytest.mark.parametrize(
    ("learner", "expert", "alpha"), [(0.0, 0.1, 0.9), (0.0, 0.3, 0.8), (0.1, 0.05, 0.95), (0.1, 0.1, 1.0)]
)
def test_the_rule_takes_the_nearest_alpha(learner, expert, alpha):
    assert rule_alpha(learner, expert, (1.0, 0.95, 0.9, 0.85, 0.8)) == alpha


def test_regret_is_relative_to_the_optimal_return():
    assert regret(record(value=-3.0, optimal=-2.0)) == pytest.approx(0.5)


def test_rows_count_wins_and_losses_by_regime():
    records = [
        record(1.0, 0.1, value=-3.0), record(0.9, 0.1, value=-1.5),
        record(1.0, 0.2, value=-4.0), record(0.9, 0.2, value=-2.0),
        record(1.0, 0.0, value=-1.0), record(0.9, 0.0, value=-1.2),
        record(1.0, 0.0, 0.1, value=-1.0), record(0.9, 0.0, 0.1, value=-1.005),
    ]  # fmt: skip
    noisier, same, calmer = compare_with_standard(records)
    assert (noisier.regime, noisier.cells, noisier.wins, noisier.losses) == ("expert noisier", 2, 2, 0)
    assert noisier.standard == pytest.approx(2.5)
    assert noisier.fixed == noisier.rule == pytest.approx(0.75)
    assert (same.wins, same.losses, same.rule) == (0, 1, pytest.approx(0.0))  # The rule stays with α = 1 here.
    assert (calmer.cells, calmer.wins, calmer.losses) == (1, 0, 0)  # Too small a difference to count.


def test_without_standard_or_without_robust_there_is_nothing_to_compare():
    assert compare_with_standard([record(1.0)]) == []
    assert compare_with_standard([record(0.9)]) == []


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(size=12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    found = interval(values.tolist())
    assert (found.low, found.high) == pytest.approx((low, high))
    assert interval([1.0]) == Interval(1.0, -np.inf, np.inf, 1)


def layouts(standard_far, robust_far, *, count=10):
    generator = np.random.default_rng(0)
    out = []
    for seed in range(count):
        base = -5 - seed  # Layouts differ a lot; the differences within one do not.
        noise = generator.normal(scale=0.1, size=4)
        out += [
            record(1.0, 0.0, value=base + noise[0], seed=seed),
            record(1.0, 0.2, value=base + standard_far + noise[1], seed=seed),
            record(0.8, 0.0, value=base + noise[2], seed=seed),
            record(0.8, 0.2, value=base + robust_far + noise[3], seed=seed),
        ]
    return out


@pytest.mark.parametrize(
    ("standard", "robust", "verdict"),
    [
        (-3.0, 0.0, "confirmed: standard degrades, robust holds and is better"),
        (-3.0, -3.0, "not confirmed: standard degrades, robust does not hold"),
        (-3.0, -2.0, "not confirmed: standard degrades, robust does not hold, and is better"),
        (0.0, 1.0, "not confirmed: standard does not degrade, robust holds, and is better"),
    ],
)
def test_the_papers_shape_is_judged_by_paired_differences(standard, robust, verdict):
    (shape,) = shapes(layouts(standard, robust), lambda r: r.total_return)
    assert shape.verdict.startswith(verdict)
    assert shape.alpha == 0.8
    assert shape.standard_change.mean == pytest.approx(standard, abs=0.2)
    assert shape.standard_change.count == 5


def test_cells_average_over_layouts():
    found = cells(layouts(-3.0, 0.0), lambda r: r.total_return)
    assert set(found) == {(0.0, 1.0, 0.0), (0.0, 1.0, 0.2), (0.0, 0.8, 0.0), (0.0, 0.8, 0.2)}
    assert found[0.0, 1.0, 0.2].mean == pytest.approx(-12.5, abs=0.2)


def test_settled_layouts_reach_their_goal():
    quick, slow = record(optimal=-4.0), dataclasses.replace(record(optimal=-300.0, seed=1))
    assert settled_layouts([quick, slow]) == {0}


def test_unpaired_intervals_are_apart_where_robust_is_above_standard():
    """Layouts are alike here: -5 and -8 at the end, or the same for both."""
    for standard, apart in ((-3.0, True), (0.0, False)):
        same = [
            dataclasses.replace(one, total_return=-5.0 + (standard if one.spec.alpha == 1 else 0.0) * place)
            for one in layouts(0.0, 0.0)
            for place in [one.spec.expert_noise > 0]
        ]
        same = [dataclasses.replace(one, total_return=one.total_return + 0.01 * one.spec.seed) for one in same]
        (shape,) = shapes(same, lambda r: r.total_return)
        assert shape.disjoint is apart


def test_the_best_alpha_is_below_one_and_one_of_its_own_panel():
    """Standard IRL is the best of all here, and another learner has an α that this one has not."""
    own = layouts(5.0, 0.0)
    other = [
        dataclasses.replace(one, spec=dataclasses.replace(one.spec, learner_noise=0.1, alpha=alpha))
        for one in own
        for alpha in ([1.0] if one.spec.alpha == 1 else [0.8, 0.9])
    ]
    assert [shape.alpha for shape in shapes([*own, *other], lambda r: r.total_return)] == [0.8, 0.8]
