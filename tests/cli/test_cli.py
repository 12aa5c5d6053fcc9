"""The command line as a user meets it: a process, its output, its exit status."""

import contextlib
import csv
import io
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from robustirl.cli import main

SMALL = ["--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0", "0.1", "--steps", "3"]


def robustirl(*arguments, cwd):
    command = [sys.executable, "-m", "robustirl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


def test_reproduce_writes_the_table_and_the_figure(tmp_path, capsys):
    out = tmp_path / "here"
    assert main(["reproduce", "gridworld-4", *SMALL, "--noise-model", "published", "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} >= {
        "store.json",
        "results.csv",
        "results.parquet",
        "report.html",
        "figures",
    }
    printed = capsys.readouterr()
    assert "4 runs in" in printed.out
    assert "median relative error" in printed.out
    assert "4/4" in printed.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "gridworld-9"], "there is no environment 'gridworld-9'; choose one of gridworld-1,"),
        (["reproduce", "--alphas", "0"], "alpha is 0.0, but a number with 0 < alpha <= 1 is needed."),
        (["reproduce", "--expert-noise", "1.5"], "the noise is 1.5, but a probability between 0 and 1 is needed."),
        (["reproduce", "--noise-model", "fog"], "gridworld-1 has no noise model 'fog'; choose one of uniform-state,"),
        (["compare", "three-state"], "three-state has no noise model 'published'; choose one of slip."),
        (["compare", "--draws", "0"], "--draws is 0, but a whole number of at least 1 is needed."),
        (["theory", "gridworld-9"], "there is no environment 'gridworld-9'"),
        (["theory", "--expert-noise", "2"], "the noise is 2.0, but a probability"),
        (["theory", "--discount", "1"], "the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."),
        (["theory", "--occupancy", "taken"], "line 1 of taken holds 'mine', which is no number"),
        (["theory", "--out", "taken"], "taken is a file, but --out must name a folder; choose another name."),
        (["reproduce", "--experiments", "figure-9"], "there is no experiment 'figure-9'; choose from all, best-alpha,"),
        (["reproduce", "--seeds", "3"], "gridworld-1 cannot be made with the options seed"),
        (["layouts", "--layouts", "1"], "--layouts is 1, but a whole number of at least 4 is needed."),
        (["layouts", "--alphas", "1"], "standard (1) and at least one robust α are needed"),
        (["reproduce", "--out", "taken"], "taken is a file, but --out must name a folder; choose another name."),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(arguments, sentence, tmp_path, monkeypatch, capsys):
    (tmp_path / "taken").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2  # In this process: to start one for each takes far longer than the work.
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = (line for line in printed.err.splitlines() if line.startswith("robustirl: "))
    assert sentence in line
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_process_ends_with_the_status_and_no_traceback(tmp_path):
    done = robustirl("reproduce", "gridworld-9", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("robustirl: there is no environment 'gridworld-9'; choose one of gridworld-1,")
    assert "Traceback" not in done.stderr


def test_every_environment_has_a_default_noise_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "three-state", *SMALL, "--out", "here"]) == 0


def test_an_unknown_option_is_named(capsys):
    assert main(["reproduce", "--alfas", "1"]) == 2
    assert capsys.readouterr().err == (
        "robustirl: robustirl reproduce has no option --alfas; did you mean --alphas? See robustirl reproduce --help.\n"
    )


def first_batch(folder, limit=600):
    """Wait until a batch is in the store."""
    limit += time.monotonic()
    while not list((folder / "batches").glob("*.npz")):
        assert time.monotonic() < limit, "no batch in time"
        time.sleep(0.02)


def test_ctrl_c_keeps_the_finished_runs(tmp_path):
    command = [sys.executable, "-m", "robustirl", "reproduce", "gridworld-4", "--steps", "1000", "--out", "here"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        first_batch(tmp_path / "here")
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does: the workers get it as well.
        _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "interrupted after" in stderr
    assert "Traceback" not in stderr
    assert 1 < len((tmp_path / "here" / "results.csv").read_text().splitlines()) < 76


def test_workers_end_with_a_command_that_is_killed(tmp_path):
    command = [
        sys.executable,
        "-m",
        "robustirl",
        "reproduce",
        "gridworld-4",
        "--steps",
        "1000",
        "--out",
        "killed",
    ]  # As above: compiled once.
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        first_batch(tmp_path / "killed")
        os.kill(process.pid, signal.SIGKILL)  # The parent alone.
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        try:
            os.killpg(process.pid, 0)  # Is anybody left of its session?
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("workers outlive the command")


KILLED = ["reproduce", "gridworld-4", "--learner-noise", "0", "--steps", "150", "--experiments", "best-alpha"]


def untimed(folder):
    rows = list(csv.DictReader(io.StringIO((folder / "results.csv").read_text())))
    for row in rows:
        del row["seconds"]
    return rows


def killed_after(wait, tmp_path):
    """Start the command, kill it and all its children after waiting, and say how many batches were there by then."""
    command = [sys.executable, "-m", "robustirl", *KILLED, "--out", "killed"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    ) as process:
        wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return len(list((tmp_path / "killed" / "batches").glob("*.npz")))


@pytest.mark.slow
def test_kills_at_random_moments_leave_no_trace(tmp_path):
    generator = random.Random(0)
    for _ in range(20):
        killed_after(lambda: time.sleep(generator.uniform(0.5, 12)), tmp_path)
    for out in ("killed", "whole"):
        done = robustirl(*KILLED, "--out", out, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert untimed(tmp_path / "killed") == untimed(tmp_path / "whole")


@pytest.mark.slow
def test_layouts_judges_the_papers_shape(tmp_path):
    arguments = ("--layouts", "4", "--learner-noise", "0", "--alphas", "1", "0.8", "--expert-noise", "0", "0.2")
    done = robustirl("layouts", *arguments, "--steps", "3", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not confirmed: " in done.stdout  # Three steps teach nothing.
    assert {path.name for path in (tmp_path / "here").iterdir()} >= {"layouts.csv", "layouts-discounted.png"}
