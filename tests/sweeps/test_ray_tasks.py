"""What the engine asks of Ray and makes of its answers, against a stand-in cluster that answers in this process."""

import sys
import types
from typing import Any, cast

import jax
import pytest

from robustirl.errors import InvalidInputError, RobustIRLError
from robustirl.sweeps import ray as engine
from robustirl.sweeps.batches import Timing
from robustirl.sweeps.configuration import configuration
from robustirl.sweeps.ray import RayEngine


class Clock:
    """A clock that goes on by a second whenever it is read."""

    now = 100.0

    def monotonic(self):
        self.now += 1
        return self.now

    def time_ns(self):
        return 5


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__("a task failed")
        self.cause = cause


class Cluster(types.ModuleType):
    """A cluster of two CPUs whose tasks end one after the other with the given answers."""

    __version__ = "2.52.0"

    def __init__(self, answers=()):
        super().__init__("ray")
        self.answers, self.asked, self.canceled, self.resources = list(answers), [], [], {"CPU": 2.0}
        self.started, self.ended, self.host = [], 0, "127.0.0.1"
        self.exceptions = types.ModuleType("ray.exceptions")
        self.exceptions.__dict__.update(RayError=RayError, RayTaskError=RayTaskError)
        self.util = types.SimpleNamespace(get_node_ip_address=lambda: self.host)

    def remote(self, function):
        def options(**options):
            self.asked.append((function.__name__, options))
            return types.SimpleNamespace(remote=lambda batch, order, needs: (batch, order.number, needs))

        return types.SimpleNamespace(options=options)

    def put(self, needs):
        return ("put", needs)

    def wait(self, waiting, **options):
        self.asked.append(options)
        return (waiting[:1], waiting[1:]) if self.answers else ([], waiting)

    def get(self, reference):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [reference], *answer

    def cancel(self, reference):
        self.canceled.append(reference[0])

    def cluster_resources(self):
        return self.resources

    def is_initialized(self):
        return False

    def init(self, **options):
        self.started.append(options)

    def shutdown(self):
        self.ended += 1

    def get_runtime_context(self):
        return types.SimpleNamespace(get_worker_id=lambda: "worker 1")


@pytest.fixture
def join(monkeypatch):
    """Return a function that makes a stand-in cluster the Ray that is installed."""

    def install(answers=()):
        cluster = Cluster(answers)
        monkeypatch.setitem(sys.modules, "ray", cluster)
        monkeypatch.setitem(sys.modules, "ray.exceptions", cluster.exceptions)
        monkeypatch.setattr(engine, "time", Clock())
        monkeypatch.setenv(engine.LOOPBACK_SWITCH, "0")
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"):
            monkeypatch.setenv(name, "")
        return cluster

    return install


def test_batches_become_tasks_and_the_time_is_divided(join):
    cluster = join([(4.0, "a"), (2.0, "b"), (1.0, "a")])
    timing = Timing(compilation=10.0, computation=20.0)
    work = RayEngine(retries=3, patience=50.0)._work(["x", "y", "z"], timing, "needs", leaving=True)
    spent = []
    for (reference,) in cast("Any", work):
        assert reference[1:] == (5, ("put", "needs"))
        spent.append((reference[0], timing.compilation, timing.computation))
    # The clock is read at the beginning (101, 102) and twice a task; starting is the mean over the workers that did
    # something: 4, (4 + 2) / 2, (5 + 2) / 2.
    assert spent == [("x", 14.0, 20.0), ("y", 13.0, 20 + 5 - 3), ("z", 13.5, 20 + 7 - 3.5)]
    assert cluster.asked[0] == ("_work_on_ray", {"max_retries": 3, "num_cpus": 1})
    assert cluster.asked[1:] == [{"num_returns": 1, "timeout": 5.0}] * 3
    assert list(RayEngine()._work([], timing, None, leaving=True)) == []


def test_a_cluster_without_nodes_is_given_up_after_a_while_and_told_unless_we_leave(join):
    for leaving, told in ((False, ["x", "y"]), (True, [])):
        cluster = join()
        cluster.resources = {"CPU": 0.5}
        with pytest.raises(RobustIRLError) as error:
            list(RayEngine(patience=3.0)._work(["x", "y"], Timing(), None, leaving=leaving))
        assert str(error.value) == (
            "no node of the Ray cluster has a CPU left; what is finished is kept, and the same command goes on from"
            " there."
        )
        assert len(cluster.asked) == 1 + 4  # At 103, 104 and 105 there were three seconds or fewer since 102.
        assert cluster.canceled == told


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (RayTaskError(InvalidInputError("α is 2.")), InvalidInputError, "α is 2."),
        (
            RayTaskError(RuntimeError("the module failed to import on the worker")),
            InvalidInputError,
            "a worker of the Ray cluster cannot import robustirl; install it on every node, in the version that is"
            " here.",
        ),
        (RayTaskError(RuntimeError("bad")), RayTaskError, "a task failed"),
        (
            RayError("node died. Ray says more."),
            RobustIRLError,
            "a batch was lost on the Ray cluster (node died); what is finished is kept, and the same command goes on"
            " from there.",
        ),
    ],
)
def test_what_became_of_a_task_is_said(error, kind, sentence, join):
    with pytest.raises(kind) as found:
        engine._outcome(join([error]), "reference")
    assert (type(found.value), str(found.value)) == (kind, sentence)


def test_a_cluster_is_joined_and_left(join, monkeypatch):
    cluster = join()
    monkeypatch.setattr(engine.os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    with RayEngine().connect():
        assert cluster.ended == 0
    alone = {"address": "local", "num_cpus": 3, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    assert cluster.started == [quiet | alone]
    assert cluster.ended == 1
    with RayEngine("auto").connect():
        assert cluster.started[1:] == [quiet | {"address": "auto"}]
    cluster.is_initialized = lambda: True
    with RayEngine().connect():
        assert len(cluster.started) == 2
    assert cluster.ended == 2  # A connection of the caller stays.
    cluster.is_initialized, cluster.resources = lambda: False, {"GPU": 4.0}
    with (
        pytest.raises(InvalidInputError, match=r"^no node of the Ray cluster has a CPU, which a batch takes"),
        RayEngine().connect(),
    ):
        pass
    assert cluster.ended == 3
    cluster.host = "10.0.0.7"
    with (
        pytest.raises(InvalidInputError, match=r"^Ray would listen at 10\.0\.0\.7, which other machines"),
        RayEngine().connect(),
    ):
        pass
    assert cluster.ended == 4
    cluster.init = lambda **_: (_ for _ in ()).throw(RuntimeError("no room"))
    with pytest.raises(RobustIRLError, match=r"^Ray could not be started on this machine \(no room\)\.$"):
        RayEngine()._join(cluster)
    with pytest.raises(InvalidInputError, match=r"^there is no Ray cluster at auto \(no room\)"):
        RayEngine("auto")._join(cluster)


def test_a_worker_keeps_its_executor_for_a_sweep_and_must_compute_as_we_do(join, monkeypatch):
    join()
    executor = types.SimpleNamespace(work=lambda batch: ([*batch], 2.5, 7.0))
    monkeypatch.setattr(engine, "_executor", (3, executor))
    assert engine._work_on_ray(("a", "b"), engine._Order(3, {}), None) == (["a", "b"], 2.5, "worker 1")
    theirs = configuration() | {"device": "gpu"}
    with pytest.raises(InvalidInputError, match=r"under another configuration \(device cpu there, gpu here\); install"):
        engine._work_on_ray(("a",), engine._Order(4, theirs), None)
    assert engine._executor == (3, executor)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    made = []
    monkeypatch.setattr(engine, "BatchExecutor", lambda needs: made.append(needs) or executor)
    assert engine._work_on_ray(("c",), engine._Order(4, configuration()), "needs") == (["c"], 2.5, "worker 1")
    assert made == ["needs"]
    assert engine._executor == (4, executor)


def test_a_task_takes_one_of_what_we_compute_on(monkeypatch):
    found = []
    for backend in ("cpu", "gpu", "cuda", "tpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        found.append(engine._demand())
    assert found == [{"num_cpus": 1}, {"num_gpus": 1}, {"num_gpus": 1}, {"resources": {"TPU": 1}}]


def test_a_cluster_with_one_device_is_enough():
    cluster = Cluster()
    for share, enough in ((0.9, False), (1.0, True)):
        cluster.resources = {"CPU": share}
        assert engine._has_resources(cluster) == enough
    cluster.resources = {}
    assert not engine._has_resources(cluster)


def test_a_token_is_made_where_none_is_set(monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", engine.LOOPBACK_SWITCH):
        monkeypatch.setenv(name, "")  # So that what is set below is taken back.
        monkeypatch.delenv(name)
    engine._stay_on_this_machine(loaded=False)
    environ = engine.os.environ
    assert environ[engine.LOOPBACK_SWITCH] == "0"
    assert environ["RAY_AUTH_MODE"] == "token"
    assert len(environ["RAY_AUTH_TOKEN"]) == 64
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "token")
    engine._stay_on_this_machine(loaded=True)  # The switch is set: what is loaded has obeyed it.
    assert "RAY_AUTH_TOKEN" not in environ
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    engine._stay_on_this_machine(loaded=False)
    assert "RAY_AUTH_TOKEN" not in environ
    monkeypatch.delenv(engine.LOOPBACK_SWITCH)
    monkeypatch.setattr(sys, "platform", "darwin")
    engine._stay_on_this_machine(loaded=True)  # There Ray listens on the loopback address by default.
    assert environ[engine.LOOPBACK_SWITCH] == "0"
