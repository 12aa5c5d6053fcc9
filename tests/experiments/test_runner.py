"""A kill loses the batches under way and nothing else, and the numbers are those of an undisturbed run."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments import runner
from experiments.runner import Where, cut
from robustirl._files import write_arrays
from robustirl.errors import InvalidInputError, RobustIRLError
from tests.experiments import toy

ROOT = Path(__file__).parents[2]
EXPECTED = [(spec, spec.number**2, list(range(spec.number))) for spec in toy.SPECS]


def start(out):
    command = [sys.executable, "-m", "tests.experiments.toy", str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "TOY_SECONDS": "0.4"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def workers_of(parent):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def test_results_are_those_of_the_work_in_the_order_of_the_specs(tmp_path):
    assert toy.results(tmp_path, workers=1) == EXPECTED
    backwards = toy.results(tmp_path, specs=toy.SPECS[::-1], workers=1)
    assert backwards == EXPECTED[::-1]


def test_what_is_there_is_not_computed_again(tmp_path):
    toy.results(tmp_path, workers=1)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").iterdir()}
    assert len(before) == 8
    assert toy.results(tmp_path, workers=1) == EXPECTED
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").iterdir()}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no archive"])
def test_a_file_that_cannot_be_read_is_computed_again(tmp_path, content):
    toy.results(tmp_path, workers=1)
    spoiled = sorted((tmp_path / "batches").iterdir())[0]
    spoiled.write_bytes(content)
    assert toy.results(tmp_path, workers=1) == EXPECTED
    assert runner._read(spoiled, 3) is not None


def test_a_file_with_other_arrays_is_computed_again(tmp_path):
    toy.results(tmp_path, workers=1)
    for path in (tmp_path / "batches").iterdir():
        write_arrays(path, {"rows": np.frombuffer(b'[{"square": 5}]', np.uint8), "7.root": np.zeros(3)})
    assert toy.results(tmp_path, workers=1) == EXPECTED


def test_a_killed_command_goes_on_with_the_same_rows(tmp_path):
    draws = random.Random(time.time_ns())  # Any moment must do.
    for kills in range(1, 3):
        process = start(tmp_path)
        deadline = time.monotonic() + 120
        while process.poll() is None and len(list((tmp_path / "batches").glob("*.npz"))) < 2 * kills:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(draws.random() * 0.1)
        workers = workers_of(process.pid)
        process.kill()
        process.communicate()
        for worker in workers:  # They end with the parent.
            while Path(f"/proc/{worker}/stat").exists() and " Z " not in Path(f"/proc/{worker}/stat").read_text():
                assert time.monotonic() < deadline
                time.sleep(0.02)
    finished = {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").glob("*.npz")}
    assert 4 <= len(finished) < 8
    assert toy.results(tmp_path, workers=1) == EXPECTED
    assert finished.items() <= {path: path.stat().st_mtime_ns for path in (tmp_path / "batches").glob("*.npz")}.items()


def test_an_interrupt_ends_the_workers_and_keeps_what_is_finished(tmp_path):
    process = start(tmp_path)
    while not list((tmp_path / "batches").glob("*.npz")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0 or len(list((tmp_path / "batches").glob("*.npz"))) == 8
    assert toy.results(tmp_path, workers=1) == EXPECTED


def test_a_worker_that_is_lost_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_MARK", str(tmp_path / "mark"))
    with pytest.raises(RobustIRLError, match="a worker process was ended"):
        toy.results(tmp_path, toy.square_or_die_once, workers=2)
    assert toy.results(tmp_path, toy.square_or_die_once, workers=2) == EXPECTED


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.filterwarnings("ignore")
def test_ray_does_a_batch_again_whose_worker_was_lost(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_MARK", str(tmp_path / "mark"))
    assert toy.results(tmp_path, toy.square_or_die_once, engine="ray") == EXPECTED
    assert (tmp_path / "mark").exists()


def test_batches_are_cut_alike_whatever_is_done():
    assert cut(toy.SPECS[:5], lambda spec: spec.group, 2) == [
        (toy.Toy(0, "a"), toy.Toy(2, "a")),
        (toy.Toy(4, "a"),),
        (toy.Toy(1, "b"), toy.Toy(3, "b")),
    ]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (lambda: Where(workers=0), "--workers is 0, but at least 1 is needed."),
        (lambda: Where(address="here:1"), "--address is 'here:1', but only Ray has one; add --engine ray."),
        (lambda: toy.results("/proc/nowhere", workers=1), "/proc/nowhere cannot be written to"),
    ],
)
def test_what_cannot_be_is_refused(request_, sentence):
    with pytest.raises(InvalidInputError) as caught:
        request_()
    assert str(caught.value).startswith(sentence)
