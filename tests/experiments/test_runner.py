"""Specs, records, tables and figures, at small size for every registered environment."""

import csv
import io
import itertools

import numpy as np
import pytest

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.experiments import RunSpec, grid_of_specs, reproduce, run
from robustirl.experiments.figures import figure_returns
from robustirl.experiments.published import published_returns
from robustirl.experiments.results import COLUMNS, results_csv, write_atomically


def small(name, model=None, steps=3):
    model = model or envs.make(name).noise_models[0]
    return grid_of_specs(
        name, model, alphas=(1.0, 0.9), learner_noises=(0.0, 0.1), expert_noises=(0.0, 0.1), steps=steps
    )


@pytest.mark.parametrize("name", envs.names())
def test_every_environment_runs_and_draws(name, tmp_path):
    outcome = reproduce(small(name), tmp_path)
    assert outcome.complete
    assert len(outcome.records) == 8
    assert {path.name for path in outcome.files} == {"results.csv", f"{name}.png", f"{name}.svg"}
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert all(record.total_return <= record.optimal_return + 1e-9 for record in outcome.records)


def test_the_table_has_the_promised_columns_and_full_precision(tmp_path):
    outcome = reproduce(small("gridworld-4"), tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text(encoding="utf-8"))))
    assert tuple(rows[0]) == COLUMNS
    assert [float(row["return"]) for row in rows] == [record.total_return for record in outcome.records]
    assert {row["verdict"] for row in rows} == {"budget"}


def test_the_same_request_twice_gives_the_same_table_but_for_the_time(tmp_path):
    tables = []
    for _ in range(2):
        reproduce(small("gridworld-4", "published"), tmp_path)
        rows = csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text(encoding="utf-8")))
        tables.append([{**row, "seconds": ""} for row in rows])
    assert tables[0] == tables[1]


def test_batches_are_runs_that_differ_in_expert_noise_alone():
    batches = list(run(small("gridworld-4")))
    assert [len(batch) for batch in batches] == [2, 2, 2, 2]
    assert [record.spec for record in itertools.chain(*batches)] == list(small("gridworld-4"))


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    outcome = reproduce(small("gridworld-4"), tmp_path, progress=interrupt)
    assert not outcome.complete
    assert len(outcome.records) == 2
    assert len((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()) == 3
    assert not (tmp_path / "gridworld-4.png").exists()


def test_the_same_request_goes_on_where_an_interrupt_left_it(tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    reproduce(small("gridworld-4"), tmp_path, progress=interrupt)
    kept = (tmp_path / "results.csv").read_text(encoding="utf-8")
    counts = []
    outcome = reproduce(small("gridworld-4"), tmp_path, progress=counts.append)
    assert counts == [2, 2, 2, 2]
    assert outcome.complete
    assert (tmp_path / "results.csv").read_text(encoding="utf-8").startswith(kept)
    again = []
    reproduce(small("gridworld-4"), tmp_path, progress=again.append)
    assert again == [8]


def test_a_damaged_table_is_named_and_left_alone(tmp_path):
    reproduce(small("gridworld-4"), tmp_path)
    table = tmp_path / "results.csv"
    damaged = table.read_text(encoding="utf-8")[:-30]
    table.write_text(damaged, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"results.csv is damaged .*; move it away to start over"):
        reproduce(small("gridworld-4"), tmp_path)
    assert table.read_text(encoding="utf-8") == damaged


def test_no_curve_leaves_its_panel():
    name = "gridworld-4"
    records = list(itertools.chain(*run(grid_of_specs(name, "published", steps=20))))
    figure = figure_returns(envs.make(name), records, published_returns())
    for axis in figure.axes[1:4]:
        low, high = axis.get_ylim()
        drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axis.lines[1:]])
        assert low <= drawn.min()
        assert drawn.max() <= high


def test_a_request_over_two_noise_models_draws_two_figures(tmp_path):
    outcome = reproduce(small("gridworld-4", "published") + small("gridworld-4", "uniform-action"), tmp_path)
    assert {path.name for path in outcome.files if path.suffix == ".png"} == {
        "gridworld-4-published.png",
        "gridworld-4-uniform-action.png",
    }


def test_a_folder_of_another_request_is_left_alone(tmp_path):
    reproduce(small("gridworld-4"), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InvalidInputError, match="holds results of another request; choose another --out"):
        reproduce(small("gridworld-4", steps=4), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (RunSpec("nowhere", "published", 0.0, 0.0, 1.0), "no environment 'nowhere'"),
        (RunSpec("gridworld-1", "gaussian", 0.0, 0.0, 1.0), "no noise model 'gaussian'"),
        (RunSpec("gridworld-1", "published", 1.5, 0.0, 1.0), "the noise is 1.5"),
        (RunSpec("gridworld-1", "published", 0.0, -0.1, 1.0), "the noise is -0.1"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 0.0), "alpha is 0.0"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, steps=-3), "steps is -3"),
        (RunSpec("gridworld-1", "published", 0.0, 0.0, 1.0, expert="novice"), "the expert is 'novice'"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_written(spec, message, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InvalidInputError, match=message):
        reproduce((spec,), out)
    assert not out.exists()


def test_a_grid_without_cells_or_with_doubles_is_refused():
    with pytest.raises(InvalidInputError, match=r"the alphas are \(\)"):
        grid_of_specs("gridworld-1", "published", alphas=())
    with pytest.raises(InvalidInputError, match="none twice"):
        grid_of_specs("gridworld-1", "published", expert_noises=(0.1, 0.1))


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "table.csv"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_without_records_is_its_header():
    assert results_csv([]) == ",".join(COLUMNS) + "\n"
