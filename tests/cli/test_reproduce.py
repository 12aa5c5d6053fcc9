"""`robustirl reproduce`: its tables and notes. What takes minutes to compute has a stand-in."""

import dataclasses

import pytest

from robustirl.cli import reproduce
from tests.cli.running import finished, run
from tests.invented_runs import record_of


def plans(monkeypatch, complete=True):
    """What `reproduce` is asked to run; its runs are invented."""
    asked = []

    def stand_in(plan, out, **options):
        asked.append((plan, options))
        return finished([record_of(spec) for spec in plan.specs], complete=complete)

    monkeypatch.setattr(reproduce, "reproduce", stand_in)
    return asked


SMALL = {"alphas": (1.0, 0.9), "learner_noise": (0.0,), "expert_noise": (0.0, 0.1)}


@pytest.mark.parametrize(
    ("names", "models", "tables", "lines"),
    [
        (("gridworld-4",), (), 1, 0),
        (("gridworld-4",), ("uniform-state", "published"), 2, 1),
        (("gridworld-4", "gridworld-1"), ("published",), 0, 1),
    ],
)
def test_reproduce_prints_a_table_of_one_environment(monkeypatch, tmp_path, names, models, tables, lines):
    asked = plans(monkeypatch)
    request = reproduce.Reproduce(names, models, ("best-alpha",), redraw=True, out=tmp_path, **SMALL)
    status, said = run(reproduce.run_reproduce, request)
    assert status == 0
    assert said.count("by the expert's noise") == tables
    assert said.count("against the published numbers") == lines
    (plan, options), *_ = asked
    assert (plan.explain, plan.noise_models) == (True, models or ("uniform-state",))
    assert options["redraw"]


def test_reproduce_says_what_an_experiment_sets_itself(monkeypatch, tmp_path):
    plans(monkeypatch, complete=False)
    usual = reproduce.Reproduce(("gridworld-4",), experiments=("all-alphas", "alpha-study", "robust-experts"))
    assert reproduce.departures(usual, reproduce.plan_of(usual)) == []
    other = dataclasses.replace(usual, alphas=(1.0, 0.7), learner_noise=(0.05,), out=tmp_path)
    status, said = run(reproduce.run_reproduce, other)
    assert status == 130
    assert "alpha-study is defined by α = 1, 0.95, 0.9" in said
    assert "does not follow --alphas" in said
    assert [reproduce._values(kept) for kept in (None, (1.0, 0.5), "soft")] == [
        "the environment's usual layout",
        "1, 0.5",
        "soft",
    ]
