"""A copy of the tree in which lines are changed and tests are run, again and again, as cheaply as that can be.

Tests of JAX code spend their time loading and compiling. So every run is forked from a process that has loaded all but
our own code, compiled programs are kept in a folder (found by their content, so that a changed program is never
mistaken for another), and the tests that noticed something in a file before, then the quick ones, are run first.

Before a file is changed for the first time, its tests are run as it is and must pass: else every change would seem to
be noticed. (With compiled programs kept from an earlier run, so is this, until a file changes.) Their times are
the measure of patience afterwards: a test that takes five times as long, and twenty seconds more for what has to be
compiled anew, is out of time.
"""

import collections
import contextlib
import hashlib
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
MEMORY = 48 * 2**30  # Of addresses, most of which JAX asks for and never uses: a change may not take the machine down.
OPTIONS = (
    *("-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile=mutants"),
    *("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"),  # It was, before the fork.
)


class Run(NamedTuple):
    """How a run of tests went: pytest's word for it, the first test that failed, and the seconds of each."""

    code: int | None  # None for a run that was out of time.
    failed: str
    seconds: dict[str, float]


class Workshop:
    """A copy of the tree at `root` in `folder`, with compiled programs kept in `cache`."""

    def __init__(self, root: Path, folder: Path, cache: Path):
        self._folder, self._tree, self._cache = folder, folder / "tree", cache
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

    def try_change(self, file: str, text: str, stages: Sequence[Sequence[str]]) -> tuple[str, str, float]:
        """Return what the tests say of a file with another text: a verdict, the test behind it, and the seconds.

        The tests of a stage are run if all those before have passed.
        """
        took = 0.0
        for tests in stages:
            if (usual := self._baseline(tests)) is None:
                return "tests fail as they are", "", took
            begin = time.monotonic()
            verdict, by = self._try(file, text, tests, usual)
            took += time.monotonic() - begin
            if verdict != "survived":
                return verdict, by, took
        return "survived", "", took

    def _try(self, file: str, text: str, tests: Sequence[str], usual: Mapping[str, float]) -> tuple[str, str]:
        path, kills = self._tree / file, self._kills[file]
        sound = path.read_text(encoding="utf-8")
        order = sorted(usual, key=lambda test: (-kills[test], usual[test]))
        try:
            _replace(path, text)
            run = self._run(tests, order, usual)
        finally:
            _replace(path, sound)
        if run.code == 0:
            return "survived", ""
        if run.code is None:
            return "out of time", run.failed
        if run.code not in (1, 2, 4) and run.code >= 0:  # 4: not even the first import worked; below 0: a crash.
            return f"pytest ended with {run.code}", run.failed
        kills[run.failed] += 1
        return "killed", run.failed or "import"

    def _baseline(self, tests: Sequence[str]) -> dict[str, float] | None:
        """Return the seconds that each of these tests takes where nothing is wrong.

        None if not all of them pass there.
        """
        kept = self._cache / f"sound-{self._digest(tests)}.json"
        if not kept.exists():
            begin = time.monotonic()
            run = self._run(tests, (), None)
            took = time.monotonic() - begin
            if run.code != 0:
                print((self._folder / "log").read_text(encoding="utf-8", errors="replace"))
            print(f"{'passed' if run.code == 0 else 'FAILED'} in {took:.0f} s: {' '.join(tests)}", flush=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(run.seconds if run.code == 0 else None), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))

    def _digest(self, tests: Sequence[str]) -> str:
        """Return a checksum of all that decides whether these tests pass.

        The sources, the tests, and what tests share.
        """
        shared = [path for path in self._tree.glob("tests/**/*.py") if not path.name.startswith("test_")]
        files = {*self._tree.glob("src/**/*.py"), *shared, *self._tree.glob("pyproject.toml")}
        for test in tests:
            files |= {self._tree / test, *(self._tree / test).glob("**/*.py")}
        digest = hashlib.sha256(" ".join(tests).encode())
        for path in sorted(path for path in files if path.is_file()):
            digest.update(f"\n{path.relative_to(self._tree)}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:24]

    def _run(self, tests: Sequence[str], order: Sequence[str], usual: Mapping[str, float] | None) -> Run:
        report, begun = self._folder / "report.json", self._folder / "begun"
        report.unlink(missing_ok=True)
        begun.write_text("")
        sys.stdout.flush()
        if (child := os.fork()) == 0:
            try:
                os.setsid()
                self._test(tests, order, report, begun)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        code = _wait(child, begun, usual)
        _end_group(child)
        if code is None:
            return Run(None, begun.read_text(encoding="utf-8"), {})
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        return Run(code, found.get("failed", ""), found.get("seconds", {}))

    def _test(self, tests: Sequence[str], order: Sequence[str], report: Path, begun: Path) -> None:
        """Run pytest in the copy; the child's whole life."""
        import pytest

        os.chdir(self._tree)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        log = os.open(self._folder / "log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["PYTHONPATH"] = str(self._tree / "src")  # For tests that start processes of their own.
        sys.path[:0] = [str(self._tree / "src"), str(self._tree)]
        watch = _Watch(order, begun)
        code = int(pytest.main([*OPTIONS, *tests], plugins=[watch]))
        ours = sys.modules.get("robustirl")
        if code == 0 and not (ours and str(ours.__file__).startswith(str(self._tree))):
            code, watch.failed = 70, f"the tests were not those of {self._tree}"
        report.write_text(json.dumps({"failed": watch.failed, "seconds": watch.seconds}), encoding="utf-8")
        os._exit(code)


class _Watch:
    """A plugin of pytest: the order of tests, which has begun, what each took, and the first that failed."""

    def __init__(self, order: Sequence[str], begun: Path):
        self._place = {test: place for place, test in enumerate(order)}
        self._begun = begun
        self.failed, self.seconds = "", collections.Counter[str]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self._place.get(item.nodeid, len(self._place)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or f"import of {report.nodeid}"


def _wait(child: int, begun: Path, usual: Mapping[str, float] | None) -> int | None:
    """Return a child's exit code, minus a signal if that ended it.

    None if its present test takes far longer than usual.
    """
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if usual is not None:
            test = begun.read_text(encoding="utf-8")
            if time.time() - begun.stat().st_mtime > GRACE + PATIENCE * usual.get(test, GRACE):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
        time.sleep(0.02)


def _end_group(child: int) -> None:
    """End what a run has left behind, its own processes and nobody else's."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _replace(path: Path, text: str) -> None:
    """Write a source file, and forget what was compiled from it: Python looks at dates of whole seconds only."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()
