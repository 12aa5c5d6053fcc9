"""Ray as an engine: the numbers of the other engines, whoever is killed; what is missing or out of reach is named."""

import contextlib
import csv
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import pytest

from robustirl.cli import main
from robustirl.errors import InvalidInputError
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


def test_a_ray_without_tokens_is_refused(tmp_path, monkeypatch, refused):
    old = types.ModuleType("ray")
    monkeypatch.setattr(old, "__version__", "2.51.1", raising=False)
    monkeypatch.setattr(old, "is_initialized", lambda: False, raising=False)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setitem(sys.modules, "ray", old)
    monkeypatch.setitem(sys.modules, "ray.exceptions", types.ModuleType("ray.exceptions"))
    with refused(
        "ray 2.51.1 is installed, but 2.52 or newer is needed, which can ask for a token; run `pip install"
        " 'robustirl[ray]'`."
    ):
        compute([SPEC], tmp_path / "out", engine=RayEngine())
    assert not (tmp_path / "out").exists()


def test_a_ray_that_was_imported_before_and_would_listen_to_others_is_refused(tmp_path, monkeypatch, refused):
    theirs = types.ModuleType("ray")
    monkeypatch.setattr(theirs, "is_initialized", lambda: False, raising=False)
    monkeypatch.setitem(sys.modules, "ray", theirs)
    monkeypatch.delenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with refused(
        "Ray would listen at the address of this machine, which other machines can reach; set"
        " RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 in the environment before Ray is imported, or give the address of a"
        " cluster."
    ):
        compute([SPEC], tmp_path / "out", engine=RayEngine())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "address",
    ["", ":", "x", ":1", "x:", "x:0", "x:65536", "x:-1", "x:1e3", "x:٣", "a b:1", "a/b:1", "x" * 64 + ".com:1", "..:1"],
)
def test_what_is_no_host_and_port_is_a_sentence(address, tmp_path):
    with pytest.raises(InvalidInputError, match=r"^--address is .*(host:port|no host can have that name).*\.$"):
        compute([SPEC], tmp_path / "out", engine=RayEngine(address))
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
    assert time.monotonic() - begin < 60
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
def cluster(attempts=3):
    """The address of a cluster of two working nodes, and what kills one of them.

    Ray gives its own processes half a minute to start, which a busy machine does not always keep.
    """
    pytest.importorskip("ray")
    command = [sys.executable, Path(__file__).with_name("ray_cluster.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with tempfile.TemporaryFile("w+") as said:
        for _ in range(attempts):
            with subprocess.Popen(command, stderr=said, **pipes) as process:
                orders, answers = process.stdin, process.stdout
                assert orders is not None
                assert answers is not None

                def kill_node(orders=orders, answers=answers):
                    print("kill", file=orders, flush=True)
                    assert answers.readline() == "killed\n"

                address = answers.readline().strip()
                if address:
                    yield address, kill_node
                    return
        said.seek(0)
        pytest.fail(f"the cluster did not start: {said.read()[-2000:]}")


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


ALONE = """
from robustirl.sweeps import RayEngine

with RayEngine().connect():
    import os
    import ray

    print(os.environ["RAY_AUTH_TOKEN"])
    print(ray.get_runtime_context().gcs_address, flush=True)
    input()
"""
STRANGER = """
import sys
import ray

ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
print("joined", flush=True)
"""


def own_addresses():
    """The addresses at which other machines reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing.
        except OSError:
            return set()
        return {probe.getsockname()[0]} - {"127.0.0.1"}


@pytest.mark.slow
def test_ray_on_this_machine_alone_is_reached_by_no_other_and_obeys_nobody_without_its_token():
    pytest.importorskip("ray")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", ALONE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=clean, **pipes) as process:
        assert process.stdout is not None
        token = process.stdout.readline().strip()
        host, _, port = process.stdout.readline().strip().rpartition(":")
        assert (host, len(token)) == ("127.0.0.1", 64)
        for address in own_addresses():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((address, int(port)), 5)
        # Ray tries again and again where it is turned away: who has not joined in a while was.
        for given, seconds in ((token, 120), ("0" * 64, 30), (None, 30)):
            told = (
                {"RAY_AUTH_MODE": "disabled"} if given is None else {"RAY_AUTH_TOKEN": given, "RAY_AUTH_MODE": "token"}
            )
            attempt = ["timeout", str(seconds), sys.executable, "-c", STRANGER, f"{host}:{port}"]
            told["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            stranger = subprocess.run(attempt, env=clean | told, capture_output=True, text=True, check=False)
            assert (stranger.stdout == "joined\n") == (given == token), stranger.stderr
        process.communicate("\n", timeout=120)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", [[], ["--engine", "ray"]], ids=["processes", "ray"])
def test_a_termination_keeps_the_finished_runs_and_leaves_no_process(engine, tmp_path):
    if engine:
        pytest.importorskip("ray")
    process = robustirl(*SWEEP, "--steps", "500", *engine, "--out", "here", cwd=tmp_path)
    wait_for_batches(tmp_path / "here", 1, process)
    process.send_signal(signal.SIGTERM)  # The command alone, as a scheduler does.
    printed = ended(process, 143)
    assert "interrupted after" in printed
    assert "Traceback" not in printed
    assert 1 < len((tmp_path / "here" / "results.csv").read_text().splitlines()) < 76
    limit = time.monotonic() + 60
    while members(process.pid):
        assert time.monotonic() < limit, members(process.pid)
        time.sleep(0.1)


def members(session):
    """The living processes of a session, by name."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            state, _, _, number = rest.split()[:4]
            if int(number) == session and state != "Z":
                found.append(name)
    return found
