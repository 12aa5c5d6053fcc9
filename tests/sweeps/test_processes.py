"""What is said of workers that ended before their work was done, by how they ended."""

import signal
from types import SimpleNamespace

import pytest

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
