"""Streams that are full, closed or of few letters, and devices that are not there."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robustirl.cli import main
from robustirl.cli.console import PlainConsole, progress_bar
from robustirl.cli.stream import OutputError, Stream

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def robustirl(*words, **options):
    command = [sys.executable, "-m", "robustirl", *words]
    given = {"capture_output": True, "text": True, "timeout": 300, "check": False} | options
    return subprocess.run(command, **given)


@FULL
def test_a_full_standard_error_is_of_no_account_and_a_full_standard_output_is_a_sentence():
    with Path("/dev/full").open("w") as full:
        tolerant = Stream(full, tolerant=True)
        tolerant.write("x" * 100_000)
        tolerant.flush()
    with Path("/dev/full").open("w", buffering=1) as full:
        with pytest.raises(OutputError, match=r"^standard output cannot be written to \(No space left on device\); "):
            Stream(full, tolerant=False).write("line\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # What is buffered goes somewhere.


@FULL
def test_a_progress_bar_on_a_full_standard_error_goes_on(monkeypatch):
    full = os.fdopen(os.open("/dev/full", os.O_WRONLY), "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", full)
    with progress_bar() as progress:
        task = progress.add_task("learning", total=2)
        progress.update(task, completed=2)
    PlainConsole(stderr=True).print("said to nobody")
    os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
    full.close()


def test_a_closed_stream():
    closed = io.StringIO()
    closed.close()
    Stream(closed, tolerant=True).write("nobody")
    with pytest.raises(OutputError, match="I/O operation on closed file"):
        Stream(closed, tolerant=False).write("nobody")


def test_a_reader_who_has_left_ends_what_is_printed_and_not_the_work():
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    assert Stream(Left(), tolerant=True).write("nobody") == 6
    with pytest.raises(BrokenPipeError):
        Stream(Left(), tolerant=False).write("nobody")


@pytest.mark.parametrize(
    ("text", "written"),
    [("α = 0.9 ± 0.1", "alpha = 0.9 +- 0.1"), ("┏━┓", "+-+"), ("café", r"caf\xe9"), ("plain", "plain")],
)
def test_a_terminal_of_ascii_gets_letters_written_out(text, written):
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="ascii"), tolerant=False)
    stream.write(text)
    stream.flush()
    assert raw.getvalue().decode("ascii") == written


@FULL
@pytest.mark.parametrize("words", [["version"], ["--json", "version"], ["fit", "--help"], ["--help"]], ids=" ".join)
def test_what_is_printed_to_a_full_or_closed_standard_output_ends_alike(words, monkeypatch, capfd):
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(words) == 2  # After which standard output leads nowhere, and can be closed.
    said = capfd.readouterr().err
    assert "standard output cannot be written to (No space left on device); files that were written are kept." in said
    assert len(said.splitlines()) == 1
    monkeypatch.setattr(sys, "stdout", None)
    if words[-1] == "--help":
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
    else:
        assert main(words) == 0
    assert capfd.readouterr().err == ""


def test_a_device_that_is_not_there_is_a_sentence_in_doctor_too():
    done = robustirl("doctor", env=os.environ | {"JAX_PLATFORMS": "abacus"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("robustirl: JAX_PLATFORMS is 'abacus', but JAX cannot compute there")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@FULL
def test_full_and_closed_streams_end_in_a_sentence_and_keep_the_fit(tmp_path):
    made = robustirl("demos", "make", "--env", "three-state", "--episodes", "20", "--out", f"{tmp_path}/walks.npz")
    assert made.returncode == 0, made.stderr
    fit = ["fit", "--env", "three-state", "--demos", f"{tmp_path}/walks.npz", "--steps", "3", "--alpha", "1", "--out"]
    with Path("/dev/full").open("w") as full:
        options = {"capture_output": False, "stdout": subprocess.PIPE, "stderr": full}
        loud = robustirl(*fit, f"{tmp_path}/stderr", **options)
        assert loud.returncode in (0, 1)
        assert (tmp_path / "stderr" / "model.npz").exists()
        mute = robustirl("doctor", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (mute.returncode, len(mute.stderr.splitlines())) == (2, 1)
    assert "No space left on device" in mute.stderr
    closed = subprocess.run(["sh", "-c", f"{sys.executable} -m robustirl doctor >&-"], capture_output=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, b"")


SCRIPT = """
from pathlib import Path
from robustirl.paper.finite.specs import RunSpec
from robustirl.sweeps import compute

compute([RunSpec("three-state", "slip", 0.0, 0.1, 0.9, steps=1)], Path("out"), workers=2)
"""


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith(
        "worker processes import the script that starts them, and this one starts the work when it is imported;"
        ' put the work under `if __name__ == "__main__":`, or pass workers=1.'
    )
