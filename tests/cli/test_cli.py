"""The command line as a user meets it: a process, its output, its exit status."""

import subprocess
import sys

import pytest

from robustirl.cli import main

SMALL = ["--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0", "0.1", "--steps", "3"]


def robustirl(*arguments, cwd):
    command = [sys.executable, "-m", "robustirl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["theory", "gridworld-9"], "there is no environment 'gridworld-9'"),
        (["theory", "--expert-noise", "2"], "the noise is 2.0, but a probability"),
        (["theory", "--discount", "1"], "the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."),
        (["theory", "--occupancy", "taken"], "line 1 of taken holds 'mine', which is no number"),
        (["theory", "--out", "taken"], "taken is a file, but --out must name a folder; choose another name."),
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
    done = robustirl("theory", "gridworld-9", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("robustirl: there is no environment 'gridworld-9'")
    assert "Traceback" not in done.stderr


def test_an_unknown_option_is_named(capsys):
    assert main(["fit", "--alfa", "1"]) == 2
    assert capsys.readouterr().err == (
        "robustirl: robustirl fit has no option --alfa; did you mean --alpha? See robustirl fit --help.\n"
    )
