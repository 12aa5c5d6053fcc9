"""Record which lines of the package each test executes: a plugin of pytest, and the table that it fills.

    PYTHONPATH=src:. python -m pytest -p torture.executed -m "not slow" --executed out/torture/executed.json tests

The table holds, for every test that passed, its seconds and the lines of `src/robustirl` that ran for it, counted from
the first line of their function, so that the table outlives changes elsewhere in a file, and a digest of every file, by
which `torture.choosing` sees what has changed since. Tests of other files that are in the table already stay there. A
program that an earlier test of the same file has compiled is not traced again, so of the tests of a file a line belongs
to the first that needed it.
"""

import collections
import contextlib
import hashlib
import json
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import jax
import pytest

from torture.mutations import ROOT

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
        new = {test: kept for test, kept in self._tests.items() if kept.pop("passed")}
        files = {test.split("::")[0] for test in self._tests}
        texts = {file: digest(ROOT / file) for file in files} | {
            str(path.relative_to(ROOT)): digest(path) for path in (ROOT / "src").rglob("*.py")
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        table = merge(read_executed(self._path), Table(new, texts), files)
        self._path.write_text(json.dumps(table._asdict()), encoding="utf-8")


class Table(NamedTuple):
    """Of each test its seconds, and its lines by file and function; of each file the digest of its text then."""

    tests: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]


def merge(table: Table, new: Table, again: Collection[str]) -> Table:
    """Return a table with the new records of the test files `again`.

    A source file that has changed between two records keeps its old digest as long as tests of the old record are left.
    """
    kept = {test: record for test, record in table.tests.items() if test.split("::")[0] not in again}
    sources = {file: text for file, text in table.texts.items() if kept and file.startswith("src/")}
    return Table(kept | dict(new.tests), {**table.texts, **new.texts, **sources, **{f: new.texts[f] for f in again}})


def digest(path: Path) -> str:
    """Return what tells a text from others."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def read_executed(path: Path) -> Table:
    """Return the table of a file; an empty one if there is none."""
    return Table(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Table({}, {})


def pytest_addoption(parser: Any) -> None:
    """Add the option that names the table."""
    parser.addoption("--executed", type=Path, help="write the lines that each test executes to this file")


def pytest_configure(config: Any) -> None:
    """Record if a table is named."""
    if config.getoption("--executed"):
        config.pluginmanager.register(Executed(config.getoption("--executed").resolve()))
