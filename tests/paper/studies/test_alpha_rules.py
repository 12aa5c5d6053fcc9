"""The rules for α beside the best, at small size."""

import dataclasses
from types import SimpleNamespace

import pytest

from robustirl.paper.studies import alpha_rules
from robustirl.paper.studies.alpha_rules import Row, alpha_table, as_cells, specs_of
from robustirl.sweeps import flat, run
from tests.invented_runs import record_of


@pytest.mark.slow
def test_rows_hold_the_rules_and_the_best_of_those_tried():
    specs = specs_of(["gridworld-4"], alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.0, 0.2), steps=100)
    rows = alpha_table([result.record for result in flat(run(specs, workers=1))])
    assert [row.expert_noise for row in rows] == [0.0, 0.2]
    assert rows[0].half_distance == 1
    assert rows[1].half_distance == pytest.approx(1 - 0.2 * (1 - 1 / 36))
    assert rows[1].best == 0.9
    assert as_cells(rows[0])[:4] == ("gridworld-4", "0", "0", "1.000")
    assert as_cells(rows[1])[5] == "0.9"


def test_the_corollary_is_asked_with_the_opponent_of_the_learners_world(monkeypatch):
    """Where the corollary gives no α, it is 1."""

    def choose(learner, expert, *, opponent_world):
        assert opponent_world == (learner, 0.9)
        slip = float(expert.kernel.to_array()[0, 0, 2])
        return SimpleNamespace(half_distance=1 - slip, corollary=None if slip == 0 else 0.75)

    monkeypatch.setattr(alpha_rules, "worst_opponent_world", lambda world, reward, *, alpha: (world, alpha))
    monkeypatch.setattr(alpha_rules, "choose_alpha", choose)
    specs = specs_of(["three-state"], "slip", alphas=(1.0, 0.5), learner_noises=(0.1,), expert_noises=(0.0, 0.25))
    records = [dataclasses.replace(record_of(spec), total_return=-4.0 * spec.alpha) for spec in specs]
    assert alpha_table(records) == [
        Row("three-state", 0.1, 0.0, 1.0, 1.0, 0.5, -2.0),
        Row("three-state", 0.1, 0.25, 0.75, 0.75, 0.5, -2.0),
    ]
