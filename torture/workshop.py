"""A copy of the tree in which lines are changed and tests are run, again and again, as cheaply as that can be.

Tests of JAX code spend their time loading and compiling. So a change is first tried in a process that has loaded and
collected everything (`torture.collected`). A change of what is executed while modules are loaded cannot be tried there:
it is tried in a fork of a process that has loaded all but our own code. Compiled programs are kept in a folder (found
by their content, so that a changed program is never mistaken for another), and the tests that noticed something in a
file before are run first.

A test that fails on a change is run once more without the change, if it has not passed there before: if it fails there,
too, it is put aside, and the others decide. A test that takes five times as long as the slowest of its file does, and
twenty seconds more for what has to be compiled anew, is out of time.
"""

import collections
import importlib
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from torture.collected import FIRST, Reply, Request, serve
from torture.forked import BROKEN, EMPTY, NO_TESTS, OPTIONS, Forks, Run, Watch, choose
from torture.mutations import Mutant, mutate

LOADED = (
    *("numpy", "scipy.sparse.linalg", "scipy.stats", "jax", "jax.numpy", "jax.scipy.linalg", "equinox", "optax"),
    *("beartype", "jaxtyping", "hypothesis", "hypothesis.extra.numpy", "pytest", "_pytest.doctest"),
)
LONGEST = 240.0  # Seconds of all tests for one change.
COLLECTING = 600.0  # Seconds that collecting all tests may take; without it everything is tried the slow way.


def settings(cache: Path) -> dict[str, str]:
    """Return the variables of the environment that a process of a workshop must begin with: JAX reads them once."""
    return {
        "OPENBLAS_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


class Workshop:
    """A copy of the tree at `root` in `folder`.

    Tests of the files `collected` are run in a process that has collected them. Without files there is no such process.
    """

    def __init__(self, root: Path, folder: Path, seconds: Mapping[str, float], collected: Sequence[str] = ()):
        self._tree = folder / "tree"
        self._forks = Forks(folder, seconds)
        ignored = shutil.ignore_patterns(".git", ".venv*", "out", "site", "dist", ".hypothesis", "__pycache__")
        shutil.copytree(root, self._tree, ignore=ignored)
        for name in LOADED:
            importlib.import_module(name)
        self._kills: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self._aside: set[str] = set()
        self._sound: set[str] = set()
        self._session = self._collect(collected, folder, seconds) if collected else None

    def _collect(self, files: Sequence[str], folder: Path, seconds: Mapping[str, float]) -> Connection | None:
        """Start the process that has collected everything; return the way to it, or None if there is none."""
        ours, its = multiprocessing.Pipe()
        own = folder / "collected"
        own.mkdir()
        if os.fork() == 0:
            ours.close()
            log = os.open(own / "collecting.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                self._enter()
                serve(self._tree, files, Forks(own, seconds), its)
            finally:
                os._exit(BROKEN)
        its.close()
        try:
            if ours.poll(COLLECTING):
                print(f"collected: {ours.recv()}", flush=True)
                return ours
        except EOFError:
            pass
        print(f"could not collect all tests; see {own}/collecting.log", flush=True)
        return None

    def _enter(self) -> None:
        """Make the copy the package that is imported, here and in the processes that tests start."""
        os.chdir(self._tree)
        found = [str(self._tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(found)
        sys.path[:0] = [str(self._tree / "src"), str(self._tree)]

    def try_change(self, mutant: Mutant, tests: Sequence[str], end: float) -> tuple[str, str, float]:
        """Return what the tests say of a change: a verdict, the test behind it, and the seconds.

        `end` is the time at which nobody waits for a verdict any more.
        """
        begin = time.monotonic()
        kills = self._kills[mutant.file]
        order = sorted((test for test in tests if test not in self._aside), key=lambda test: -kills[test])
        verdict, by = "survived", ""
        if self._session:
            verdict, by, order = self._try(mutant, order, end, collected=True)
        for batch in (order[:FIRST], order[FIRST:]):
            if batch and verdict == "survived":
                verdict, by, _ = self._try(mutant, batch, end, collected=False)
        return verdict, by, time.monotonic() - begin

    def _try(
        self, mutant: Mutant, tests: Sequence[str], end: float, *, collected: bool
    ) -> tuple[str, str, Sequence[str]]:
        """Return what some of the tests say: a verdict, the test behind it, and the tests that have not been asked."""
        path = self._tree / mutant.file
        sound = path.read_text(encoding="utf-8")
        changed = mutate(sound, mutant)
        while time.time() < end:
            tests = [test for test in tests if self._aside.isdisjoint((test, test.split("::")[0]))]
            until = min(end, time.time() + LONGEST)
            rest: Sequence[str] = ()
            try:
                _replace(path, changed)
                if collected:
                    reply = self._ask(Request(mutant, sound, tests, until, self._aside))
                    run, rest = reply.run, () if reply.whole and reply.run.code != BROKEN else tests
                else:
                    run = self._run(tests, until)
            finally:
                _replace(path, sound)
            if run.code in (0, NO_TESTS) or (run.code == BROKEN and collected and not run.test):
                return "survived", "", rest
            if run.code is None and not run.test:
                return ("survived", "not all tests were run", ()) if time.time() < end else ("not finished", "", ())
            failed = run.test or tests[0]
            if failed not in self._sound:
                if not self._passes(failed, end, collected=collected):
                    print(f"put aside, since it fails without a change: {failed}", flush=True)
                    self._aside.add(failed)
                    continue
                self._sound.add(failed)
            self._kills[mutant.file][failed] += 1
            return ("out of time" if run.code is None else "killed"), run.test or "import", ()
        return "not finished", "", ()

    def _passes(self, test: str, end: float, *, collected: bool) -> bool:
        """Return whether a test passes, or a file can be imported, where nothing is changed."""
        if collected and "::" in test:
            return self._ask(Request(None, "", [test], end)).run.code == 0
        return self._run([test], end, only_import="::" not in test).code == 0

    def _ask(self, request: Request) -> Reply:
        assert self._session is not None
        self._session.send(request)
        return self._session.recv()

    def _run(self, tests: Sequence[str], end: float, *, only_import: bool = False) -> Run:
        """Run pytest on tests in a child that loads the copy."""
        if not tests:
            return Run(NO_TESTS, "")

        def run(watch: Watch) -> int:
            import pytest

            self._enter()
            options = [*OPTIONS, "-x", *(["--collect-only"] if only_import else [])]
            files = dict.fromkeys(test.split("::")[0] for test in tests)
            code = int(pytest.main([*options, EMPTY, *files], plugins=[watch, _Chosen(tests, self._aside)]))
            ours = sys.modules.get("robustirl")
            if code == 0 and not (ours and str(ours.__file__).startswith(str(self._tree))):
                code, watch.failed = BROKEN, f"the tests were not those of {self._tree}"
            return code

        return self._forks.run(run, end)


class _Chosen:
    """A plugin of pytest: which tests are run, and in what order."""

    def __init__(self, tests: Sequence[str], aside: set[str]):
        self._tests, self._aside = tests, aside

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = [item for item in choose(items, self._tests) if item.nodeid not in self._aside]


def _replace(path: Path, text: str) -> None:
    """Write a source file, and forget what was compiled from it: Python looks at dates of whole seconds only."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()
