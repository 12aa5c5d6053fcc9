"""Specs, batches, tables, figures and the page, at small size for every environment and experiment."""

import csv
import dataclasses
import io
import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.paper.figures import figure_returns
from robustirl.paper.finite import FINITE, RunSpec, grid_of_specs
from robustirl.paper.finite.catalog import EXPERIMENTS, Grid, choose, collect_specs
from robustirl.paper.finite.report import write_report
from robustirl.paper.finite.reproduce import Plan, reproduce
from robustirl.paper.published import published_returns
from robustirl.sweeps import Store, compute, run
from robustirl.sweeps.executor import batches, flat
from robustirl.sweeps.store.tables import TIME_COLUMNS, columns, results_csv

ROOT = Path(__file__).parents[2]
SMALL = {"alphas": (1.0, 0.9), "learner_noises": (0.0, 0.1), "expert_noises": (0.0, 0.1), "steps": 3}


def small(name, model=None, **changes):
    return grid_of_specs(name, model, **{**SMALL, **changes})


def small_plan(*names, experiments=("best-alpha", "all-alphas"), models=("uniform-state",)):
    return Plan(choose(experiments), Grid(names, tuple(SMALL.items())), models)


def untimed(folder):
    rows = csv.DictReader(io.StringIO((folder / "results.csv").read_text(encoding="utf-8")))
    return [{name: value for name, value in row.items() if name not in TIME_COLUMNS} for row in rows]


FEW = ("gridworld-4",)  # Others are drawn below; all of them are compiled in the slow suite.


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in envs.names()]
)
def test_every_environment_runs(name, tmp_path):
    outcome = compute(small(name), tmp_path / "out")
    assert outcome.complete
    assert len(outcome.records) == 8
    assert all(record.total_return <= record.optimal_return + 1e-9 for record in outcome.records)
    assert all(record.discounted_return <= record.optimal_discounted_return + 1e-9 for record in outcome.records)


@pytest.mark.parametrize(
    "name", ["gridworld-4", *(pytest.param(name, marks=pytest.mark.slow) for name in ("three-state", "objectworld"))]
)
def test_environments_are_drawn_with_maps_where_they_are_grids(name, tmp_path):
    plan = small_plan(name, models=envs.make(name).noise_models[:1])
    outcome = reproduce(plan, tmp_path / "out")
    drawn = {path.name for path in outcome.files if path.suffix == ".png"}
    model = plan.noise_models[0]
    expected = {f"all-alphas_{model}_{name}.png", f"best-alpha_{model}_{name}.png"}
    assert drawn == expected | ({f"maps_{model}_{name}.png"} if name != "three-state" else set())
    for path in outcome.files:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "report.html") in outcome.files
    again = reproduce(plan, tmp_path / "out")
    assert again.new == 0
    assert len(again.files) == 3  # Nothing was drawn again,
    other = dataclasses.replace(plan, experiments=choose(["gap"]))
    gap = tmp_path / "out" / "figures" / f"gap_{model}_study.png"
    assert gap in reproduce(other, tmp_path / "out").files  # but another experiment on the same runs is.


def everything_in(out, models):
    plan = Plan(choose(["all"]), Grid(("gridworld-4",), tuple(SMALL.items())), models)
    return plan, reproduce(plan, out), out


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(models, marks=pytest.mark.slow)
        for models in ("published", "uniform-state uniform-action published")
    ],
)
def everything(request, tmp_path_factory):
    return everything_in(tmp_path_factory.mktemp("everything") / "out", tuple(request.param.split()))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_drawn_under_every_kernel(name, everything):
    plan, outcome, out = everything
    experiment = EXPERIMENTS[name]
    for model in plan.noise_models:
        specs = experiment.specs(plan.grid, model)
        assert set(specs) <= {record.spec for record in outcome.records}
        drawings = experiment.draw(plan.grid, model, outcome.records)
        assert drawings
        for drawing in drawings:
            for suffix in ("png", "svg"):
                assert (out / "figures" / f"{name}_{model}_{drawing.name}.{suffix}").exists()


def test_the_page_is_whole_and_needs_no_network(everything):
    plan, outcome, out = everything
    page = (out / "report.html").read_text(encoding="utf-8")
    for experiment in plan.experiments:
        assert f'id="{experiment.name}"' in page
    figures = [path for path in outcome.files if path.suffix == ".svg"]
    assert page.count("data:image/svg+xml;base64,") == len(figures)
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "Against the published numbers" not in page  # These runs took three steps; nothing was published of that.


def test_the_page_compares_with_the_published_numbers_cell_by_cell(everything, tmp_path):
    _, outcome, _ = everything
    grid = Grid(("gridworld-4",), (("alphas", (1.0,)), ("learner_noises", (0.0,)), ("expert_noises", (0.0, 0.1))))
    plan = Plan(choose(["best-alpha"]), grid, ("published",))
    template = outcome.records[0]
    known = published_returns()
    near, far = (known["gridworld-4", 0.0, noise, 1.0].mean for noise in (0.0, 0.1))
    records = [
        dataclasses.replace(template, spec=spec, total_return=value)
        for spec, value in zip(plan.specs, (near, 2 * far), strict=True)
    ]
    page = write_report(plan, records, {}, [], tmp_path, draws=1).read_text(encoding="utf-8")
    assert "over 2 cells the median relative error is 50.00 %, 50.0 % of the cells are within 5 %" in page
    assert f"{near:.1f} / {near:.1f}" in page
    assert f'<td class="bad" title="100.0 %">{2 * far:.1f} / {far:.1f}' in page


def test_the_table_has_the_promised_columns_and_full_precision(everything):
    _, outcome, out = everything
    rows = list(csv.DictReader(io.StringIO((out / "results.csv").read_text(encoding="utf-8"))))
    assert tuple(rows[0]) == tuple(columns(FINITE))
    assert [float(row["return"]) for row in rows] == [record.total_return for record in outcome.records]
    table = pyarrow.parquet.read_table(out / "results.parquet")
    assert tuple(table.column_names) == tuple(columns(FINITE))
    assert table.column("return").to_pylist() == [record.total_return for record in outcome.records]
    assert table.column("train_noise").to_pylist() == [record.spec.train_noise for record in outcome.records]


def test_sampled_returns_scatter_around_the_exact_ones(everything):
    _, outcome, _ = everything
    sampled = [record for record in outcome.records if record.spec.sampled]
    assert sampled
    scores = [
        (r.sampled_mean - r.total_return) / (r.sampled_deviation / np.sqrt(r.spec.sampled))
        for r in sampled
        if r.sampled_deviation > 0
    ]
    assert np.abs(scores).max() < 5
    assert all(r.sampled_mean is None for r in outcome.records if not r.spec.sampled)


def test_a_reward_that_is_transferred_within_one_world_is_acted_on_there():
    spec = RunSpec("gridworld-4", "uniform-state", 0.1, 0.2, 1.0, steps=20)
    moved = RunSpec("gridworld-4", "uniform-state", 0.1, 0.2, 1.0, steps=20, train_noise=0.1)
    here, there = (item.record for item in flat(run([spec, moved])))
    assert there.total_return == pytest.approx(here.total_return, rel=1e-8)
    assert there.bound == pytest.approx(here.bound)  # Theorem 1's, since M^train = M^L.


def test_a_robust_expert_and_a_fixed_start_change_the_run():
    base = RunSpec("gridworld-4", "uniform-state", 0.0, 0.2, 1.0, steps=20)
    variants = [
        base,
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.2, 1.0, steps=20, expert_alpha=0.8),
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.2, 1.0, steps=20, start="fixed"),
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.2, 1.0, steps=20, expert="optimal"),
    ]
    found = flat(run(variants))
    assert len({item.record.total_return for item in found}) == 4
    assert found[2].arrays["expert_occupancy"][0] < found[0].arrays["expert_occupancy"][0]


def test_batches_are_cut_from_the_whole_list_and_hold_like_runs():
    specs = small("gridworld-4") + small("gridworld-4", "published") + small("gridworld-1")
    cut = batches(specs, 3)
    assert [len(batch) for batch in cut] == [3, 3, 2] * 3
    assert [spec for batch in cut for spec in batch] == list(specs)
    shared = [{(s.environment, s.noise_model) for s in batch if isinstance(s, RunSpec)} for batch in cut]
    assert all(len(found) == 1 for found in shared)


@pytest.mark.slow
def test_processes_find_what_one_process_finds():
    specs = small("gridworld-4")
    alone, together = flat(run(specs, workers=1)), flat(run(specs, workers=2))
    values = {item.record.spec: item.record.total_return for item in together}
    assert values == {item.record.spec: item.record.total_return for item in alone}


def test_the_same_request_twice_does_no_work_the_second_time(tmp_path):
    specs = small("gridworld-4", "published")
    first = compute(specs, tmp_path)
    table = (tmp_path / "results.csv").read_bytes()
    second = compute(specs, tmp_path)
    assert (first.new, second.new) == (8, 0)
    assert (tmp_path / "results.csv").read_bytes() == table


def test_an_interrupt_keeps_what_is_finished_and_the_rest_is_as_if_nothing_had_happened(tmp_path):
    specs = small("gridworld-4", learner_noises=(0.0, 0.05, 0.1, 0.2))

    def interrupt(_, done, __):
        if done:
            raise KeyboardInterrupt

    broken = compute(specs, tmp_path / "broken", interrupt)
    assert not broken.complete
    assert len(broken.records) == len(untimed(tmp_path / "broken")) == 5
    seen = []
    resumed = compute(specs, tmp_path / "broken", lambda _, done, __: seen.append(done))
    assert resumed.complete
    assert (resumed.new, seen[0]) == (11, 5)
    compute(specs, tmp_path / "whole")
    assert untimed(tmp_path / "broken") == untimed(tmp_path / "whole")


KILLED = """
import os, signal, sys
from pathlib import Path
from robustirl.sweeps import compute
from tests.sweeps.test_executor import small

def end(_, done, __):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)

compute(small("gridworld-4"), Path(sys.argv[1]), end)
"""


def test_a_kill_costs_at_most_what_was_under_way(tmp_path):
    """Random moments, and a kill of several processes, are in tests/cli/test_cli.py."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed")], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "results.csv").exists()
    assert compute(small("gridworld-4"), tmp_path / "killed").new == 3  # Of eight runs in batches of five.
    compute(small("gridworld-4"), tmp_path / "whole")
    assert untimed(tmp_path / "killed") == untimed(tmp_path / "whole")


def test_a_folder_of_another_request_is_left_alone(tmp_path, refused):
    compute(small("gridworld-4"), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with refused("holds results of another request; choose another --out"):
        compute(small("gridworld-4", steps=4), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_is_extended_by_runs_that_are_missing(tmp_path, refused):
    asked = small("gridworld-4")
    compute(asked[:3], tmp_path)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").iterdir()}
    done = compute(asked[2:], tmp_path, extend=True)
    assert done.new == len(asked) - 3  # The run that both ask for is not computed again.
    assert {record.spec for record in done.records} == set(asked)
    assert files.items() <= {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").iterdir()}.items()
    # The request is now the later one with the earlier runs that were finished; both read the same numbers.
    assert Store.read(tmp_path).specs == (*asked[2:], *asked[:2])
    whole = {record.spec: record.total_return for record in compute(asked, tmp_path / "whole").records}
    assert {record.spec: record.total_return for record in done.records} == pytest.approx(whole)
    with refused("holds results of another request; choose another --out"):
        compute(asked[:3], tmp_path)


def test_no_curve_leaves_its_panel():
    name = "gridworld-4"
    specs = grid_of_specs(name, "published", alphas=(1.0, 0.8), steps=20)
    records = [item.record for item in flat(run(specs, workers=1))]
    figure = figure_returns(envs.make(name), records, published_returns())
    for axis in figure.axes[1:4]:
        low, high = axis.get_ylim()
        drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axis.lines[1:]])
        assert low <= drawn.min()
        assert drawn.max() <= high


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (RunSpec("nowhere", "published", 0.0, 0.0, 1.0), "no environment 'nowhere'"),
        (RunSpec("gridworld-1", "gaussian", 0.0, 0.0, 1.0), "no noise model 'gaussian'"),
        (RunSpec("gridworld-1", "published", 1.5, 0.0, 1.0), "the noise is 1.5"),
        (RunSpec("gridworld-1", "published", 0.0, -0.1, 1.0), "the noise is -0.1"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, train_noise=2.0), "the noise is 2.0"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 0.0), "alpha is 0.0"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, expert_alpha=0.0), "alpha is 0.0"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, steps=-3), "steps is -3"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, expert="novice"), "the expert is 'novice'"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, start="anywhere"), "the start is 'anywhere'"),
        (
            RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, seed=3),
            "gridworld-1 cannot be made with the options seed",
        ),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, sampled=-1), "sampled trajectories is -1"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, auto="guess"), "auto is 'guess'"),
        (
            RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, auto="states"),
            "cannot be estimated without demonstrations",
        ),
        (RunSpec("three-state", "slip", 0.0, 0.0, 1.0, start="fixed"), "three-state is not a grid"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_written(spec, message, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InvalidInputError, match=message):
        compute((spec,), out)
    assert not out.exists()


def test_a_grid_without_cells_or_with_doubles_is_refused():
    with pytest.raises(InvalidInputError, match=r"the alphas are \(\)"):
        grid_of_specs("gridworld-1", "published", alphas=())
    with pytest.raises(InvalidInputError, match="none twice"):
        grid_of_specs("gridworld-1", "published", expert_noises=(0.1, 0.1))


def test_an_unknown_experiment_is_named(refused):
    with refused("there is no experiment 'figure-9'", "best-alpha"):
        choose(["figure-9"])


def test_shared_runs_are_run_once():
    grid = Grid(("gridworld-1",))
    experiments = choose(["best-alpha", "all-alphas", "alpha-study", "gap"])
    assert len(collect_specs(experiments, grid, ("published",))) == 75


def test_a_table_without_records_is_its_header():
    assert results_csv([]) == ",".join(columns(FINITE)) + "\n"


def test_the_whole_paper_is_450_runs_under_one_kernel():
    assert len(collect_specs(choose(["best-alpha"]), Grid(), ("uniform-state",))) == 450
    assert len(set(itertools.chain(collect_specs(choose(["all"]), Grid(), ("uniform-state", "published"))))) > 900
