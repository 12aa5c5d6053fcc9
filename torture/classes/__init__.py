"""Bad inputs by class: doors of the library times faults, each of which must end in one sentence.

A door is a function or a command that takes something from outside. A fault is a way in which that may be wrong, such
that no door may accept it. `python -m torture` walks them all, and so do the tests.
"""

import contextlib
import io
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from robustirl.cli import main
from robustirl.errors import MAX_LENGTH, RobustIRLError
from torture.targets import UnclearError, require_sentence

SLOWEST = 120.0
"""Seconds after which an input counts as a hang. All take a few, but more while others use the machine."""


class BadInput(NamedTuple):
    """A request that cannot be met.

    Attributes:
        name: What is wrong, and where.
        request: Makes the request: a call, or the words of a command that it returns. It runs in an empty folder, in
            which it may put files first.
    """

    name: str
    request: Callable[[], object]


class Command(tuple[str, ...]):
    """The words of a command, for a request to return."""

    __slots__ = ()


def attempt(bad: BadInput) -> str:
    """Make the request and return its sentence; raise `UnclearError` if it ends in any other way."""
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)), _time_limit(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = bad.request()
        except RobustIRLError as error:
            return _checked(str(error))
        if not isinstance(found, Command):
            raise UnclearError(f"accepted: {found!r:.200}")
        return _attempt_command(found)


def _attempt_command(words: Command) -> str:
    """Run a command, which must refuse, print one line and write nothing."""
    before = _listing()
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            status = main(list(words))
        except SystemExit as end:  # Words that are no command: tyro explains them in a box.
            status = end.code
            text = said.getvalue()
            if not text.replace("\n", "").isprintable() or not text or len(text) > 30_000:
                raise UnclearError(f"not to be printed: {text!r:.500}") from None
            text = "the words are no command."
        else:
            text = said.getvalue().removeprefix("robustirl: ").removesuffix("\n")
    if status != 2 or printed.getvalue():
        raise UnclearError(f"status {status!r}, printed {printed.getvalue()!r:.200}, said {said.getvalue()!r:.500}")
    if _listing() != before:
        raise UnclearError(f"left behind: {sorted(_listing() - before)}")
    return _checked(text)


def _checked(message: str) -> str:
    require_sentence(message)
    if not message.isprintable() or len(message) > MAX_LENGTH:
        raise UnclearError(f"not to be printed, or too long: {message!r:.500}")
    return message


def _listing() -> set[bytes]:
    """Return all files here; as bytes, because names need not be UTF-8."""
    return {
        os.path.join(folder, name)  # noqa: PTH118
        for folder, folders, files in os.walk(b".")
        for name in (*folders, *files)
    }


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Raise where the work takes too long: the signal also interrupts a wait for a pipe."""

    def late(*_: object) -> None:
        raise UnclearError(f"hangs: no answer after {SLOWEST:.0f} s")

    usual = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
