"""The paper's pages, tables and rows of the explorer, of invented runs, say what they said (`make goldens`)."""

import base64
import contextlib
import dataclasses
import inspect
import json
import math
import re
import tempfile
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl import MDP, envs
from robustirl.envs import PUBLISHED
from robustirl.explorer import Pool
from robustirl.paper import figures as paper_figures
from robustirl.paper.continuous import explorer_rows as continuous_rows
from robustirl.paper.continuous import pictures as continuous_pictures
from robustirl.paper.continuous import report as continuous_report
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.paper.continuous.statistics import CellStatistics, Estimate
from robustirl.paper.finite import catalog, drawing
from robustirl.paper.finite.comparison import Cell, Explanation, compare
from robustirl.paper.finite.explorer_rows import (
    Finite,
    _best_paid,
    _bound_of,
    _directions,
    _ends,
    describe,
    setting,
)
from robustirl.paper.finite.layouts_report import draw_layouts, write_layout_tables
from robustirl.paper.finite.report import write_report
from robustirl.paper.finite.reproduce import Plan
from robustirl.paper.finite.specs import RunSpec
from robustirl.paper.published import PublishedReturn, published_returns
from robustirl.sweeps import RunResult
from tests.goldens import as_lines, require_golden
from tests.invented_runs import layouts, record, record_of

OPTIONS = {"alphas": (1.0, 0.9), "learner_noises": (0.0, 0.1), "expert_noises": (0.0, 0.1, 0.2)}


def plan(names=("best-alpha", "alpha-study", "convergence"), models=("uniform-state", PUBLISHED), **options):
    grid = catalog.Grid(("gridworld-1", "gridworld-4"), tuple((OPTIONS | options).items()))
    return Plan(catalog.choose(names), grid, models)


def inside(page):
    """What a page shows: no style, no script, no picture, no versions."""
    text = page.partition("<main>")[2].partition("</main>")[0]
    text = re.sub(r"base64,[A-Za-z0-9+/=]+", lambda found: f"base64, {decoded(found[0])}", text)
    return re.sub(r"(\d+ runs; ).*?\. ", r"\1versions. ", text)


def decoded(data):
    return base64.b64decode(data.partition(",")[2]).decode()


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


def learners(seeds=2, **options):
    """Runs of three experts; of the noisiest one not every learner has learned."""
    return [
        ContinuousRecord(
            ContinuousSpec(learner, expert, alpha, seed, **options),
            -400 - 30 * math.sin(5 * learner + 17 * alpha + 9 * expert + seed),
            *(-410.0, 1.0 - 0.125 * seed * (alpha == 1), -390.0, 0.1, 0.2, 0.9, 0.8),
            300,
            "failed" if (seed, alpha) == (1, 0.9) else "budget",
            1.0,
        )
        for learner in (0.0, 0.1)
        for alpha in (1.0, 0.9)
        for expert in (0.0, 0.1, 0.2)
        for seed in range(seeds)
        if (learner, alpha, expert) != (0.1, 1.0, 0.2)
    ]


def a_store(records, folder="."):
    trained = [ExpertRecord(ExpertSpec(noise), -380.0 - noise, -379.0, 0.875, "trained", 2.0) for noise in (0.0, 0.1)]
    return SimpleNamespace(folder=Path(folder), configuration={"jax": "0"}, records=lambda: [*trained, *records])


def continuous_page(records, drawn=True):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "best.svg")
        path.write_text("a picture")
        files = {"best-alpha": [path]} if drawn else {}
        return inside(continuous_report.write_continuous_report(a_store(records, folder), files).read_text("utf-8"))


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
    "continuous.html": lambda: continuous_page(learners()),
    "continuous-other.html": lambda: continuous_page(
        [dataclasses.replace(one, verdict="budget") for one in learners(noise_model="uniform-action")], drawn=False
    ),
    "layouts.csv": layouts_table,
    "worlds.txt": worlds,
    "continuous-rows.txt": continuous_rows_of,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_said(name):
    require_golden(f"pages/paper/{name}", PAGES[name]())


SETTINGS = {
    "soft expert, 200 steps": {},
    "optimal expert, 300 steps": {"expert": "optimal", "steps": 300},
    "soft expert with α_E = 0.9, 200 steps, reward learned at ε = 0.05": {"expert_alpha": 0.9, "train_noise": 0.05},
    "soft expert, 200 steps, 20 demonstrations, α from states": {"demonstrations": 20, "auto": "states"},
    "soft expert, 200 steps, 7 trajectories a start": {"sampled": 7},
}


@pytest.mark.parametrize("words", SETTINGS)
def test_a_setting_in_words(words):
    assert setting(RunSpec("gridworld-1", "published", 0.0, 0.1, 1.0, **SETTINGS[words])) == words


def test_bounds_are_named_by_their_theorem():
    said = [
        _bound_of(record_of(RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, alpha, **options)))
        for alpha, options in (
            (1.0, {}),
            (1.0, {"expert": "optimal"}),
            (0.9, {"expert": "optimal"}),
            (1.0, {"expert": "optimal", "train_noise": 0.1}),
        )
    ]
    assert said == ["none: the theorems are about optimal experts", "Theorem 1", "Theorem 3", "reward transfer"]


def test_what_the_best_paid_action_brings_is_that_of_one_that_is_there():
    mask = np.array([[True, False], [True, True]])
    assert _best_paid(np.array([[1.0, 9.0], [2.0, 3.0]]), mask).tolist() == [1.0, 3.0]


def test_directions_are_those_of_most_cells_and_ends_keep_whoever_enters():
    grid = envs.make("gridworld-4")
    world = grid.mdp(0.0)
    assert _directions(world, (6, 6)) == [(-1, 0), (0, 1), (1, 0), (0, -1)]
    # From the middle of three states a coin decides between the others: on average nothing moves.
    coin = MDP([[[1.0, 0.0, 0.0]], [[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]], discount=0.9)
    assert _ends(coin) == [0, 2]
    chain = envs.make("three-state").mdp(0.2)
    assert _ends(chain) == [1, 2]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ((-380.0, -400.0), "in 2 and below it in 0"),
        ((-420.0, -440.0), "in 0 and below it in 2"),
        ((-391.0, -429.0), "in 0 and below it in 0"),
        ((-390.0, -430.0), "in 0 and below it in 0"),
        ((-389.0, -431.0), "in 1 and below it in 1"),
    ],
)
def test_a_panel_counts_intervals_that_lie_apart(cells, said):
    def cell(alpha, expert, value):
        spread = Estimate(value, value - 5, value + 5)
        return CellStatistics(0.0, expert, alpha, 2, Estimate(1.0, 1.0, 1.0), spread, spread, spread)

    assert continuous_report._panel([cell(1.0, 0.0, -400.0), cell(0.9, 0.1, -400.0)], 0.0) == ""  # None to compare.
    found = [cell(1.0, 0.0, -400.0), cell(1.0, 0.1, -420.0)]
    found += [cell(0.9, n / 10, value) for n, value in enumerate(cells)]
    assert said in continuous_report._panel(found, 0.0)


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


def closure(function):
    function = inspect.unwrap(function)  # From a type checker, if one is at work.
    return dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))


def test_notes_name_the_seeds_and_the_algorithm():
    said = []

    class Figures:
        figure_continuous = staticmethod(lambda cells, experts, known, note, **options: said.append(note))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robustirl.paper.figures.figure_continuous", Figures.figure_continuous)
        continuous_pictures._returns(a_store(learners()), best_only=False)
        continuous_pictures._returns(
            a_store([one for one in learners(algorithm="paper") if one.spec.seed == 0]), best_only=True
        )
        for alpha in (1.0, 0.9):
            alone = [one for one in learners() if one.spec.alpha == alpha]
            assert continuous_pictures._returns(a_store(alone), best_only=True) is None
    assert said == [
        "2 seeds; interquartile means, 95 % intervals",
        "algorithm: paper; 1 seed; interquartile means, 95 % intervals",
    ]


def test_reasons_for_a_difference_are_tried_in_order():
    def reason(lowest, highest, halfway):
        return Explanation(Cell(record(0.0, 0.1, 1.0), PublishedReturn(-100.0, 1.0)), lowest, highest, halfway).reason

    assert reason(-101.0, -100.0, -100.0) == "start noise"
    assert reason(-120.0, -110.0, -97.0) == "fewer steps"
    assert reason(-120.0, -103.0, -96.9) == "start noise, nearly"
    assert reason(-97.0, -90.0, -96.9) == "start noise, nearly"
    assert reason(-96.9, -90.0, -103.1) == "not explained"


class AStore(SimpleNamespace):
    """A store, as far as pictures ask it; what it holds is the specs in `held`."""

    def __contains__(self, spec):
        return spec in self.held

    def result(self, spec):
        return spec


def test_the_landscape_is_that_of_a_typical_seed_at_the_largest_mismatch():
    returns = {0: -400.0, 1: -420.0, 2: -410.0, 3: -430.0, 4: -440.0}
    runs = [
        dataclasses.replace(one, mean_return=returns[one.spec.seed] + 50 * (one.spec.alpha < 1)) for one in learners(5)
    ]
    held = {one.spec for one in runs} | {ExpertSpec(noise) for noise in (0.0, 0.1, 0.2)}
    drawn = []

    def pictured(records, held):
        return continuous_pictures._landscape(AStore(**vars(a_store(records)), held=held))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "robustirl.paper.figures.figure_landscape", lambda *found, note: drawn.append((*found, note)) or "drawn"
        )
        assert pictured(runs, held) == "drawn"
        expert, standard, robust, note = drawn[0]
        for missing in (robust, expert):
            assert pictured(runs, held - {missing}) is None
        for alpha in (1.0, 0.9):
            assert pictured([one for one in runs if one.spec.alpha == alpha], held) is None
    # The one in the middle of the five, in the cell of the calm learner and the noisiest expert.
    assert standard == ContinuousSpec(0.0, 0.2, 1.0, 1)
    assert (expert, robust, note) == (standard.expert, ContinuousSpec(0.0, 0.2, 0.9, 1), "seed 1")


def test_figures_of_layouts_are_of_those_that_a_measure_is_for(tmp_path):
    drawn = []
    settled = {0: -10.0, 1: -30.0, 2: -19.0, 3: -21.0}
    runs = [dataclasses.replace(one, optimal_return=settled[one.spec.seed]) for one in layouts()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "robustirl.paper.figures.figure_layouts", lambda found, *words: drawn.append((len(found), words[-1]))
        )
        patch.setattr("robustirl.paper.figures.save_figure", lambda figure, path: [path])
        names = ("gap", "discounted", "total")
        assert draw_layouts(runs, "a model", tmp_path) == [tmp_path / f"layouts-{name}" for name in names]
        bad = [dataclasses.replace(one, optimal_return=-99.0) for one in runs]
        assert len(draw_layouts(bad, "a model", tmp_path)) == 2
    words = "layouts, means and 95 % intervals; noise model: a model"
    assert drawn[:3] == [(72, f"4 {words}"), (72, f"4 {words}"), (36, f"2 {words}")]


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


@pytest.mark.parametrize(
    ("leaky", "shape", "asked", "reason"),
    [
        (True, (3,), True, "the kernel leaks probability"),
        (False, (3, 2), True, "actions are paid for, not states"),
        (False, (3,), False, "none was asked for"),
        (False, (3,), True, None),
    ],
)
def test_a_certificate_is_there_or_says_why_not(leaky, shape, asked, reason):
    rows = Finite(Pool(), certificates=asked)
    world = SimpleNamespace(kernel=SimpleNamespace(leaky=leaky))
    context = SimpleNamespace(world=lambda noise: world, reward=np.zeros(shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_context", lambda spec: (spec, context))
        patch.setattr("robustirl.paper.finite.explorer_rows.dynamics_distance", lambda *_: 0.25)
        patch.setattr(
            "robustirl.paper.finite.explorer_rows.certify",
            lambda world, player, reward, radius: SimpleNamespace(worst_return=-radius, best_return=radius),
        )
        found = rows._certificate(RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, 1.0), {"player": None})
    if reason is None:
        assert found == {"distance": 0.25, "worst": -0.25, "best": 0.25}
    else:
        assert found == {"distance": None, "worst": None, "best": None, "uncertified": reason}
