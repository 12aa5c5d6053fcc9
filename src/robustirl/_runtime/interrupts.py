"""Decide at which moments Ctrl-C, or SIGTERM, may interrupt.

Python raises KeyboardInterrupt between any two instructions, also between the last byte of a file and the note that the
file is there, or while the results of an interrupted sweep are being written. The contexts below change handlers in the
main thread alone; in other threads, and where the caller handles or ignores the signal, they do nothing.
"""

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

MOST_IGNORED = 3
"""From this many interrupts on, even a clean-up is interrupted: it may hang."""


@dataclasses.dataclass
class Interrupts:
    """Count the interrupts so far."""

    count: int = 0


@contextlib.contextmanager
def one_interrupt() -> Iterator[Interrupts]:
    """Raise KeyboardInterrupt at the first Ctrl-C, and let the clean-up that follows run undisturbed by a second one.

    Example:
        >>> with one_interrupt() as interrupts:
        ...     try:
        ...         signal.raise_signal(signal.SIGINT)
        ...     except KeyboardInterrupt:
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("cleaned up after", interrupts.count)
        cleaned up after 2
    """
    interrupts = Interrupts()

    def handle(number: int, frame: Any) -> None:
        interrupts.count += 1
        if interrupts.count == 1 or interrupts.count >= MOST_IGNORED:
            signal.default_int_handler(number, frame)

    with _handler(handle):
        yield interrupts


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Let a Ctrl-C wait until the context ends.

    Example:
        >>> try:
        ...     with hold_interrupts():
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("finished")
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        finished
        interrupted
    """
    waiting: list[int] = []
    with _handler(lambda number, _: waiting.append(number)):
        yield
    if waiting:
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def start_children_without_interrupts() -> Iterator[None]:
    """Have processes that start in this context never see Ctrl-C, which is the parent's to handle.

    For the parent itself a Ctrl-C waits until the context ends.
    """
    with hold_interrupts():
        if not hasattr(signal, "pthread_sigmask") or not _in_main_thread():
            yield
            return
        # Children inherit the mask. Other threads of this process may still take the signal, which is then held.
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)


@contextlib.contextmanager
def _handler(handle: Callable[[int, Any], None]) -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT)
    ours = getattr(usual, "__module__", None) == __name__
    if not _in_main_thread() or not (ours or usual is signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextlib.contextmanager
def terminate_as_interrupt() -> Iterator[Interrupts]:
    """Treat SIGTERM, with which schedulers and containers end a process, as Ctrl-C, and count it.

    A process that somebody has given a handler of SIGTERM keeps it.

    Example:
        >>> with terminate_as_interrupt() as terminations:
        ...     try:
        ...         signal.raise_signal(signal.SIGTERM)
        ...     except KeyboardInterrupt:
        ...         print("cleaned up after", terminations.count)
        cleaned up after 1
    """
    terminations = Interrupts()

    def handle(_: int, frame: Any) -> None:
        terminations.count += 1
        interrupt = signal.getsignal(signal.SIGINT)
        # A process started in the background of a shell ignores SIGINT. SIGTERM must end it all the same.
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield terminations
        return
    signal.signal(signal.SIGTERM, handle)
    try:
        yield terminations
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def keep_termination() -> Iterator[None]:
    """Undo what a library does to the handler of SIGTERM inside of the context."""
    usual = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if _in_main_thread() and usual is not None:
            signal.signal(signal.SIGTERM, usual)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
