"""Which figures of finite runs are drawn, of which runs, in how many processes, and under which names."""

import contextlib
import tempfile
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl.paper import figures as paper_figures
from robustirl.paper.finite import catalog, drawing
from robustirl.sweeps import RunResult
from tests.invented_runs import record_of
from tests.paper.invented_pages import OPTIONS, closure, plan


def test_the_cell_of_the_largest_mismatch_is_mapped():
    asked = plan(("best-alpha",), ("uniform-state",))
    records = [record_of(spec) for spec in asked.specs]
    results = {one.spec: RunResult(one, {}) for one in records}
    store = SimpleNamespace(folder=Path(), result=results.get)
    jobs = dict(drawing.figure_jobs(["best-alpha"], asked.grid, ["uniform-state"], store, records))
    assert list(jobs) == [
        ("best-alpha", "uniform-state", "gridworld-1"),
        ("best-alpha", "uniform-state", "gridworld-4"),
        ("maps", "uniform-state", "gridworld-1"),
        ("maps", "uniform-state", "gridworld-4"),
    ]
    inner = {name: each.cell_contents for name, each in closure(jobs["maps", "uniform-state", "gridworld-1"]).items()}
    for name, alpha in (("standard", 1.0), ("robust", 0.9)):
        spec = inner[name].spec
        assert (spec.learner_noise, spec.expert_noise, spec.alpha) == (0.0, 0.2, alpha)
    assert inner["which"] == ""


@pytest.mark.parametrize(("jobs", "cores", "here"), [(11, 2, True), (12, 1, True), (12, 2, False), (13, 3, False)])
def test_many_figures_are_drawn_by_several_processes(jobs, cores, here):
    told, pools = [], []
    keys = [("best-alpha", "m", str(number)) for number in range(jobs)]

    @contextlib.contextmanager
    def pool(count):
        def submit(function, asked):
            assert function is drawing._draw_in_worker
            futures = [Future() for _ in asked]
            for future, one in zip(futures, asked, strict=True):
                future.set_result((keys[one[-1]], [Path(f"{one[-1]}.png")]))
            return futures

        pools.append(count)
        yield submit

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        store = SimpleNamespace(folder=Path(folder))
        patch.setattr(drawing, "figure_jobs", lambda *_: [(key, None) for key in keys])
        patch.setattr(drawing, "cores", lambda: set(range(cores)))
        patch.setattr(drawing, "process_pool", pool)
        patch.setattr(drawing, "_save", lambda key, make, out: [Path(f"{key[2]}.png")])
        for _ in range(2):  # The folder may be there already.
            with drawing.drawing([], None, [], store, [], lambda *words: told.append(words)) as finish:
                drawn = finish()
            assert drawn == {key: [Path(f"{key[2]}.png")] for key in keys}
        assert (Path(folder) / "figures").is_dir()
    assert pools == ([] if here else [cores, cores])
    if not here:
        assert [done for _, done, _ in told[:jobs]] == list(range(1, jobs + 1))
    assert told[-1] == ("drawing", jobs, jobs)


def test_maps_are_of_grids_that_have_both_learners():
    asked = plan(("best-alpha",), ("uniform-state",))
    records = [record_of(spec) for spec in asked.specs]
    store = SimpleNamespace(result=lambda spec: spec)
    assert drawing._maps(asked.grid, store, records, "gridworld-1", "uniform-state") is not None
    assert drawing._maps(asked.grid, store, [], "gridworld-1", "uniform-state") is None
    for alpha in (1.0, 0.9):
        without = [one for one in records if one.spec.alpha != alpha]
        assert drawing._maps(asked.grid, store, without, "gridworld-1", "uniform-state") is None
    flat = catalog.Grid(("three-state",), tuple(OPTIONS.items()))
    slips = [record_of(spec) for spec in flat.specs("three-state", "slip")]
    assert drawing._maps(flat, store, slips, "three-state", "slip") is None
    several = catalog.Grid(("objectworld",), tuple((OPTIONS | {"seeds": (3, 5)}).items()))
    many = [record_of(spec) for spec in several.specs("objectworld", "uniform-state")]
    make = drawing._maps(several, store, many, "objectworld", "uniform-state")
    inner = {name: each.cell_contents for name, each in closure(make).items()}
    assert inner["which"] == "; layout 3, one of 2"
    assert (inner["standard"].spec.seed, inner["robust"].spec.seed) == (3, 3)


def test_a_figure_is_saved_under_its_key(tmp_path):
    (tmp_path / "figures").mkdir()
    found = drawing._save(("gap", "model", "study"), lambda: paper_figures.Figure(figsize=(1, 1)), tmp_path)
    assert found == [tmp_path / "figures" / f"gap_model_study.{end}" for end in ("png", "svg")]
