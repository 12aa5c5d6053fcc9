"""Record which lines of the package each test executes: a plugin of pytest, and the table that it fills.

    PYTHONPATH=src:. python -m pytest -p torture.executed -m "not slow" --executed out/torture/executed.json tests

The table holds, for every test that passed, its seconds and the lines of `src/robustirl` that ran for it, counted from
the first line of their function, so that the table outlives changes elsewhere in a file. Tests of other files that are
in the table already stay there. A program that an earlier test of the same file has compiled is not traced again, so
of the tests of a file a line belongs to the first that needed it.
"""

import collections
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import jax
import pytest

PACKAGE = "/src/robustirl/"
TOOL = 4  # One of the numbers that Python leaves to tools of no fixed purpose.


class Recorder:
    """The lines of the package that are executed while it records, whichever thread executes them."""

    def __init__(self) -> None:
        self.lines: set[tuple[CodeType, int]] = set()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record in this context; lines that were recorded before are forgotten."""
        self.lines.clear()
        begin, end = self._monitoring() if sys.version_info >= (3, 12) else self._tracing()
        begin()
        try:
            yield
        finally:
            end()

    def _tracing(self):
        def call(frame: FrameType, *_: object):
            return line if PACKAGE in frame.f_code.co_filename else None

        def line(frame: FrameType, *_: object):
            self.lines.add((frame.f_code, frame.f_lineno))
            return line

        def trace(function: Any) -> None:
            sys.settrace(function)
            threading.settrace(function)

        return lambda: trace(call), lambda: trace(None)

    def _monitoring(self):
        watch: Any = getattr(sys, "monitoring")  # noqa: B009 (Python 3.11, which we check types with, lacks it)
        events = watch.events

        def start(code: CodeType, *_: object) -> Any:
            if PACKAGE in code.co_filename:
                watch.set_local_events(TOOL, code, events.LINE)
            return watch.DISABLE

        def line(code: CodeType, number: int) -> Any:
            self.lines.add((code, number))
            return watch.DISABLE

        def begin() -> None:
            watch.use_tool_id(TOOL, "executed")
            watch.register_callback(TOOL, events.PY_START, start)
            watch.register_callback(TOOL, events.LINE, line)
            watch.set_events(TOOL, events.PY_START)
            watch.restart_events()

        def end() -> None:
            watch.set_events(TOOL, 0)
            for event in (events.PY_START, events.LINE):  # Otherwise they are called after the number is free again.
                watch.register_callback(TOOL, event, None)
            watch.free_tool_id(TOOL)

        return begin, end


class Executed:
    """The plugin: record every test, and write the table at the end."""

    def __init__(self, path: Path):
        self._path, self._recorder = path, Recorder()
        self._tests: dict[str, dict[str, Any]] = {}
        self._file = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Record what a test executes, with what is prepared for it."""
        if item.nodeid.split("::")[0] != self._file:
            self._file = item.nodeid.split("::")[0]
            jax.clear_caches()
        with self._recorder.recording():
            result = yield
        files: dict[str, dict[str, list[int]]] = collections.defaultdict(lambda: collections.defaultdict(list))
        for code, number in self._recorder.lines:
            file = code.co_filename[code.co_filename.index(PACKAGE) + 1 :]
            files[file][code.co_qualname].append(number - code.co_firstlineno)
        self._tests.setdefault(item.nodeid, {"seconds": 0.0, "passed": False})["lines"] = files
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note whether a test passed, and its seconds."""
        test = self._tests.setdefault(report.nodeid, {"seconds": 0.0, "passed": False})
        test["seconds"] = round(test["seconds"] + report.duration, 3)
        if report.when == "call":
            test["passed"] = report.passed
        elif not report.passed:
            test["passed"] = False

    def pytest_sessionfinish(self) -> None:
        """Add the tests to the table."""
        found = read_executed(self._path)
        again = {test.split("::")[0] for test in self._tests}
        found = {test: kept for test, kept in found.items() if test.split("::")[0] not in again}
        found |= {test: kept for test, kept in self._tests.items() if kept.pop("passed")}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(found), encoding="utf-8")


def read_executed(path: Path) -> dict[str, dict[str, Any]]:
    """Return the table: of each test its seconds, and its lines by file and function."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def pytest_addoption(parser: Any) -> None:
    """Add the option that names the table."""
    parser.addoption("--executed", type=Path, help="write the lines that each test executes to this file")


def pytest_configure(config: Any) -> None:
    """Record if a table is named."""
    if config.getoption("--executed"):
        config.pluginmanager.register(Executed(config.getoption("--executed").resolve()))
