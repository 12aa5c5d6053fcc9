"""Statistics over seeds, against SciPy's where it has them."""

import csv
import io

import numpy as np
import pytest
import scipy.stats

from robustirl.paper.continuous.specs import ContinuousRecord, continuous_grid
from robustirl.paper.continuous.statistics import (
    STATISTICS,
    Estimate,
    best_robust_alpha,
    bootstrap,
    cell_statistics,
    interquartile_mean,
    statistics_csv,
)


def record(spec, value, goal=1.0):
    return ContinuousRecord(spec, value, value, goal, -200.0, 0.01, 0.2, 1.0, 50.0, 300, "budget", 5.0)


@pytest.mark.parametrize("count", range(1, 24))
def test_the_interquartile_mean_is_scipys_trimmed_mean(count):
    values = np.random.default_rng(count).normal(size=(3, count))
    np.testing.assert_allclose(interquartile_mean(values), scipy.stats.trim_mean(values, 0.25, axis=-1), rtol=1e-12)


@pytest.mark.parametrize(
    ("statistic", "theirs"),
    [
        (np.mean, np.mean),
        (np.median, np.median),
        (interquartile_mean, lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis)),
    ],
    ids=["mean", "median", "interquartile mean"],
)
@pytest.mark.parametrize("count", [5, 20])
def test_intervals_are_scipys_percentile_bootstrap(statistic, theirs, count):
    values = np.random.default_rng(count).gumbel(size=count)
    ours = bootstrap(values.tolist(), statistic)
    known = scipy.stats.bootstrap(
        (values,), theirs, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1), vectorized=True
    ).confidence_interval
    np.testing.assert_allclose(ours.value, theirs(values, axis=-1))
    # Two sets of resamples; the ends differ by their own sampling error.
    np.testing.assert_allclose([ours.low, ours.high], [known.low, known.high], atol=0.05 * values.std())
    assert bootstrap(values.tolist(), statistic) == ours


def test_intervals_cover_what_they_should():
    rng = np.random.default_rng(0)
    hits = [(e := bootstrap(rng.normal(size=30).tolist())).low <= 0 <= e.high for _ in range(300)]
    assert 0.88 <= np.mean(hits) <= 0.98


@pytest.mark.usefixtures("mistyped")
def test_one_seed_knows_no_interval_and_none_is_refused(refused):
    assert bootstrap([3.0]) == bootstrap([3.0], np.median)
    assert bootstrap([3.0]) == Estimate(3.0, -np.inf, np.inf)
    two = bootstrap([3.0, 5.0])  # A mean of two of them is 3, 4 or 5.
    assert (two.value, two.low, two.high) == (4.0, 3.0, 5.0)
    for sample, shape in (([], "(0,)"), ([[1.0, 2.0]], "(1, 2)")):
        with refused("sample", shape):
            bootstrap(sample)  # pyright: ignore[reportArgumentType]


def test_cells_gather_the_seeds():
    specs = continuous_grid(alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.0, 0.2), seeds=4)
    lost = {(1.0, 0.2, 3)}
    records = [
        record(s, -9000.0 if (s.alpha, s.expert_noise, s.seed) in lost else -100.0 - s.seed, goal=float(s.seed != 3))
        for s in specs
    ]
    cells = {(c.alpha, c.expert_noise): c for c in cell_statistics(records)}
    assert len(cells) == 4
    assert all(cell.seeds == 4 for cell in cells.values())
    far = cells[1.0, 0.2]
    assert far.mean.value == pytest.approx((-9000 - 303) / 4)
    assert far.interquartile.value == far.median.value == -101.5
    assert far.goal.value == 0.75
    assert far.mean.low < -4000 < far.mean.high
    assert best_robust_alpha(list(cells.values())) == 0.9
    assert best_robust_alpha([cells[1.0, 0.0]]) is None
    rows = list(csv.DictReader(io.StringIO(statistics_csv(list(cells.values())))))
    assert len(rows) == 4
    assert {f"{name}{end}" for name in STATISTICS for end in ("", "_low", "_high")} <= set(rows[0])
    assert float(rows[1]["goal"]) == 0.75
