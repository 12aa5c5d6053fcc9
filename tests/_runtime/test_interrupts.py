"""Ctrl-C is raised once, waits where it must, and leaves other people's handlers alone."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from robustirl._runtime import (
    hold_interrupts,
    keep_termination,
    one_interrupt,
    start_children_without_interrupts,
    terminate_as_interrupt,
)


def press():
    signal.raise_signal(signal.SIGINT)


def test_a_second_interrupt_is_ignored_and_a_third_is_not():
    with one_interrupt() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        press()
        assert interrupts.count == 2
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_held_interrupt_is_the_first_one_of_what_is_around_it():
    done = []
    with one_interrupt() as interrupts:
        with pytest.raises(KeyboardInterrupt), hold_interrupts():  # noqa: PT012
            press()
            press()
            done.append(interrupts.count)
        press()  # Ignored: the first one was raised.
        assert (done, interrupts.count) == ([0], 2)


def test_a_handler_of_the_callers_own_stays():
    seen = []
    usual = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with one_interrupt() as interrupts, hold_interrupts():
            press()
        assert (len(seen), interrupts.count) == (1, 0)
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_may_enter():
    entered = []

    def work():
        with one_interrupt(), hold_interrupts(), start_children_without_interrupts(), keep_termination():
            entered.append(True)
        with terminate_as_interrupt() as ends:
            entered.append(ends.count == 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True, True]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal masks")
def test_children_never_see_it_and_the_parent_sees_it_late():
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    said = ""
    with pytest.raises(KeyboardInterrupt), start_children_without_interrupts():  # noqa: PT012
        press()
        said += subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_termination_is_an_interrupt_that_waits_where_interrupts_wait():
    done = []
    with terminate_as_interrupt() as terminations, one_interrupt() as interrupts:
        with pytest.raises(KeyboardInterrupt), hold_interrupts():  # noqa: PT012
            signal.raise_signal(signal.SIGTERM)
            done.append(interrupts.count)
        signal.raise_signal(signal.SIGTERM)  # The clean-up goes on.
        assert (done, interrupts.count, terminations.count) == ([0], 2, 2)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_termination_ends_a_process_that_ignores_interrupts():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with terminate_as_interrupt(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, usual)


def test_a_handler_of_termination_stays_whoever_sets_another_one():
    def theirs(*_):
        raise AssertionError

    usual = signal.signal(signal.SIGTERM, theirs)
    try:
        with terminate_as_interrupt():
            assert signal.getsignal(signal.SIGTERM) is theirs
        with keep_termination():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is theirs
    finally:
        signal.signal(signal.SIGTERM, usual)


def test_an_interrupt_in_a_callback_of_python_comes_again():
    def _xla_gc_callback():
        press()
        return "went on"

    with one_interrupt() as interrupts:
        assert _xla_gc_callback() == "went on"
        assert interrupts.count == 0
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
        assert interrupts.count == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGXCPU"])
def test_the_last_signal_is_known_and_an_ignored_one_stays_ignored(name):
    number = getattr(signal, name)
    usual = signal.signal(number, signal.SIG_DFL)  # `nohup` has a suite ignore one of them.
    try:
        with terminate_as_interrupt() as terminations:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            assert (terminations.count, terminations.number) == (1, number)
        signal.signal(number, signal.SIG_IGN)
        with terminate_as_interrupt() as terminations:
            signal.raise_signal(number)
        assert terminations.count == 0
    finally:
        signal.signal(number, usual)
