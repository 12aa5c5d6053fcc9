"""What is said of workers that ended before their work was done, by how they ended."""

import contextlib
import signal
from types import SimpleNamespace

import pytest

from robustirl.sweeps import processes
from robustirl.sweeps.processes import _explain

KEPT = "; what is finished is kept, and the same command continues from there."


@pytest.mark.parametrize(
    ("codes", "how"),
    [
        ([-signal.SIGKILL, -signal.SIGTERM], " by SIGKILL, as the system does when memory runs out"),
        ([-signal.SIGTERM, -signal.SIGSEGV], " by SIGSEGV"),
        ([-200], " by signal 200"),
        ([3, 0], " with status 3"),
        ([0, None, -signal.SIGTERM], ""),
    ],
)
def test_the_end_of_a_worker_is_told_as_it_was(codes, how):
    ended = [SimpleNamespace(exitcode=code, join=lambda _: None) for code in codes]
    assert _explain(ended) == f"a worker process was ended{how}{KEPT}"  # pyright: ignore[reportArgumentType]


def test_a_worker_is_tied_to_a_core_of_its_own_and_prepared(monkeypatch):
    tied, began, prepared = [], [], []

    class Counter:
        value = 4

        def get_lock(self):
            return contextlib.nullcontext()

    monkeypatch.setattr(processes.signal, "signal", lambda *given: began.append(given))
    monkeypatch.setattr(
        processes.threading, "Thread", lambda **given: SimpleNamespace(start=lambda: began.append(given))
    )
    monkeypatch.setattr(processes, "set_rare_collection", lambda: began.append("rare"))
    monkeypatch.setattr(processes, "cores", lambda: [3, 5, 6])
    monkeypatch.setattr(processes.os, "sched_setaffinity", lambda *given: tied.append(given), raising=False)
    counter = Counter()
    processes._start(counter, lambda *given: prepared.append(given), (1, "a"))
    processes._start(counter, None, ())
    assert tied == [(0, {5}), (0, {6})]  # The fifth and the sixth worker on three cores.
    assert counter.value == 6
    assert prepared == [(1, "a")]
    assert began[:3] == [
        (signal.SIGINT, signal.SIG_IGN),
        {"target": processes._die_with_parent, "daemon": True},
        "rare",
    ]


def test_a_worker_ends_when_its_parent_has(monkeypatch):
    ended = []
    monkeypatch.setattr(processes.os, "_exit", ended.append)
    monkeypatch.setattr(processes.multiprocessing, "parent_process", lambda: None)
    processes._die_with_parent()
    assert ended == []
    parent = SimpleNamespace(join=lambda: ended.append("joined"))
    monkeypatch.setattr(processes.multiprocessing, "parent_process", lambda: parent)
    processes._die_with_parent()
    assert ended == ["joined", 1]


def test_a_worker_that_runs_the_script_anew_ends(monkeypatch):
    processes.require_main_guard()
    monkeypatch.setattr(processes.multiprocessing, "current_process", lambda: SimpleNamespace(_inheriting=True))
    with pytest.raises(SystemExit) as error:
        processes.require_main_guard()
    assert error.value.code == 77
    unguarded = SimpleNamespace(exitcode=77, join=lambda _: None)
    assert "put the work under `if __name__" in _explain([unguarded])  # pyright: ignore[reportArgumentType]


def test_the_cores_of_a_system_that_does_not_tell(monkeypatch):
    monkeypatch.delattr(processes.os, "sched_getaffinity", raising=False)
    for count, found in ((3, [0, 1, 2]), (None, [0])):
        monkeypatch.setattr(processes.os, "cpu_count", lambda count=count: count)
        assert processes.cores() == found
