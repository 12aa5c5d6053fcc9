"""A copy of the tree in which lines are changed and tests are run, again and again, as cheaply as that can be.

Tests of JAX code spend their time loading and compiling. So every run is forked from a process that has loaded all but
our own code, compiled programs are kept in a folder (found by their content, so that a changed program is never
mistaken for another), and the tests that noticed something in a file before are run first, a few of them alone: most
changes are noticed by those, and the files of the others need not be loaded.

A test that fails on a change is run once more without the change, if it has not passed there before: if it fails there,
too, it is put aside, and the others decide. A test that takes five times its usual time, and twenty seconds more for
what has to be compiled anew, is out of time.
"""

import collections
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LOADED = (
    *("numpy", "scipy.sparse.linalg", "scipy.stats", "jax", "jax.numpy", "jax.scipy.linalg", "equinox", "optax"),
    *("beartype", "jaxtyping", "hypothesis", "hypothesis.extra.numpy", "pytest", "_pytest.doctest"),
)
PATIENCE, GRACE = 5, 20.0  # Times what a test takes, and seconds more.
UNKNOWN = 10.0  # Seconds of a test that has not been timed.
LONGEST = 240.0  # Seconds of all tests for one change.
MEMORY = 48 * 2**30  # Of addresses, most of which JAX asks for and never uses: a change may not take the machine down.
OPTIONS = (
    *("-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:cov", "-p", "no:xdist"),
    *("-m", "not slow", "--hypothesis-profile=mutants"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),  # It was, before the fork.
)
FIRST = 15  # Tests that are run before the others are loaded.
NO_TESTS = 5  # Pytest's word for it.
EMPTY = "tests/golden"  # A folder without tests, named in every run: whatever else is run, tests/conftest.py is loaded.


class Run(NamedTuple):
    """How a run of tests went: pytest's word for it, and the first test that failed or the last that began."""

    code: int | None  # None for a run that was out of time.
    test: str


class Workshop:
    """A copy of the tree at `root` in `folder`, with compiled programs kept in `cache`."""

    def __init__(self, root: Path, folder: Path, cache: Path, seconds: Mapping[str, float]):
        self._folder, self._tree, self._seconds = folder, folder / "tree", seconds
        ignored = shutil.ignore_patterns(".git", ".venv*", "out", "site", "dist", ".hypothesis", "__pycache__")
        shutil.copytree(root, self._tree, ignore=ignored)
        os.environ |= {
            "OPENBLAS_NUM_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        for name in LOADED:
            importlib.import_module(name)
        self._kills: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self._aside: set[str] = set()
        self._sound: set[str] = set()

    def try_change(self, file: str, text: str, tests: Sequence[str], end: float) -> tuple[str, str, float]:
        """Return what the tests say of a file with another text: a verdict, the test behind it, and the seconds.

        `end` is the time at which nobody waits for a verdict any more.
        """
        begin = time.monotonic()
        kills = self._kills[file]
        order = sorted((test for test in tests if test not in self._aside), key=lambda test: -kills[test])
        verdict, by = "survived", ""
        for batch in (order[:FIRST], order[FIRST:]):
            if batch and verdict == "survived":
                verdict, by = self._try_batch(file, text, batch, end)
        return verdict, by, time.monotonic() - begin

    def _try_batch(self, file: str, text: str, tests: Sequence[str], end: float) -> tuple[str, str]:
        """Return what some of the tests say: a verdict, and the test behind it."""
        path = self._tree / file
        sound = path.read_text(encoding="utf-8")
        while time.time() < end:
            tests = [test for test in tests if test not in self._aside]
            try:
                _replace(path, text)
                run = self._run(tests, min(end, time.time() + LONGEST))
            finally:
                _replace(path, sound)
            if run.code in (0, NO_TESTS):
                return "survived", ""
            if run.code is None and not run.test:
                return ("survived", "not all tests were run") if time.time() < end else ("not finished", "")
            failed = run.test or tests[0]
            if failed not in self._sound:
                again = self._run([failed], end, only_import="::" not in failed)
                if again.code != 0:  # It fails as it is.
                    self._aside.add(failed)
                    continue
                self._sound.add(failed)
            self._kills[file][failed] += 1
            return ("out of time" if run.code is None else "killed"), run.test or "import"
        return "not finished", ""

    def _run(self, tests: Sequence[str], end: float, *, only_import: bool = False) -> Run:
        if not tests:
            return Run(NO_TESTS, "")
        report, begun = self._folder / "report.json", self._folder / "begun"
        report.unlink(missing_ok=True)
        begun.write_text("")
        sys.stdout.flush()
        if (child := os.fork()) == 0:
            try:
                os.setsid()
                self._test(tests, report, begun, only_import)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        code = self._wait(child, begun, end)
        with contextlib.suppress(
            ProcessLookupError
        ):  # What a run has left behind, its own processes and nobody else's.
            os.killpg(child, signal.SIGKILL)
        test = begun.read_text(encoding="utf-8")
        if code is None:
            return Run(None, "" if time.time() >= end else test)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"failed": test}
        return Run(code, found["failed"])

    def _wait(self, child: int, begun: Path, end: float) -> int | None:
        """Return a child's exit code, minus a signal if that ended it; None if it takes far longer than usual."""
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            usual = self._seconds.get(begun.read_text(encoding="utf-8"), UNKNOWN)
            if time.time() > end or time.time() - begun.stat().st_mtime > GRACE + PATIENCE * usual:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            time.sleep(0.02)

    def _test(self, tests: Sequence[str], report: Path, begun: Path, only_import: bool) -> None:
        """Run pytest in the copy; the child's whole life."""
        import pytest

        os.chdir(self._tree)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        log = os.open(self._folder / "log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["PYTHONPATH"] = os.pathsep.join(  # For tests that start processes of their own.
            [str(self._tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        sys.path[:0] = [str(self._tree / "src"), str(self._tree)]
        watch = _Watch(tests, self._aside, begun)
        options = [*OPTIONS, "--collect-only"] if only_import else OPTIONS
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        code = int(pytest.main([*options, EMPTY, *files], plugins=[watch]))
        ours = sys.modules.get("robustirl")
        if code == 0 and not (ours and str(ours.__file__).startswith(str(self._tree))):
            code, watch.failed = 70, f"the tests were not those of {self._tree}"
        report.write_text(json.dumps({"failed": watch.failed}), encoding="utf-8")
        os._exit(code)


class _Watch:
    """A plugin of pytest: which tests are run and in what order, which has begun, and the first that failed."""

    def __init__(self, tests: Sequence[str], aside: set[str], begun: Path):
        self._place = {test: place for place, test in enumerate(tests)}
        self._aside, self._begun, self.failed = aside, begun, ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        def place(item: Any) -> int | None:
            names = (item.nodeid, item.nodeid.split("[")[0], item.nodeid.split("::")[0])
            return next((self._place[name] for name in names if name in self._place), None)

        chosen = [item for item in items if place(item) is not None and item.nodeid not in self._aside]
        items[:] = sorted(chosen, key=lambda item: place(item) or 0)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _replace(path: Path, text: str) -> None:
    """Write a source file, and forget what was compiled from it: Python looks at dates of whole seconds only."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()
