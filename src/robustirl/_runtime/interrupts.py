"""Decide at which moments Ctrl-C, SIGTERM or SIGHUP may interrupt.

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


TERMINATING = ("SIGTERM", "SIGHUP", "SIGXCPU")
"""Signals by which schedulers and containers, terminals that close, and limits of processor time end a process."""
RETRY_SECONDS = 0.05
_CALLBACKS = ("_xla_gc_callback", "__del__")
"""Functions that Python calls itself: an exception in one is printed and forgotten. The first is JAX's, called at every
garbage collection, where one of six interrupts was lost."""


@dataclasses.dataclass
class Interrupts:
    """Count the interrupts so far."""

    count: int = 0


@contextlib.contextmanager
def one_interrupt() -> Iterator[Interrupts]:
    """Raise KeyboardInterrupt at the first Ctrl-C; a second one does not disturb the clean-up.

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
        if _would_be_lost(frame):
            threading.Timer(RETRY_SECONDS, signal.pthread_kill, [threading.main_thread().ident, number]).start()
            return
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
    """Hide Ctrl-C from processes that start in this context; the parent handles it.

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


@dataclasses.dataclass
class Terminations(Interrupts):
    """Count the terminations so far; `number` is the signal of the last one."""

    number: int = 0


@contextlib.contextmanager
def terminate_as_interrupt() -> Iterator[Terminations]:
    """Treat the signals that end a process (`TERMINATING`) as Ctrl-C, and count them.

    A signal that is handled or ignored already (`nohup`) stays as it is.

    Example:
        >>> with terminate_as_interrupt() as terminations:
        ...     try:
        ...         signal.raise_signal(signal.SIGTERM)
        ...     except KeyboardInterrupt:
        ...         print("cleaned up after", terminations.count)
        cleaned up after 1
    """
    terminations = Terminations()

    def handle(number: int, frame: Any) -> None:
        terminations.count += 1
        terminations.number = number
        interrupt = signal.getsignal(signal.SIGINT)
        # A process started in the background of a shell ignores SIGINT. SIGTERM must end it all the same.
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    ours = [number for name in TERMINATING if (number := getattr(signal, name, None)) is not None]
    ours = [number for number in ours if _in_main_thread() and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield terminations
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def keep_termination() -> Iterator[None]:
    """Undo what a library does to the handler of SIGTERM inside of the context."""
    usual = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if _in_main_thread() and usual is not None:
            signal.signal(signal.SIGTERM, usual)


def _would_be_lost(frame: Any) -> bool:
    """Return whether an exception that is raised in this frame goes nowhere."""
    while frame is not None:
        if frame.f_code.co_name in _CALLBACKS:
            return True
        frame = frame.f_back
    return False


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
