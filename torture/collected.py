"""A session of pytest that has collected fast tests, and runs some of them for one change after the other.

The change is made in a child of the session, in the functions as they are loaded (`torture.patching`): nothing is
imported and nothing is collected again, so that a verdict takes as long as the tests alone.
"""

import ast
import gc
import importlib
import os
import sys
from collections.abc import Collection, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from torture.forked import BROKEN, EMPTY, FAILED, OPTIONS, Forks, Run, Watch, choose
from torture.mutations import Mutant, mutated_tree
from torture.patching import Patch, apply, called_in, difference, live_functions, reaches

FIRST = 15  # Tests that are run before the files of the others are collected.


class Request(NamedTuple):
    """Tests to be run until a time, with a change of a text or without one."""

    mutant: Mutant | None
    text: str
    tests: Sequence[str]
    end: float
    aside: Collection[str] = ()  # Tests that are not run, though their file is named.


class Reply(NamedTuple):
    """How the run went, and whether all was as if the changed file had been loaded."""

    run: Run
    whole: bool


def serve(tree: Path, files: Sequence[str], forks: Forks, pipe: Connection) -> None:
    """Collect the tests of some files of a tree, and answer requests until the other end of the pipe is closed."""
    import pytest

    options = [*OPTIONS, "--continue-on-collection-errors", "--tb=no", EMPTY, *files]
    with _Calls(str(tree / "src")) as calls, _Idle() as idle:
        pytest.main(options, plugins=[_Session(tree, forks, pipe, calls, idle)])


class _Idle:
    """JAX before its start: whatever would start it, in this context and until `end`, fails."""

    def __enter__(self) -> "_Idle":
        self._bridge: Any = importlib.import_module("jax._src.xla_bridge")
        self._start, self._bridge.backends = self._bridge.backends, self._refuse
        return self

    def _refuse(self) -> Any:
        raise RuntimeError("JAX was started before the fork.")

    def holds(self) -> bool:
        """Return whether JAX has not been started another way."""
        return not self._bridge._backends

    def end(self) -> None:
        """Let JAX start."""
        self._bridge.backends = self._start

    def __exit__(self, *_: object) -> None:
        self.end()


class _Calls:
    """The functions of the package that are called in a context: those that are called while modules are loaded."""

    def __init__(self, folder: str):
        self._folder, self.codes = folder, set[CodeType]()

    def __enter__(self) -> "_Calls":
        sys.settrace(self._note)
        return self

    def _note(self, frame: FrameType, *_: object) -> None:
        if frame.f_code.co_filename.startswith(self._folder):
            self.codes.add(frame.f_code)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)


class _Session:
    """The plugin: takes the place of pytest's own loop over the tests."""

    def __init__(self, tree: Path, forks: Forks, pipe: Connection, calls: _Calls, idle: _Idle):
        self._tree, self._forks, self._pipe, self._calls, self._idle = tree, forks, pipe, calls, idle

    def pytest_runtestloop(self, session: Any) -> bool:
        """Answer requests."""
        sys.settrace(None)
        if not self._idle.holds():
            raise RuntimeError("JAX was started before the fork.")
        functions = live_functions(str(self._tree / "src"))
        collected = list(session.items)
        known = {item.nodeid.split("::")[0] for item in collected}
        gc.collect()
        gc.freeze()  # Otherwise every child would copy what it walks through.
        threads = len(list(Path("/proc/self/task").iterdir()))
        self._pipe.send(f"{len(collected)} tests, {threads} threads")
        while True:
            try:
                request: Request = self._pipe.recv()
            except EOFError:
                os._exit(0)
            patch = self._patch(request)
            loaded = request.mutant is not None and _module(request.mutant) in sys.modules
            if loaded and not (patch.codes and reaches(patch, functions)):
                self._pipe.send(Reply(Run(BROKEN, ""), False))
                continue

            def tests(watch: Watch, request: Request = request, patch: Patch = patch) -> int:
                self._idle.end()
                session.config.pluginmanager.register(watch)
                apply(patch, functions)
                for some in batches(request.tests, known):
                    files = dict.fromkeys(name.split("::")[0] for name in some)
                    unknown = [file for file in files if file not in known]
                    found = [*collected, *(_collect(session, unknown) if unknown else [])]
                    chosen = [item for item in choose(found, some) if item.nodeid not in request.aside]
                    for item, following in zip(chosen, [*chosen[1:], None], strict=False):
                        if not watch.failed:
                            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if watch.failed:
                        return FAILED
                return 0

            run = self._forks.run(tests, request.end)
            late = loaded and (patch.at_import or called_in(self._calls.codes, patch))
            self._pipe.send(Reply(run, not late))

    def _patch(self, request: Request) -> Patch:
        if request.mutant is None:
            return Patch({}, False)
        changed = mutated_tree(request.text, request.mutant)
        return difference(ast.parse(request.text), changed, str(self._tree / request.mutant.file))


def _collect(session: Any, files: Sequence[str]) -> Sequence[Any]:
    """Return the tests of further files, with the fixtures of the folders they are in.

    Pytest gives fixtures to the folder that it had collected when it loaded them, and every collection makes new ones.
    """
    for name, plugin in session.config.pluginmanager.list_name_plugin():
        if name.endswith("conftest.py"):
            session._fixturemanager.pytest_plugin_registered(plugin, name)
    return session.perform_collect(files)


def batches(names: Sequence[str], known: Collection[str]) -> list[Sequence[str]]:
    """Return tests in the order in which they are run: the first few, those of known files, the others.

    Those of other files have to be collected, since they start JAX when they are imported: that takes a while.

    Example:
        >>> batches([*"a" * FIRST, "b::one", "a::two", "b::three"], {"a"})[1:]
        [['a::two'], ['b::one', 'b::three']]
    """
    rest = names[FIRST:]
    there, elsewhere = ([name for name in rest if (name.split("::")[0] in known) is here] for here in (True, False))
    return [names[:FIRST], there, elsewhere]


def _module(mutant: Mutant) -> str:
    return ".".join(Path(mutant.file).with_suffix("").parts[1:])
