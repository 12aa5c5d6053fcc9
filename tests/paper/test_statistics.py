"""Statistics over runs, beside SciPy's."""

import numpy as np
import pytest
import scipy.stats

from robustirl.paper.statistics import interquartile_mean, t_half_width


@pytest.mark.parametrize("count", [2, 3, 10, 41])
def test_the_half_width_is_that_of_student(count):
    values = np.random.default_rng(count).normal(3.0, 2.0, count)
    low, high = scipy.stats.t.interval(0.95, count - 1, values.mean(), scipy.stats.sem(values))
    assert t_half_width(values) == pytest.approx((high - low) / 2, rel=1e-12)
    assert t_half_width(np.full(count, 7.0)) == 0


def test_the_middle_half_is_taken_along_an_axis():
    rows = np.array([[9.0, 1.0, 2.0, -50.0], [4.0, 100.0, 3.0, 2.0]])
    assert interquartile_mean(rows).tolist() == [1.5, 3.5]
    assert interquartile_mean(rows.T, axis=0).tolist() == [1.5, 3.5]
    assert interquartile_mean([5, 1, 3]) == 3  # Less than one value at either end is a quarter: none is dropped.
