"""How many threads work on a run.

XLA on a CPU leaves matrix inverses to LAPACK, whose threads wait for each other actively. For the matrices of small
worlds that gains nothing on an idle machine, and on a busy one every wait can cost a time slice: twelve times slower
was measured for 100 states with both cores in use by others.
"""

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import jax

WORTH_THREADS = 512  # States; from here on several threads are faster.


@contextlib.contextmanager
def single_threaded_blas(num_states: int) -> Iterator[None]:
    """Keep LAPACK and BLAS to one thread while worlds of that size are solved.

    From `WORTH_THREADS` states on, all cores may be used.
    """
    if num_states >= WORTH_THREADS or jax.default_backend() != "cpu":
        yield
        return
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _SharedLimit:
    """One limit for all threads that fit at the same time.

    The first thread sets it, and the last one removes it. A limit of each one's own would be taken back in whatever
    order the threads end, and the last one to end might restore what it found, which is the limit of another.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                # threadpoolctl lets only the thread that set a limit change it, and that one may still be alive.
                for library in _controller().lib_controllers:
                    getattr(library, "clear_controlling_thread", lambda **_: None)(force=True)
                self._limiter.restore_original_limits()


_limit = _SharedLimit()


def single_threaded_xla() -> None:
    """Give XLA one thread on the CPU, if JAX has not been started yet.

    A number that was set before stays. The last digits of a continuous run hang on it, so that sweeps do this wherever
    they compute.
    """
    os.environ.setdefault("NPROC", "1")


@functools.cache
def _controller():
    import scipy.linalg  # noqa: F401  # Its LAPACK is the one that JAX calls, so it must be loaded before we look.
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
