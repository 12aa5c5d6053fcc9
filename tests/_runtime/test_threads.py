"""Threads: LAPACK has one while small worlds are solved, and what it had before afterwards, whoever ends last."""

import os
import subprocess
import sys
from types import SimpleNamespace

from robustirl._runtime import threads

PROGRAM = """
import threading
import scipy.linalg, threadpoolctl
from robustirl._runtime import single_threaded_blas

def limits():
    return sorted({entry["num_threads"] for entry in threadpoolctl.threadpool_info()})

print(limits())
inside, go_on, done = threading.Event(), threading.Event(), threading.Event()

def first():
    with single_threaded_blas(10):
        inside.set()
        go_on.wait(30)
    done.set()
    release.wait(30)  # A thread that has set a limit, and is still there when another takes it back.

release = threading.Event()
thread = threading.Thread(target=first)
thread.start()
inside.wait(30)
with single_threaded_blas(10):  # Begins second, and ends last.
    go_on.set()
    done.wait(30)
    print(limits())
print(limits())
release.set()
with single_threaded_blas(10):
    print(limits())
with single_threaded_blas(10**6):
    print(limits())
"""


def test_fits_that_overlap_leave_the_threads_as_they_were():
    # In a process of its own, because LAPACK has one thread in the tests from the start.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split("\n")[:5] == ["[2]", "[1]", "[2]", "[1]", "[2]"]


def test_the_first_sets_the_limit_and_the_last_takes_it_back(monkeypatch):
    told = []

    def limit(**given):
        told.append(given)
        return SimpleNamespace(restore_original_limits=lambda: told.append("restored"))

    library = SimpleNamespace(clear_controlling_thread=lambda force: told.append(("freed", force)))
    controller = SimpleNamespace(limit=limit, lib_controllers=[library, object()])
    monkeypatch.setattr(threads, "_controller", lambda: controller)
    shared = threads._SharedLimit()
    for _ in range(2):
        shared.enter()
        shared.enter()
        shared.leave()
        assert told == [{"limits": 1, "user_api": "blas"}]
        shared.leave()
        assert told[1:] == [("freed", True), "restored"]
        told.clear()


def test_xla_has_one_thread_unless_a_number_was_set(monkeypatch):
    monkeypatch.setenv("NPROC", "3")
    threads.single_threaded_xla()
    assert os.environ["NPROC"] == "3"
    monkeypatch.delenv("NPROC")
    threads.single_threaded_xla()
    assert os.environ["NPROC"] == "1"


def test_large_worlds_use_all_threads(monkeypatch):
    told = []
    monkeypatch.setattr(threads, "_limit", SimpleNamespace(enter=lambda: told.append(1), leave=lambda: told.append(-1)))
    for states, expected in ((511, [1]), (512, [])):
        with threads.single_threaded_blas(states):
            assert told == expected
        assert sum(told) == 0
        told.clear()
