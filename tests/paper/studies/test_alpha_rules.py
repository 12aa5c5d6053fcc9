"""The rules for α beside the best, at small size."""

import pytest

from robustirl.paper.studies.alpha_rules import alpha_table, as_cells, specs_of
from robustirl.sweeps import flat, run


def test_rows_hold_the_rules_and_the_best_of_those_tried():
    specs = specs_of(["gridworld-4"], alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.0, 0.2), steps=100)
    rows = alpha_table([result.record for result in flat(run(specs, workers=1))])
    assert [row.expert_noise for row in rows] == [0.0, 0.2]
    assert rows[0].half_distance == 1
    assert rows[1].half_distance == pytest.approx(1 - 0.2 * (1 - 1 / 36))
    assert rows[1].best == 0.9
    assert as_cells(rows[0])[:4] == ("gridworld-4", "0", "0", "1.000")
    assert as_cells(rows[1])[5] == "0.9"
