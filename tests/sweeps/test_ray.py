"""Ray as an engine: the numbers of the other engines, whoever is killed; what is missing or out of reach is named."""

import contextlib
import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robustirl.cli import main
from robustirl.paper.finite import RunSpec
from robustirl.sweeps import compute
from robustirl.sweeps.ray import RayEngine
from robustirl.sweeps.store.batch_files import read_batch

SPEC = RunSpec("three-state", "slip", 0.0, 0.1, 0.9, steps=1)
SWEEP = ["reproduce", "gridworld-1", "--experiments", "best-alpha"]  # 75 runs in 15 batches.


def test_where_ray_is_missing_the_extra_is_named(tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "ray", None)
    with refused("the Ray engine needs ray, which is not installed; run `pip install 'robustirl[ray]'`."):
        compute([SPEC], tmp_path / "out", engine=RayEngine())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--engine", "ray", "--address", "127.0.0.1:1"],
            "there is no Ray cluster at 127.0.0.1:1 (Connection",
        ),
        (["--engine", "ray", "--address", "ray://x:1"], "--address is 'ray://x:1', but host:port of a Ray cluster, or"),
        (
            ["--engine", "ray", "--address", "nowhere"],
            "--address is 'nowhere', but host:port of a Ray cluster",
        ),
        (["--address", "auto"], "--address is 'auto', but only Ray has one; add --engine ray."),
    ],
)
def test_an_address_without_a_cluster_is_refused_before_anything_is_written(
    arguments, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    begin = time.monotonic()
    assert main(["reproduce", "three-state", *arguments, "--out", "new"]) == 2
    assert capsys.readouterr().err.startswith(f"robustirl: {sentence}")
    assert time.monotonic() - begin < 20
    assert list(tmp_path.iterdir()) == []


def robustirl(*arguments, cwd):
    command = [sys.executable, "-m", "robustirl", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def ended(process, status=0):
    printed, _ = process.communicate(timeout=900)
    assert process.returncode == status, printed
    return printed


def wait_for_batches(folder: Path, count, process):
    limit = time.monotonic() + 600
    while len(list((folder / "batches").glob("*.npz"))) < count:
        assert time.monotonic() < limit, "no batch in time"
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def untimed(folder: Path):
    with (folder / "results.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def specs_in(folder: Path):
    """The runs in all batch files, as often as they are there."""
    return [record.spec for path in (folder / "batches").glob("*.npz") for record in read_batch(path)[0]]


@contextlib.contextmanager
def cluster():
    """The address of a cluster of two working nodes, and what kills one of them."""
    pytest.importorskip("ray")
    command = [sys.executable, Path(__file__).with_name("ray_cluster.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        orders, answers = process.stdin, process.stdout
        assert orders is not None
        assert answers is not None

        def kill_node():
            print("kill", file=orders, flush=True)
            assert answers.readline() == "killed\n"

        address = answers.readline().strip()
        assert address, "the cluster did not start"
        yield address, kill_node


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The table of the sweep by the processes of this machine."""
    folder = tmp_path_factory.mktemp("undisturbed")
    ended(robustirl(*SWEEP, "--out", "here", cwd=folder))
    return untimed(folder / "here")


@pytest.mark.slow
def test_a_node_killed_in_the_middle_costs_nothing_and_no_run_is_there_twice(undisturbed, tmp_path):
    with cluster() as (address, kill_node):
        process = robustirl(*SWEEP, "--engine", "ray", "--address", address, "--out", "here", cwd=tmp_path)
        wait_for_batches(tmp_path / "here", 3, process)
        kill_node()
        printed = ended(process)
    assert "75 runs in" in printed
    assert untimed(tmp_path / "here") == undisturbed
    found = specs_in(tmp_path / "here")
    assert len(found) == len(set(found)) == 75


@pytest.mark.slow
def test_ctrl_c_and_a_kill_of_the_driver_cost_at_most_what_was_under_way(undisturbed, tmp_path):
    with cluster() as (address, _):
        sweep = [*SWEEP, "--engine", "ray", "--address", address, "--out", "here"]
        process = robustirl(*sweep, cwd=tmp_path)
        wait_for_batches(tmp_path / "here", 2, process)
        os.killpg(process.pid, signal.SIGINT)
        printed = ended(process, 130)
        assert "interrupted after" in printed
        assert "Traceback" not in printed
        kept = len(specs_in(tmp_path / "here"))
        assert 10 <= kept < 75
        process = robustirl(*sweep, cwd=tmp_path)
        wait_for_batches(tmp_path / "here", kept // 5 + 2, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kept = len(specs_in(tmp_path / "here"))
        assert 20 <= kept < 75
        printed = ended(robustirl(*sweep, cwd=tmp_path))
    assert f"{75 - kept} runs in" in printed
    assert f"{kept} were there already" in printed
    assert untimed(tmp_path / "here") == undisturbed
    found = specs_in(tmp_path / "here")
    assert len(found) == len(set(found)) == 75


@pytest.mark.slow
def test_ray_on_this_machine_alone_trains_experts_and_hands_them_to_learners_in_any_order(tmp_path):
    """Two kinds of runs, the second equipped with what the first left."""
    pytest.importorskip("ray")
    request = ["continuous", "--seeds", "1", "--alphas", "1", "0.9", "--learner-noise", "0", "--expert-noise", "0.1"]
    request += ["--rounds", "2", "--expert-steps", "5", "--expert-attempts", "1", "--demonstrations", "4"]
    tables = []
    for out, engine in (("local", []), ("ray", ["--engine", "ray"])):
        ended(robustirl(*request, *engine, "--out", out, cwd=tmp_path))
        tables.append(untimed(tmp_path / out))
    assert tables[0] == tables[1]
