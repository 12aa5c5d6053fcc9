"""A forked process says that it cannot compute; it would wait without end."""

import os
import signal
import sys
import warnings

import pytest

from robustirl import envs, planning
from robustirl.errors import RobustIRLError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")


def answer_of_child(work):
    """What a forked process answers; its first byte says whether it was refused."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python and JAX warn of forks.
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            work()
            os.write(writing, b"computed")
        except RobustIRLError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer


def test_a_fork_after_a_computation_is_told_so_and_the_parent_goes_on():
    world = envs.make("three-state").mdp(0.1)

    def compute():
        return planning.solve(world, [0.0, 1.0, -1.0])

    before = compute().value
    answer = answer_of_child(compute)
    assert answer.startswith("this process was forked from one in which JAX was at work")
    assert 'start processes with multiprocessing.get_context("spawn")' in answer
    assert compute().value.tolist() == before.tolist()


def test_what_needs_no_computation_works_in_a_fork():
    assert answer_of_child(envs.names) == "computed"
