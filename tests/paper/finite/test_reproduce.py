"""The numbers of the paper and of an independent implementation, from the library's own runner."""

import importlib
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.paper.finite import RunSpec, grid_of_specs
from robustirl.paper.finite.comparison import compare, explain
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.published import published_optimal_returns, published_returns
from robustirl.sweeps import run
from robustirl.sweeps.executor import flat

PAPER_GRIDS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "gridworld-l")
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "noise_models.json").read_text(encoding="utf-8"))


ROW = tuple(grid_of_specs("gridworld-4", "published", learner_noises=(0.1,)))
ALL = tuple(spec for name in PAPER_GRIDS for spec in grid_of_specs(name, "published"))


@pytest.fixture(scope="module", params=[ROW, pytest.param(ALL, marks=pytest.mark.slow)], ids=["one row", "all grids"])
def cells(request):
    found = compare([result.record for result in flat(run(request.param))])
    assert len(found) == len(request.param)
    return found


def test_published_figures_are_reproduced(cells):
    errors = np.array([cell.relative_error for cell in cells])
    assert np.median(errors) <= 0.01
    assert np.mean(errors <= 0.05) >= 0.95


def test_every_run_took_all_steps_and_planned_soundly(cells):
    assert {(cell.record.steps, cell.record.verdict) for cell in cells} == {(200, "budget")}


def test_optimal_returns_are_the_published_ones_up_to_their_sampling_noise(cells):
    known = published_optimal_returns()
    for cell in cells:
        spec = cell.record.spec
        theirs = known[spec.environment, spec.learner_noise]
        assert abs(cell.record.optimal_return - theirs.mean) <= 5 * theirs.deviation / np.sqrt(1000) + 0.0006


def test_gridworld_4_without_learner_noise_was_published_after_a_hundred_steps():
    def mean_error(steps):
        specs = grid_of_specs("gridworld-4", "published", learner_noises=(0.0,), steps=steps)
        found = compare([result.record for result in flat(run(specs))])
        return np.mean([cell.relative_error for cell in found])

    assert mean_error(100) < 0.011
    assert mean_error(200) > 0.04


def test_the_learners_start_distribution_explains_a_cell_that_differs():
    spec = RunSpec("gridworld-4", "published", learner_noise=0.05, expert_noise=0.1, alpha=0.8)
    (cell,) = compare([result.record for result in flat(run([spec]))])
    found = explain(cell, draws=10)
    assert found.lowest < cell.published.mean < found.highest
    assert found.reason == "start noise"


@pytest.mark.parametrize("case", GOLDEN["returns"], ids=lambda c: f"{c['noise_model']}-{c['alpha']}")
def test_other_noise_models_agree_with_an_independent_implementation(case):
    lab = ExperimentContext(envs.make(GOLDEN["environment"]), case["noise_model"])
    learner = GOLDEN["learner_noise"]
    specs = [
        RunSpec(GOLDEN["environment"], case["noise_model"], learner, noise, case["alpha"])
        for noise in GOLDEN["expert_noise"]
    ]
    found = [lab.measure(learner, result.player) for result in lab.fit(specs, steps=GOLDEN["steps"])]
    assert found == pytest.approx(case["values"], abs=case["absolute"], rel=case["relative"])


@pytest.mark.slow
def test_returns_do_not_hang_on_the_width_of_a_tie(monkeypatch):
    operators = importlib.import_module("robustirl.planning.operators")
    lab = ExperimentContext(envs.make("gridworld-1"), "uniform-state")
    specs = [RunSpec("gridworld-1", "uniform-state", 0.0, noise, 0.8) for noise in GOLDEN["expert_noise"]]

    def returns(width):
        monkeypatch.setattr(operators, "tie_margin", lambda expected, _: width * jnp.abs(expected).max())
        jax.clear_caches()
        return [lab.measure(0.0, result.player) for result in lab.fit(specs, steps=200)]

    narrow, wide, broken = returns(1e-14), returns(1e-8), returns(0.0)
    assert narrow == pytest.approx(wide, abs=0.01)
    assert max(np.abs(np.subtract(broken, wide)) / np.abs(wide)) > 0.05


def test_published_numbers_are_all_there():
    assert len(published_returns()) == 5 * 75 + 105
    assert published_returns()["gridworld-l", 0.1, 0.2, 0.8].mean == -15.854
