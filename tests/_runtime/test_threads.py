"""Threads: LAPACK has one while small worlds are solved, and what it had before afterwards, whoever ends last."""

import os
import subprocess
import sys

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
