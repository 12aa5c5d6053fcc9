"""The paper's pages, tables and rows of the explorer, of invented runs, say what they said (`make goldens`)."""

import dataclasses
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.explorer import Pool
from robustirl.paper import figures as paper_figures
from robustirl.paper.continuous import explorer_rows as continuous_rows
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.paper.finite import catalog
from robustirl.paper.finite.comparison import Explanation, compare
from robustirl.paper.finite.explorer_rows import (
    describe,
)
from robustirl.paper.finite.layouts_report import write_layout_tables
from robustirl.paper.finite.report import write_report
from robustirl.paper.finite.specs import RunSpec
from robustirl.paper.published import published_returns
from robustirl.sweeps import RunResult
from tests.goldens import as_lines, require_golden
from tests.invented_runs import layouts, record_of
from tests.paper.invented_pages import OPTIONS, inside, plan


def finite_page(asked, records, explanations=()):
    with tempfile.TemporaryDirectory() as folder:
        drawn = {}
        for key in (
            ("best-alpha", "uniform-state", "gridworld-1"),
            ("maps", "uniform-state", "gridworld-1"),
            ("alpha-study", PUBLISHED, "gridworld-1"),
        ):
            path = Path(folder, f"{key[0]}.svg")
            path.write_text(" ".join(key))
            drawn[key] = [path.with_suffix(".png"), path]
        return inside(write_report(asked, records, drawn, explanations, Path(folder), draws=7).read_text("utf-8"))


def misses():
    cells = compare([record_of(RunSpec("gridworld-1", PUBLISHED, 0.0, 0.1, alpha)) for alpha in (1.0, 0.9)])
    return [Explanation(cells[0], -999.0, 0.0, -1.0), Explanation(cells[1], -1.0, 0.0, -2.0)]


def some(records):
    """Records of which one failed, some nearly agree with the published ones, and robust ones are about as good.

    Longer runs differ from the shorter ones by a factor that α decides.
    """
    known, factors, found = published_returns(), {1.0: 1.5, 0.9: 2.5, 0.8: 4.0}, []
    for place, one in enumerate(records):
        spec, changes = one.spec, {}
        key = spec.environment, spec.learner_noise, spec.expert_noise, spec.alpha
        if spec.noise_model == PUBLISHED and key in known:
            changes["total_return"] = known[key].mean * (1 + 0.01 * (place % 9))
        elif spec.environment == "gridworld-4" and spec.alpha < 1:
            step = 0.007 if spec.expert_noise > spec.learner_noise else -0.007
            standard = record_of(dataclasses.replace(spec, alpha=1.0))
            changes["total_return"] = standard.total_return + step * abs(standard.optimal_return)
        if spec.steps > 200:
            brief, factor = record_of(dataclasses.replace(spec, steps=200)), factors[spec.alpha]
            changes = {"largest_reward": brief.largest_reward * factor, "occupancy_gap": brief.occupancy_gap / factor}
            changes["total_return"] = brief.total_return * (1 + 0.03 * factor)
        found.append(dataclasses.replace(one, **changes, verdict="budget" if place else "failed"))
    return found


def layouts_table():
    with tempfile.TemporaryDirectory() as folder:
        settled = {0: -10.0, 1: -30.0, 2: -19.0, 3: -21.0}
        runs = [dataclasses.replace(one, optimal_return=settled[one.spec.seed]) for one in layouts()]
        return write_layout_tables(runs, Path(folder))[0].read_text("utf-8")


def worlds():
    lines = []
    for name in ("gridworld-4", "objectworld", "three-state", "frozen-lake", "taxi"):
        pool = Pool()
        told = describe(envs.make(name), pool)
        lines += [name, *as_lines(json.loads(json.dumps(told | pool.sizes))), ""]
    return "\n".join(lines)


def continuous_rows_of():
    pool = Pool()
    paths = np.linspace(-0.9, 0.9, 60).reshape(6, 5, 2)
    specs = [ContinuousSpec(0.0, 0.1, 0.9), ContinuousSpec(0.1, 0.3, 1.0, scales="printed", expert_seed=2)]
    experts = {
        one.spec: RunResult(one, {"paths": -paths})
        for one in (
            ExpertRecord(ExpertSpec(noise), -380.0 - noise, -379.0, 1.0, "trained", 1.0) for noise in (0.0, 0.1)
        )
    }
    lines = []
    for spec in specs:
        made = ContinuousRecord(spec, -400.0, -410.0, 0.5, -390.0, 0.1, 0.2, 0.9, 0.8, 300, "budget", 1.0)
        arrays = {
            "parameters": np.arange(1.0, 8.0),
            "paths": paths,
        }
        row = continuous_rows.continuous_row(RunResult(made, arrays), experts, pool)
        lines += [*as_lines(json.loads(json.dumps(row | {"run": ""}))), ""]
    return "\n".join(lines)


def drawings():
    """What every experiment has drawn, under two kernels, of one layout and of two."""
    lines = []

    def stand_in(name):
        def figure(*given, **options):
            first = next((one.name for one in given if isinstance(one, envs.Environment)), "")
            count = next(len(one) for one in given if isinstance(one, list))
            known = "published" if any(isinstance(one, dict) for one in given) else ""
            note = next((one for one in given if isinstance(one, str)), options.pop("note", ""))
            lines.append(f"    {name} {first} {count} runs {known} ({note}) {options or ''}".rstrip())

        return figure

    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in vars(paper_figures) if name.startswith("figure_")]:
            patch.setattr(paper_figures, name, stand_in(name))
        for names, seeds in (
            (("gridworld-1", "gridworld-4"), None),
            (("objectworld",), (0, 1)),
            (("three-state",), None),
        ):
            grid = catalog.Grid(names, tuple((OPTIONS | ({} if seeds is None else {"seeds": seeds})).items()))
            for model in (
                ("uniform-state", PUBLISHED)
                if names[0] != "three-state"
                else (envs.make("three-state").noise_models[0],)
            ):
                for experiment in catalog.choose(["all"]):
                    records = [record_of(spec) for spec in experiment.specs(grid, model)]
                    lines.append(f"{experiment.name} of {', '.join(names)} under {model}: {len(records)} runs")
                    made = experiment.draw(grid, model, records)
                    lines.extend(f"  {one.name}" for one in made)
                    for one in made:
                        one.make()
                    assert experiment.draw(grid, model, []) == []
    return "\n".join(lines)


PAGES = {
    "drawings.txt": drawings,
    "finite.html": lambda: finite_page(plan(), some([record_of(spec) for spec in plan().specs]), misses()),
    "finite-one.html": lambda: finite_page(
        plan(("best-alpha",), ("uniform-state",), steps=100),
        [record_of(spec) for spec in plan(("best-alpha",), ("uniform-state",), steps=100).specs],
    ),
    "finite-half.html": lambda: finite_page(
        plan(("best-alpha",), ("uniform-state", "uniform-action", PUBLISHED)),
        [record_of(spec) for spec in plan(("best-alpha",), ("uniform-state", "uniform-action")).specs],
    ),
    "layouts.csv": layouts_table,
    "worlds.txt": worlds,
    "continuous-rows.txt": continuous_rows_of,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_said(name):
    require_golden(f"pages/paper/{name}", PAGES[name]())
