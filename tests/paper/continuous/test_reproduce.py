"""The continuous experiment at tiny size, through the benchmark and the command a user types."""

import csv
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robustirl._runtime import double_precision
from robustirl.cli import main
from robustirl.paper import figures
from robustirl.paper.continuous.context import ExpertContext
from robustirl.paper.continuous.kind import CONTINUOUS, EXPERT
from robustirl.paper.continuous.pictures import PICTURES, learners
from robustirl.paper.continuous.report import findings
from robustirl.paper.continuous.specs import (
    ALGORITHMS,
    ContinuousRecord,
    ContinuousSpec,
    ExpertSpec,
    continuous_grid,
    with_experts,
)
from robustirl.paper.continuous.statistics import CellStatistics, Estimate
from robustirl.paper.published import published_continuous, published_expert_returns
from robustirl.sweeps import Store, compute
from robustirl.sweeps.executor import batches, flat, run
from robustirl.sweeps.kinds import (
    by_kind,
    kind_of,
)
from robustirl.sweeps.store.packing import pack_store, unpack_store

ROOT = Path(__file__).parents[3]
SIZE = ["--seeds", "2", "--alphas", "1", "0.9", "--learner-noises", "0", "--expert-noises", "0"]
BRIEF = ["--rounds", "2", "--expert-steps", "150", "--expert-attempts", "1"]
# What a machine for computing may lack.
ABSENT = ("gymnasium", "minari", "threadpoolctl", "tyro", "rich", "matplotlib", "pyarrow", "jinja2", "tests")
WITHOUT = f"""
import runpy, sys
sys.modules |= dict.fromkeys({ABSENT!r})
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
# Programs that run for a moment need no optimizing, and a generator that compiles fast will do.
FAST = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
}
FLOORS = {0.0: -173, 0.05: -184, 0.1: -200, 0.15: -222, 0.2: -270}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    """A tiny grid on a machine with nothing but what computing takes: its folder, and what was printed."""
    out = tmp_path_factory.mktemp("benchmark") / "out"
    command = [sys.executable, "-c", WITHOUT, str(ROOT / "benchmarks" / "continuous.py"), *SIZE, *BRIEF]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, env=os.environ | FAST, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


@pytest.fixture
def store(benchmark, tmp_path):
    return unpack_store(benchmark[0] / "runs.npz", tmp_path / "store")


def rows(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_the_benchmark_tells_what_it_did_and_where(benchmark):
    _, said = benchmark
    assert said["complete"]
    assert said["kinds"]["expert"]["runs"] == 1
    assert said["kinds"]["continuous"] | {"warm_seconds_a_run": 0} == {"runs": 4, "failed": 0, "warm_seconds_a_run": 0}
    assert 0 < said["compilation_seconds"] < said["seconds"]
    assert said["machine"]["configuration"]["device"] == "cpu"
    assert set(said["expert_returns"]) == {"0"}
    assert said["expert_returns"]["0"] >= FLOORS[0.0]  # Without noise a fraction of the training is enough.


@pytest.mark.slow
def test_the_command_draws_runs_of_another_machine(benchmark, tmp_path, capsys):
    out = tmp_path / "drawn"
    assert main(["continuous", "--records", str(benchmark[0] / "runs.npz"), "--out", str(out)]) == 0
    for picture in PICTURES:
        assert (out / "figures" / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / "figures" / f"{picture.name}.svg").exists()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(picture.title in page for picture in PICTURES)
    assert page.count("<img ") == len(PICTURES)
    assert len(rows(out / "results.csv")) == 4
    assert [row["noise"] for row in rows(out / "experts.csv")] == ["0.0"]
    assert len(rows(out / "statistics.csv")) == 2
    assert (out / "results.parquet").exists()
    assert "reach the goal" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_command_finds_finished_runs_and_draws_once(benchmark, tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", FAST["XLA_FLAGS"])  # A store continues under its own flags only.
    out = tmp_path / "out"
    shutil.copytree(benchmark[0], out)
    command = ["continuous", *SIZE, *BRIEF, "--out", str(out)]
    assert main(command) == 0
    page = out / "report.html"
    first = page.stat().st_mtime_ns
    assert main(command) == 0
    assert page.stat().st_mtime_ns == first
    assert main([*command, "--seeds", "3"]) == 2  # A folder belongs to one request.


@pytest.mark.slow
def test_records_say_what_the_arrays_do(store):
    for record in learners(store):
        found = store.result(record.spec)
        assert found.record == record
        assert np.abs(found.arrays["features"] - found.arrays["expert_features"]).sum() == pytest.approx(
            record.feature_gap
        )
        assert found.arrays["paths"].shape[0] == 6
        np.testing.assert_allclose(found.arrays["paths"][:, 0], [[-1, 1]] * 6)
        assert record.rounds == 2
        assert record.verdict == "budget"
    # Runs of one seed share their demonstrations whatever α; seeds do not.
    features = {
        (r.spec.alpha, r.spec.seed): store.result(r.spec).arrays["expert_features"].tolist() for r in learners(store)
    }
    assert features[1.0, 0] == features[0.9, 0] != features[1.0, 1]


@pytest.mark.slow
def test_figures_of_all_alphas_need_no_standard_learner(store):
    chosen = [r for r in store.records() if not isinstance(r, ContinuousRecord) or r.spec.alpha < 1]
    store.records = lambda: chosen
    made = {picture.name: picture.make(store) for picture in PICTURES}
    assert isinstance(made["all-alphas"], figures.Figure)
    assert made["best-alpha"] is made["landscape"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seeds", "0"], "seeds is 0, but a whole number of at least 1 is needed."),
        (["--alphas", "1.5"], "alpha is 1.5, but a number with 0 < alpha <= 1 is needed."),
        (["--alphas", "1", "1"], "the alphas are (1.0, 1.0), but at least one is needed and none twice."),
        (["--expert-noises", "-1"], "the noise is -1.0, but a probability between 0 and 1 is needed."),
        (["--noise-model", "fog"], "gaussian-grid has no noise model 'fog'; choose one of towards-origin,"),
        (["--algorithm", "magic"], f"there is no algorithm 'magic'; choose one of {', '.join(ALGORITHMS)}."),
        (["--rounds", "0"], "rounds is 0, but a whole number of at least 1 is needed."),
        (["--demonstrations", "0"], "the number of demonstrations is 0"),
        (["--records", "none.npz"], "none.npz does not exist; give the file of a packed store."),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(arguments, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["continuous", *arguments, "--out", "here"]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_packed_store_is_whole_or_refused(store, tmp_path, refused):
    again = unpack_store(pack_store(store.folder, tmp_path / "again.npz"), tmp_path / "again")
    assert again.records() == store.records()
    assert again.configuration == store.configuration
    with refused(str(store.folder), "is not empty"):
        unpack_store(tmp_path / "again.npz", store.folder)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "again.npz").read_bytes()[:-2000])
    with refused("cut.npz", "cannot be read as a packed store"):
        unpack_store(tmp_path / "cut.npz", tmp_path / "new")
    np.savez(tmp_path / "other.npz", **{"../evil.npz": np.zeros(3, np.uint8)})  # pyright: ignore[reportArgumentType]
    with refused("other.npz", "does not hold a store"):
        unpack_store(tmp_path / "other.npz", tmp_path / "new")
    content = dict(np.load(tmp_path / "again.npz"))
    name = next(name for name in content if name != "store.json")
    content[name] = content[name][:-100]
    np.savez(tmp_path / "spoiled.npz", **content)
    with refused(name, "is damaged"):
        unpack_store(tmp_path / "spoiled.npz", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_grid_is_the_papers_and_experts_come_first_once_each():
    specs = continuous_grid(seeds=5)
    assert len(set(specs)) == len({spec.identity for spec in specs}) == 450
    everything = with_experts(specs)
    kinds = by_kind(everything)
    assert [kind.name for kind in kinds] == ["expert", "continuous"]
    assert [spec.noise for spec in kinds[EXPERT]] == [0.0, 0.05, 0.1, 0.15, 0.2]
    assert {spec.expert for spec in specs} == set(kinds[EXPERT])
    assert [len(batch) for batch in batches(specs, 200)] == [200, 200, 50]
    assert all(len(batch) == kind_of(batch[0]).cpu_batch for batch in batches(everything))
    for field in dataclasses.fields(ContinuousSpec):
        other = {"environment": "x", "noise_model": "uniform-action", "scales": "printed", "algorithm": "paper"}
        changed = dataclasses.replace(
            specs[0], **{field.name: other.get(field.name, 0.5 if field.type is float else 7)}
        )
        assert changed.identity != specs[0].identity


def test_the_page_says_in_words_what_the_numbers_say():
    def cell(alpha, noise, value, goal=1.0):
        about = Estimate(value, value - 5, value + 5)
        return CellStatistics(0.0, noise, alpha, 5, Estimate(goal, goal, goal), about, about, about)

    cells = [cell(1.0, 0.0, -180.0), cell(1.0, 0.2, -400.0, 0.6), cell(0.9, 0.0, -182.0), cell(0.9, 0.2, -200.0)]
    panel, goals, published = findings(cells, published_continuous())
    assert "the standard learner returns -400.0 (-405.0 to -395.0), the robust one (α = 0.9) -200.0" in panel
    assert "lies above the standard one's in 1 and below it in 0." in panel
    assert "in 3 of 4 cells" in goals
    # Published medians: -179.9 and -384.8 at α = 1, -179.9 and -358.5 at α = 0.9; shares 1, 0.8, 1, 0.6.
    assert "at least theirs in 1 of 4 cells" in published
    assert "reach the goal in 3." in published
    assert findings(cells[:2], {}) == ["Every episode of every seed reaches the goal in 1 of 2 cells."]


def test_published_numbers_cover_the_grid():
    cells = {(s.learner_noise, s.expert_noise, s.alpha) for s in continuous_grid(seeds=1)}
    assert cells == set(published_continuous())
    assert published_expert_returns()[0.1] == -222
    assert published_continuous()[0.1, 0.2, 0.9].mean == -217.3


@pytest.mark.slow
def test_experts_are_as_good_as_they_must_be():
    with double_precision():  # As in a sweep.
        experts = ExpertContext().results([ExpertSpec(noise) for noise in FLOORS])
    for noise, found in zip(FLOORS, experts, strict=True):
        assert found.record.goal_share == 1
        assert found.record.mean_return >= FLOORS[noise]
        assert found.record.mean_return > published_expert_returns()[noise]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_every_algorithm_runs_and_an_interrupted_sweep_ends_with_the_same_numbers(algorithm, tmp_path):
    specs = continuous_grid(
        seeds=2, alphas=(0.9,), learner_noises=(0.0,), expert_noises=(0.1,), algorithm=algorithm, rounds=2,
        expert_steps=1, expert_attempts=1, demonstrations=10,
    )  # fmt: skip
    whole = compute(with_experts(specs), tmp_path / "whole")
    compute_some = iter(run(with_experts(specs)[:1]))
    with Store.open(tmp_path / "cut", with_experts(specs)) as store:
        store.append(next(compute_some))
    rest = compute(with_experts(specs), tmp_path / "cut")
    assert rest.new == len(specs) + 1

    def untimed(records):
        return [dataclasses.replace(record, seconds=0.0) for record in records]

    assert untimed(rest.records) == untimed(whole.records)
    alone = flat(run(specs[1:]))[0].record  # Without a store, an expert is trained on the way.
    assert untimed([alone]) == untimed(whole.records)[-1:]
    if algorithm == "default":
        experts = CONTINUOUS.load_dependencies(Store.read(tmp_path / "whole").result, specs)
        shared = {item.record.spec: item.record for item in flat(run(specs, workers=2, dependencies=experts))}
        for spec, here in zip(specs, untimed(whole.records)[-len(specs) :], strict=True):
            assert shared[spec].spec == here.spec == spec
            assert shared[spec].mean_return == pytest.approx(here.mean_return, rel=1e-6)  # One thread there, more here.
