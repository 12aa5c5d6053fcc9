"""Run tests in children of a process that has loaded what they need, and say how that went.

JAX must not have started before the fork: its threads stay behind, and a child that waits for one waits in vain.
"""

import collections
import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE, GRACE = 5, 20.0  # Times what a test takes, and seconds more.
UNKNOWN = 10.0  # Seconds of a test that has not been timed.
MEMORY = 48 * 2**30  # Of addresses, most of which JAX asks for and never uses: a change may not take the machine down.
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:cov", "-p", "no:xdist"),
    *("-m", "not slow", "--hypothesis-profile=mutants"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),  # It was, before the fork.
)
EMPTY = "tests/golden"  # A folder without tests, named in every run: whatever else is run, tests/conftest.py is loaded.
FAILED, NO_TESTS, BROKEN = 1, 5, 70  # Pytest's words for it, and ours for a child that could not run tests.
INTERVAL = 0.01  # Seconds between two looks at a child.


class Run(NamedTuple):
    """How a run of tests went: pytest's word for it, and the first test that failed or the last that began."""

    code: int | None  # None for a run that was out of time.
    test: str


class Watch:
    """A plugin of pytest: which test has begun, and the first that failed."""

    def __init__(self, begun: Path):
        self._begun, self.failed = begun, ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note the test, for whoever waits for it."""
        self._begun.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test that failed."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file that could not be imported; and that time has passed for a reason."""
        self._begun.touch()
        if report.failed:
            self.failed = self.failed or report.nodeid


def choose(items: Sequence[Any], tests: Sequence[str]) -> list[Any]:
    """Return the items that are named by themselves, by their function or by their file, in the order of the names."""
    places = {test: place for place, test in enumerate(tests)}

    def place(item: Any) -> int | None:
        names = (item.nodeid, item.nodeid.split("[")[0], item.nodeid.split("::")[0])
        return next((places[name] for name in names if name in places), None)

    placed = [(found, item) for item in items if (found := place(item)) is not None]
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def _file(test: str) -> str:
    return test.split("::")[0]


class Forks:
    """Makes children that run tests, and waits for them; what they say is kept in files of `folder`."""

    def __init__(self, folder: Path, seconds: Mapping[str, float]):
        self._report, self._begun, self._log = folder / "report.json", folder / "begun", folder / "log"
        self._seconds = collections.defaultdict[str, float](lambda: UNKNOWN)
        for test, usual in seconds.items():  # What several tests share is made for the one that comes first.
            self._seconds[_file(test)] = max(usual, self._seconds.get(_file(test), 0.0))

    def run(self, tests: Callable[[Watch], int], end: float) -> Run:
        """Run tests in a child until `end`; `tests` is the child's whole life, and returns pytest's exit code."""
        self._report.unlink(missing_ok=True)
        self._begun.write_text("")
        sys.stdout.flush()
        if (child := os.fork()) == 0:
            try:
                self._live(tests)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(BROKEN)
        code = self._wait(child, end)
        with contextlib.suppress(ProcessLookupError):  # What a run has left behind: its own processes alone.
            os.killpg(child, signal.SIGKILL)
        test = self._begun.read_text(encoding="utf-8")
        if code is None:
            return Run(None, "" if time.time() >= end else test)
        if self._report.exists():
            test = json.loads(self._report.read_text(encoding="utf-8"))["failed"]
        return Run(code, test)

    def _live(self, tests: Callable[[Watch], int]) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        log = os.open(self._log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        watch = Watch(self._begun)
        code = tests(watch)
        self._report.write_text(json.dumps({"failed": watch.failed}), encoding="utf-8")
        os._exit(code)

    def _wait(self, child: int, end: float) -> int | None:
        """Return a child's exit code, minus a signal if that ended it; None if it takes far longer than usual."""
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            usual = self._seconds[_file(self._begun.read_text(encoding="utf-8"))]
            if time.time() > end or time.time() - self._begun.stat().st_mtime > GRACE + PATIENCE * usual:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            time.sleep(INTERVAL)
