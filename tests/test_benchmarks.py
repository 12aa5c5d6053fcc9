"""The benchmarks run, agree with each other, and the page says what their files say."""

import importlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.mdp import MarkovGame
from robustirl.planning import solve

FOLDER = Path(__file__).parents[1] / "benchmarks"
CPU = {
    "backend": "cpu",
    "cpu": "a processor",
    "cores": 2,
    "device": "cpu",
    "python": "3.11",
    "versions": {"jax": "0.1"},
}
GPU = {**CPU, "backend": "gpu", "device": "a GPU"}


@pytest.fixture
def load(monkeypatch):
    """Import a file of the benchmarks, which are scripts and no package."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.syspath_prepend(FOLDER / "peers")
    return importlib.import_module


def scale_file(machine, date, rows):
    return {"benchmark": "scale", "machine": {**machine, "date": date}, "rows": rows, "left_out": []}


def solve_row(states, seconds, **others):
    labels = {"noise_model": "uniform-action", "discount": 0.99, "alpha": 0.9, "method": "newton-krylov", "auto": True}
    return {"what": "solve", "states": states, "seconds": seconds, **labels, **others}


def write(folder, name, content):
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_the_numpy_peer_solves_our_problem(load):
    peer, env = load("numpy_vi"), envs.make("gridworld-4")
    world = env.mdp(0.1, "uniform-action")
    states = world.num_states
    matrix = np.stack([np.asarray(world.kernel.expect(column)) for column in jnp.eye(states)], -1)
    targets = np.broadcast_to(np.arange(states), matrix.shape)
    lists = {"targets": targets, "chances": matrix, "mask": np.asarray(world.mask), "reward": env.reward}
    found = peer.solve(lists, 0.99, 0.9, limit=60.0)
    ours = solve(MarkovGame(world, 0.9), env.reward)
    assert found["mean_value"] == pytest.approx(float(ours.value.mean()), abs=1e-7)
    guess = peer.solve(lists, 0.99, 0.9, limit=0.0)
    assert guess["extrapolated"]
    assert guess["steps"] == pytest.approx(found["steps"], rel=0.5)


def test_aims_are_judged_by_the_slower_noise_and_the_latest_file(load, tmp_path):
    reading, targets = load("reading"), load("targets")
    rows = [solve_row(10_000, 0.01), solve_row(99_856, 0.4), solve_row(1_000_000, 9.0)]
    full = [solve_row(99_856, 0.45, noise_model="uniform-state")]
    peers = [
        {"what": "peer", "peer": "quantecon", "states": 99_856, "discount": 0.99, "method": method, **found}
        for method, found in (("value_iteration", {"seconds": 0.9}), ("policy_iteration", {"seconds": None}))
    ]
    write(tmp_path, "b.json", scale_file(CPU, "2026-01-02T00:00:00", [*rows, *full, *peers]))
    write(tmp_path, "c.json", scale_file(CPU, "2026-01-01T00:00:00", [solve_row(1_000_000, 1.0)]))
    write(tmp_path, "d.json", scale_file({**CPU, "cores": 1}, "2026-01-01T00:00:00", [solve_row(100, 1.0)]))
    results = reading.read(tmp_path)
    assert results.gpu is None
    assert results.cpu.sizes() == [10_000, 99_856, 1_000_000]
    found = {aim.name: aim for aim in targets.targets(results)}
    hundred, million = (found[f"robust soft solve, 10{power} states, γ = 0.99, CPU"] for power in "⁵⁶")
    assert (hundred.measured, hundred.verdict) == (0.45, "met")
    assert (million.measured, million.verdict) == (9.0, "**missed**")
    assert targets.exponent(results.cpu, 0.99) == pytest.approx(math.log(900) / math.log(100))
    assert targets.best_peer(results.cpu, "quantecon", 1e5, 0.99) == (0.9, "value_iteration")
    (ratio,) = (aim for name, aim in found.items() if "QuantEcon" in name and "0.99 " in name)
    assert (ratio.measured, ratio.verdict) == (pytest.approx(2.0), "met")


def test_the_page_is_written_from_the_files(load, tmp_path):
    report, reading, plots = load("report"), load("reading"), load("plots")
    stream = {"what": "bandwidth", "doubles": 10, "seconds": 1.0, "bytes_a_second": 2e10}
    product = {"what": "product", "precision": "float64", "bytes": 56e6, "bytes_a_second": 1e10, "seconds": 5.6e-3}
    rows = [
        stream,
        solve_row(1_000_000, 12.5),
        {**product, "states": 1_000_000, "noise_model": "uniform-action"},
        {"what": "peer", "peer": "numpy", "version": "2", "states": 1_000_000, "discount": 0.99, "seconds": 2500.0,
         "extrapolated": True, "process_bytes": 10**9, "noise_model": "uniform-action"},
    ]  # fmt: skip
    write(tmp_path, "cpu.json", scale_file(CPU, "2026-01-02T00:00:00", rows))
    write(tmp_path, "gpu.json", scale_file(GPU, "2026-01-02T00:00:00", [stream, solve_row(1_000_000, 0.05)]))
    results = reading.read(tmp_path)
    figures = plots.draw(results, tmp_path / "images")
    page = report.page(results, figures) + report.tables(results, figures)
    assert all(figure.stat().st_size > 1000 for figure in figures)
    assert "robust soft solve, 10⁶ states, γ = 0.99, GPU | ≤ 100 ms | 50 ms | met" in page
    assert "robust soft solve, 10⁶ states, γ = 0.99, CPU | ≤ 5 s | 12.5 s | **missed**" in page
    assert "one product moves 56 MB in 5.6 ms, 10 GB a second" in page
    assert "| 0.99 | 1 000 000 | 12.5 s | ~ 2500 s | – | 200 |" in page


def test_a_gpu_measures_the_largest_world_and_the_batches_first(load, monkeypatch, tmp_path):
    scale = load("scale")
    command = ["scale.py", "--out", str(tmp_path / "scale.json"), "--picture", str(tmp_path / "irl.npz")]
    monkeypatch.setattr(sys, "argv", command)
    options = scale.parse()
    jobs = scale.plan_gpu(options)
    (first, largest), (second, _), *others = jobs
    assert (first, largest["states"], largest["irl_steps"], second) == ("size", 1_000_000, 200, "batch")
    assert largest["picture"] == str(tmp_path / "irl.npz")
    assert not any(job["picture"] for _, job in others if job["states"] < 1_000_000)
    assert {(job["states"], job["noise_model"]) for kind, job in jobs if kind == "size"} == {
        (states, model) for states in scale.SIZES for model in scale.NOISE_MODELS
    }
    assert [kind for kind, _ in scale.plan_cpu(options)].count("peers") == len(scale.SIZES)
    json.dumps(jobs)


def test_what_a_worker_found_before_its_time_ran_out_is_kept(load):
    scale = load("scale")
    program = "import time; print('{\"what\": 1}', flush=True); print('{\"wha', end='', flush=True); time.sleep(60)"
    begin = time.monotonic()
    assert scale.lines_of([sys.executable, "-ISc", program], begin + 3, dict(os.environ)) == [{"what": 1}]
    assert time.monotonic() - begin < 30
    failed = scale.lines_of([sys.executable, "-c", "import sys; sys.exit(3)"], begin + 60, dict(os.environ))
    assert [(row["what"], row["status"]) for row in failed] == [("failure", 3)]


def test_a_command_is_timed_with_all_its_threads_and_a_cache_of_its_own(load, tmp_path):
    measuring = load("measuring")
    program = (
        "import os, pathlib, time; end = time.process_time() + 0.3\n"
        "while time.process_time() < end: pass\n"
        "pathlib.Path(os.environ['XDG_CACHE_HOME'], os.environ['NAME']).write_text('x')"
    )
    spent = measuring.timed_command(["-Sc", program], tmp_path, NAME="jit_add-cache")
    assert 0.3 <= spent["processor_seconds"] < 20
    assert spent["seconds"] >= 0.3
    assert (tmp_path / "jit_add-cache").exists()


def test_without_results_there_is_no_page(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, str(FOLDER / "report.py"), "--results", str(tmp_path), "--page", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "holds no result of scale.py" in done.stderr
    assert not page.exists()


def test_the_page_in_the_repository_is_that_of_its_files(load):
    report, reading = load("report"), load("reading")
    page = FOLDER.parent / "docs" / "benchmarks.md"
    results = reading.read(FOLDER / "results")
    if not (results.cpu or results.gpu):
        pytest.skip("no results are kept yet")
    images = sorted((page.parent / "images").glob("scale-*.png"))
    assert report.page(results, images) == page.read_text(encoding="utf-8")
    assert report.tables(results, images) == (page.parent / "data" / page.name).read_text(encoding="utf-8")


def test_the_table_of_the_readme_is_written_between_its_marks(load, tmp_path):
    front, reading = load("front_table"), load("reading")
    peer = {"what": "peer", "states": 99_856, "discount": 0.99}
    rows = [
        solve_row(99_856, 0.25),
        {**peer, "peer": "numpy", "seconds": 12.5, "extrapolated": True},
        {**peer, "peer": "quantecon", "method": "policy_iteration", "seconds": 1.5},
    ]
    write(tmp_path, "cpu.json", scale_file(CPU, "2026-01-02T00:00:00", rows))
    write(tmp_path, "gpu.json", scale_file(GPU, "2026-01-02T00:00:00", [solve_row(1_000_000, 0.05)]))
    times = {"alpha=1": {"median": 0.04}, "alpha=0.9": {"median": 0.03}}
    slower = {"alpha=1": {"median": 0.05}, "alpha=0.9": {"median": 0.02}}
    small = {"one_run": {"before": times, "after": slower}, "imitation": {"seconds_for_200_steps": 52.0}}
    write(tmp_path, "small.json", small)
    results = reading.read(tmp_path)
    before = f"# A page\n\n{front.BEGIN}\nold numbers\n{front.END}\n\nand more\n"
    after = front.renew(before, results)
    assert after.startswith("# A page\n")
    assert after.endswith("and more\n")
    assert "old numbers" not in after
    assert "| standard MCE IRL, 100 states, 200 steps, one core | 40 ms | imitation: ~\u00a052 s | 1300 |" in after
    assert "| robust MCE IRL, the same, α = 0.9 | 20 ms | none has it | – |" in after
    planning = "| robust planning, 10⁵ states, γ = 0.99, two cores | 250 ms |"
    assert f"{planning} QuantEcon: 1.5 s (PI), NumPy: ~ 12.5 s | 6, 50 |" in after.replace("\u00a0", " ")
    assert "| robust planning, 10⁶ states, γ = 0.99, a GPU | 50 ms | – | – |" in after
    assert front.renew(after, results) == after
    assert front.renew("no marks", results) == "no marks"


def test_the_table_in_the_readme_is_that_of_the_files(load):
    front, reading = load("front_table"), load("reading")
    results = reading.read(FOLDER / "results")
    if results.small is None or results.cpu is None:
        pytest.skip("no results are kept yet")
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert front.BEGIN in readme
    assert front.renew(readme, results) == readme, "run python benchmarks/report.py"


@pytest.mark.slow
def test_a_quick_run_measures_and_reports(tmp_path):
    out, page = tmp_path / "scale.json", tmp_path / "page.md"
    subprocess.run([sys.executable, str(FOLDER / "scale.py"), "--quick", "--out", str(out)], check=True)
    result = json.loads(out.read_text(encoding="utf-8"))
    rows = result["rows"]
    assert result["machine"]["versions"]["jax"]
    assert {row["what"] for row in rows} >= {"bandwidth", "world", "memory", "solve", "occupancy", "irl", "peer"}
    solved = [row for row in rows if row["what"] == "solve"]
    assert len(solved) == 4
    assert all(row["converged"] and row["seconds"] > 0 for row in solved)
    assert all(row["solving_bytes"] >= row["given_bytes"] for row in rows if row["what"] == "memory")
    (ours,) = (row for row in solved if row["alpha"] == 0.9 and row["noise_model"] == "uniform-action")
    (peer,) = (row for row in rows if row["what"] == "peer")
    assert peer["mean_value"] == pytest.approx(ours["mean_value"], rel=1e-9)
    command = [sys.executable, str(FOLDER / "report.py"), "--results", str(tmp_path), "--page", str(page)]
    subprocess.run(command, check=True)
    assert "NumPy" in page.read_text(encoding="utf-8")
    assert (tmp_path / "images" / "scale-time.png").exists()


def test_the_tables_of_roads_are_those_of_their_file(load):
    report = load("roads_report")
    assert report.tables(json.loads(report.KEPT.read_text("utf-8"))) == report.PAGE.read_text("utf-8")


def test_targets_of_large_worlds_are_judged_by_their_rows(load):
    report = load("large_report")
    found = {"grid": 4.0, "lists": 6.0}
    assert report.line("a solve", 5.0, found) == ["| a solve | ≤ 5 s | 4 s, met | **6 s**, missed | 1.5 |"]
    assert report.line("a solve", None, {"grid": 4.0}) == ["| a solve |  | 4 s | not measured |  |"]
    assert report.line("a solve", 5.0, {}) == []
    assert report.PAGE.read_text(encoding="utf-8") == report.page()
