"""Resampled groups: their draws, gains and rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations import Choices
from robustirl.paper.studies import buses_resampling
from robustirl.paper.studies.buses_resampling import (
    ResampleRecord,
    draw_buses,
    resample_specs,
    resampled_gains,
    resampled_rows,
)
from tests.paper.studies.one_state import COSTS, one_state


def test_more_resamples_begin_with_the_same_draws():
    group = one_state([0, 1, 0])._replace(choices=Choices([0] * 3, [0, 1, 0], [0, 1, 2]))
    few, more = draw_buses(group, group, 1), draw_buses(group, group, 3)
    assert [part.tolist() for part in few[0]] == [part.tolist() for part in more[0]] == [[2, 1, 1], [0, 0, 0]]


def test_gains_are_those_of_the_buses_that_were_drawn(monkeypatch):
    """Standard gives a half to both actions, transfer 3/4 and 1/4; every bus of the target has its own choices."""

    def fit(world, rows, **_):
        drawn.append(int(np.sum(rows.actions)))
        return SimpleNamespace(player=np.array([[0.5, 0.5]]), reward=None)

    drawn = []
    monkeypatch.setattr(buses_resampling, "fit", fit)
    monkeypatch.setattr(buses_resampling, "solve", lambda *_: SimpleNamespace(player=np.array([[0.75, 0.25]])))
    source = one_state([0])._replace(choices=Choices([0] * 3, [0, 1, 0], [0, 1, 2]))
    target = one_state([0])._replace(choices=Choices([0] * 4, [0, 1, 1, 0], [0, 1, 1, 2]))
    gains = resampled_gains(source, target, COSTS, range(5))
    rng = np.random.default_rng(0)
    values, lengths = np.array([np.log(1.5), 2 * np.log(0.5), np.log(1.5)]), np.array([1, 2, 1])
    expected, replaced = [], []
    for _ in range(5):
        replaced += [int((rng.choice(3, 3) == 1).sum())] * 2  # Standard and transfer learn from the same buses.
        judged = rng.choice(3, 3)
        expected.append(values[judged].sum() / lengths[judged].sum())
    assert gains == pytest.approx(expected)
    assert drawn == replaced
    assert resampled_gains(source, target, COSTS, [3, 1]) == pytest.approx([expected[3], expected[1]])


def test_pairs_of_resampled_groups_are_rows():
    groups = [one_state(chosen)._replace(number=number) for number, chosen in ((7, [1]), (5, [1]), (4, [0]))]
    specs = resample_specs(groups, 0.9, 41)
    records = [ResampleRecord(spec, float(spec.resample * (spec.source - spec.target)), 0.0) for spec in specs]
    assert resampled_rows(records) == [
        ("7", "5", "+40.00000", "+2.00000 to +78.00000", "41"),
        ("5", "7", "-40.00000", "-78.00000 to -2.00000", "41"),
    ]
