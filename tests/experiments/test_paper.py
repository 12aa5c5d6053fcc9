"""The paper's experiments end to end: pinned numbers, the published cells, figures and pages."""

import csv
import dataclasses

import matplotlib.figure
import numpy as np
import pytest

from experiments import __main__ as command
from experiments import explorer
from experiments.paper import catalog, summary
from experiments.paper.catalog import EXPERIMENTS, Grid
from experiments.paper.comparison import Cell, Explanation, RefitSpec, compare, refit
from experiments.paper.continuous import ContinuousSpec, continuous_grid
from experiments.paper.continuous_report import bootstrap, cell_statistics
from experiments.paper.finite import Record, RunSpec, grid_of_specs, results_csv, run
from experiments.paper.published import PublishedReturn, published_continuous, published_returns
from experiments.tables import interquartile_mean
from robustirl.errors import InvalidInputError


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """One panel of the paper's first figure: gridworld-1, ε_L = 0, standard and α = 0.8."""
    specs = grid_of_specs("gridworld-1", "published", alphas=(1.0, 0.8), learner_noises=(0.0,))
    return run(specs, tmp_path_factory.mktemp("published"))


def test_the_panel_has_its_numbers(published):
    standard = [-130.70185125, -164.81608146, -208.26183078, -255.25366588, -309.56865468]
    robust = [-146.40065619, -153.24262344, -149.95959965, -137.59116361, -132.51405737]
    np.testing.assert_allclose([record.total_return for record in published], standard + robust, rtol=1e-6)


def test_the_panel_agrees_with_the_published_one(published):
    errors = [cell.relative_error for cell in compare(published)]
    assert len(errors) == 10
    assert max(errors) < 0.02
    assert np.median(errors) < 0.01


def test_the_published_cells_are_375():
    names = {key[0] for key in published_returns()} - {"objectworld"}
    assert sum(key[0] in names for key in published_returns()) == 375
    assert published_continuous()[0.0, 0.2, 1.0].median == -384.8


def test_the_table_has_a_row_a_run_in_full_precision(published):
    (first, *_), rows = published, list(csv.DictReader(results_csv(published).splitlines()))
    assert len(rows) == 10
    assert float(rows[0]["return"]) == first.total_return
    assert (rows[0]["noise_model"], rows[0]["bound"], rows[0]["dtype"]) == ("published", "", "float64")


SMALL = ("--steps", "3", "--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0", "0.2", "--workers", "1")


def test_reproduce_draws_every_experiment_and_writes_the_page(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(catalog, "TRAJECTORIES", 20)
    words = ["reproduce", "gridworld-4", "--noise-model", "uniform-state", "published", "--experiments", "all", *SMALL]
    assert command.main([*words, "--out", str(tmp_path)]) == 0
    assert "within 5 %" in capsys.readouterr().out
    with (tmp_path / "results.csv").open() as file:
        rows = {tuple(row.values())[:15]: float(row["return"]) for row in csv.DictReader(file)}
    assert len(rows) == 2 * (4 + 6 + 6 + 4 + 12 + 4 + 8)  # Main, α, transfer, start, experts, sampled, more steps.
    page = (tmp_path / "report.html").read_text()
    for name, experiment in EXPERIMENTS.items():
        assert experiment.title in page
        drawn = "gridworld-4" if experiment.figure in ("best", "all") else "study"
        assert (tmp_path / "figures" / f"{name}_published_{drawn}.svg").exists()
    assert (tmp_path / "figures" / "maps_published_gridworld-4.png").exists()
    assert '"uniform-state"' in explorer.write(tmp_path).read_text()


def test_numbers_of_a_short_run_are_pinned(tmp_path):
    specs = [
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.1, 0.9, steps=5),
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.1, 1.0, steps=5, expert="optimal"),
        RunSpec("gridworld-4", "uniform-state", 0.0, 0.1, 1.0, steps=5, expert="optimal", train_noise=0.1),
        RunSpec("three-state", "slip", 0.0, 0.1, 0.9, steps=3, expert="optimal"),
    ]
    found = run(specs, tmp_path)
    assert [record.verdict for record in found] == ["budget"] * 4
    numbers = [(record.total_return, record.occupancy_gap, record.bound or 0.0) for record in found]
    np.testing.assert_allclose(numbers, PINNED, rtol=1e-6)


PINNED = [
    (-98.34788448, 0.02559806073, 0),
    (-98.13823215, 0.04017708119, 192500),
    (-96.94039461, 0.02573497322, 172231756.8),
    (999.9999613, 3.131237293e-08, 38),
]


def test_a_run_under_a_leaking_kernel_has_no_bound_and_optimal_experts_have_one(published):
    assert {record.bound for record in published} == {None}


def record_of(learner, expert, alpha, value, environment="gridworld-1"):
    spec = RunSpec(environment, "published", learner, expert, alpha)
    return Record(spec, alpha, value, -100.0, -100.0, 0, 0, 0.1, 0.1, 1.0, None, None, None, 200, "budget", 1.0)


def test_regrets_are_compared_by_regime():
    records = [
        record_of(0.0, expert, alpha, value)
        for expert, alpha, value in [(0.0, 1.0, -110.0), (0.0, 0.9, -120.0), (0.2, 1.0, -200.0), (0.2, 0.9, -150.0)]
    ]
    noisier, same = summary.compare_with_standard(records)
    assert (noisier.regime, noisier.standard, noisier.fixed, noisier.wins) == ("expert noisier", 1.0, 0.5, 1)
    assert (same.regime, same.losses) == ("same noise", 1)
    assert summary.rule_alpha(0.0, 0.1, (1.0, 0.95, 0.9)) == 0.9


@pytest.mark.parametrize(
    ("span", "half", "reason"),
    [
        ((-101.0, -99.0), -50.0, "start noise"),
        ((-80.0, -70.0), -101.0, "fewer steps"),
        ((-98.0, -70.0), -50.0, "start noise, nearly"),
        ((-80.0, -70.0), -50.0, "not explained"),
    ],
)
def test_a_difference_is_explained_by_what_covers_it(span, half, reason):
    cell = Cell(record_of(0.0, 0.1, 1.0, -110.0), PublishedReturn(-100.0, 1.0))
    assert cell.relative_error == pytest.approx(0.1)
    assert Explanation(cell, *span, half).reason == reason


def test_refits_with_drawn_starts_surround_the_exact_fit():
    spec = RunSpec("gridworld-4", "published", 0.0, 0.1, 1.0, steps=60)
    ((row, _),) = refit([RefitSpec(spec, 5)])
    assert row["lowest"] < row["highest"] < 0
    assert row["halfway"] != row["lowest"]


def test_experiments_keep_their_own_options_and_say_so():
    grid = Grid(("gridworld-1",), {"alphas": (1.0, 0.7), "steps": 4})
    assert {spec.alpha for spec in EXPERIMENTS["alpha-study"].specs(grid, "published")} == {1.0, 0.95, 0.9}
    assert {spec.alpha for spec in EXPERIMENTS["gap"].specs(grid, "published")} == {1.0, 0.7}
    assert {spec.steps for spec in EXPERIMENTS["convergence"].specs(grid, "published")} == {4, 40}
    whole = catalog.collect_specs(tuple(EXPERIMENTS), Grid(), ("uniform-state", "uniform-action", "published"))
    assert len(whole) == 2100


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("reproduce gridworld-9 --out new", "gridworld-9"),
        ("reproduce three-state --alphas 0 --out new", "α is 0.0"),
        ("reproduce three-state --expert-noise 1.5 --out new", "1.5"),
        ("reproduce --noise-model fog --out new", "fog"),
        (
            "reproduce --experiments figure-9 --out new",
            "there is no experiment 'figure-9'; choose from all, best-alpha",
        ),
        ("reproduce three-state --steps -1 --out new", "--steps is -1"),
        ("reproduce three-state --alphas 1 1 --out new", "the alphas are (1.0, 1.0)"),
        ("continuous --algorithm magic --out new", "there is no algorithm 'magic'"),
        ("continuous --noise-model fog --out new", "gaussian-grid has no noise model 'fog'"),
        ("explore nowhere", "there is no results.csv in nowhere"),
        ("study front --draws 1", "--draws is 1"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(words, sentence, here, capsys):
    assert command.main(words.split()) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert not any(here.rglob("*.npz"))


def test_a_small_continuous_experiment_writes_its_page(tmp_path, capsys):
    words = "continuous --seeds 2 --alphas 1 0.9 --learner-noise 0 --expert-noise 0.2 --rounds 2 --demonstrations 20"
    options = ["--expert-steps", "2", "--expert-attempts", "1", "--workers", "1", "--out", str(tmp_path)]
    assert command.main([*words.split(), *options]) == 0
    assert "reach the goal" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert all(title in page for title in ("Standard against the best robust learner", "What is learned", "Every α"))
    with (tmp_path / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4
    with (tmp_path / "experts.csv").open() as file:
        assert [row["noise"] for row in csv.DictReader(file)] == ["0.0", "0.2"]


def test_the_continuous_grid_is_the_papers():
    specs = continuous_grid(seeds=20)
    assert len(set(specs)) == 1800
    assert specs[0] == ContinuousSpec(0, 0, 1, 0)
    with pytest.raises(InvalidInputError, match=r"α is 1\.5"):
        dataclasses.replace(specs[0], alpha=1.5).check()


def test_statistics_over_seeds_are_those_by_hand():
    assert interquartile_mean([-9000.0, 1.0, 2.0, 3.0]) == 1.5
    assert bootstrap([2.0, 2.0, 2.0]) == bootstrap([2.0] * 5)
    estimate = bootstrap([1.0, 2.0, 3.0, 4.0])
    assert estimate.low < estimate.value == 2.5 < estimate.high
    assert cell_statistics([]) == []


def test_figures_are_made_without_a_screen(published):
    for make in EXPERIMENTS["best-alpha"].figures(Grid(("gridworld-1",)), "published", published).values():
        figure = make()
        assert isinstance(figure, matplotlib.figure.Figure)
        _, panel = figure.axes
        labels = {line.get_label() for line in panel.get_lines()}
        assert "published" in labels
