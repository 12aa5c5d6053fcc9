"""The command line as a user meets it: a process, its output, its exit status."""

import signal
import subprocess
import sys
import time

import pytest

SMALL = ["--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0", "0.1", "--steps", "3"]


def robustirl(*arguments, cwd):
    command = [sys.executable, "-m", "robustirl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


def test_reproduce_writes_the_table_and_the_figure(tmp_path):
    done = robustirl("reproduce", "gridworld-4", *SMALL, "--noise-model", "published", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "request.json",
        "results.csv",
        "gridworld-4.png",
        "gridworld-4.svg",
    }
    assert "4 runs in" in done.stdout
    assert "median relative error" in done.stdout
    assert "4/4" in done.stderr


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
        (["theory", "--occupancy", "taken"], "taken cannot be read as one number a line"),
        (["theory", "--out", "taken"], "taken is a file, but --out must name a folder; choose another name."),
        (["reproduce", "--out", "taken"], "taken is a file, but --out must name a folder; choose another name."),
    ],
)
def test_bad_requests_get_one_sentence_and_leave_nothing(arguments, sentence, tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = robustirl(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("robustirl: ")]
    assert len(lines) == 1
    assert sentence in lines[0]
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


def test_every_environment_has_a_default_noise_model(tmp_path):
    done = robustirl("reproduce", "three-state", *SMALL, "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_theory_prints_a_certificate_and_draws_it(tmp_path):
    done = robustirl(
        "theory", "--expert-noise", "0.2", "--steps", "50", "--sweep", "0.1", "--out", "here", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for phrase in ("mismatch d_dyn = 0.4", "can it be matched: yes", "1 - d/2 gives 0.8", "worst return within d_dyn"):
        assert phrase in done.stdout
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"theory-three-state.png", "theory-three-state.svg"}


def test_theory_judges_an_occupancy_from_a_file(tmp_path):
    (tmp_path / "rho.txt").write_text("0.1\n0.9\n0.0\n")
    done = robustirl("theory", "--learner-noise", "0.2", "--occupancy", "rho.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "can it be matched: no" in done.stdout
    assert "occupancy gap of 0.36" in done.stdout


def test_an_unknown_option_is_named(tmp_path):
    done = robustirl("reproduce", "--alfas", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "--alfas" in done.stderr


def test_version(tmp_path):
    assert robustirl("--version", cwd=tmp_path).stdout.startswith("robustirl 0.")


def test_ctrl_c_keeps_the_finished_runs(tmp_path):
    command = [sys.executable, "-m", "robustirl", "reproduce", "gridworld-1", "--steps", "500", "--out", "here"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        table = tmp_path / "here" / "results.csv"
        limit = time.monotonic() + 120
        while not table.exists() and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted after" in stderr
    assert "Traceback" not in stderr
    assert 1 < len(table.read_text().splitlines()) < 76
