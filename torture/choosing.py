"""Choose the tests that ought to notice a change: those that execute its line; its own and the quickest come first.

What a test executes is in the table of `torture.executed`. A program that one test of a file has compiled is not traced
again for the next, so the tests that follow in that file are chosen as well, after the others. Of test files that are
not in the table, or have changed since, those of the changed file's name and those that name what it defines are taken
whole. Where the source file has changed since, the tests of its name are taken whole, too.
"""

import ast
import collections
import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType

from torture.executed import Table, digest
from torture.mutations import ROOT, Mutant, place_of

SECONDS = 60.0  # Of tests for one change, as long as they take where nothing is wrong, besides those of its own name.
FOLLOWING_SECONDS = 30.0  # Of tests that follow one that executes the line.
DEFAULTS = "tests/test_defaults.py"  # Looks at the headers of functions and the fields of classes, executing neither.
MOST_FILES = 4  # That are not in the table.
Index = Mapping[tuple[str, str], Mapping[int, Sequence[str]]]


class Chooser:
    """Knows what tests execute."""

    def __init__(self, table: Table):
        executed = {test: kept for test, kept in table.tests.items() if (ROOT / test.split("::")[0]).exists()}
        self.seconds = {test: float(kept["seconds"]) for test, kept in executed.items()}
        self._order = {test: place for place, test in enumerate(executed)}
        self._files = {file for file in (test.split("::")[0] for test in executed) if _unchanged(table, file)}
        self._unchanged = {file for file in table.texts if _unchanged(table, file)}
        self._index: dict[tuple[str, str], dict[int, list[str]]] = collections.defaultdict(
            lambda: collections.defaultdict(list)
        )
        for test, kept in executed.items():
            for file, functions in kept["lines"].items():
                for name, offsets in functions.items():
                    for offset in offsets:
                        self._index[file, name][offset].append(test)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return tests by their names, and files of tests that are not in the table."""
        path = Path(mutant.file)
        own = {mutant.file, str(Path("tests", *path.parts[2:-1], f"test_{path.stem.lstrip('_')}.py"))}
        found = self._executing(mutant)
        executing = sorted(found, key=lambda test: (self.seconds[test], test))
        named = [test for test in executing if test.split("::")[0] in own]
        following = self._following(found)
        beside = [test for test in following if test.split("::")[0] in own]  # They may need the same program.
        named += self._within(beside, FOLLOWING_SECONDS) if beside else []
        chosen = [*self._within(executing, SECONDS), *self._within(following, FOLLOWING_SECONDS)]
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        header = [DEFAULTS] if _assigned(text, mutant.line) or _defined(text, mutant.line) else []
        return list(dict.fromkeys([*header, *named, *self._by_name(mutant), *chosen]))

    def _within(self, tests: Sequence[str], seconds: float) -> list[str]:
        """Return the first tests, as many as can be run in that time, and one at least."""
        spent = itertools.accumulate(self.seconds[test] for test in tests)
        return [
            test
            for place, (test, so_far) in enumerate(zip(tests, spent, strict=True))
            if not place or so_far <= seconds
        ]

    def _following(self, tests: Collection[str]) -> list[str]:
        """Return the tests that follow one of these in its file, the quickest first."""
        first: dict[str, int] = {}
        for test in tests:
            file = test.split("::")[0]
            first[file] = min(first.get(file, self._order[test]), self._order[test])
        found = [test for test, place in self._order.items() if place > first.get(test.split("::")[0], place)]
        return sorted((test for test in found if test not in tests), key=lambda test: (self.seconds[test], test))

    def _executing(self, mutant: Mutant) -> set[str]:
        """Return the tests that execute the line; else its function; else a line with the same name; else the file."""
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        functions = [found for found in _functions(text, mutant.file) if mutant.line in found[2]]
        inside = [found for found in functions if found[0] != "<module>"]
        exact = {
            test
            for name, first, _ in inside
            for test in self._index.get((mutant.file, name), {}).get(mutant.line - first, ())
        }
        if exact:
            return exact
        named = {name for name in (_assigned(text, mutant.line), _defined(text, mutant.line)) if name}
        about = [found for found in _functions(text, mutant.file) if found[0].rpartition(".")[2] in named]
        lines = text.splitlines()
        for name, first, inner in _functions(text, mutant.file):
            if any(re.search(rf"\b{one}\b", lines[line - 1]) for one in named for line in inner if name != "<module>"):
                about.append((name, first, inner))
        for candidates in (inside, about):
            tests = {
                test
                for name, _, _ in candidates
                for found in self._index.get((mutant.file, name), {}).values()
                for test in found
            }
            if tests:
                return tests
        return {
            test
            for (file, _), lines in self._index.items()
            if file == mutant.file
            for found in lines.values()
            for test in found
        }

    def _by_name(self, mutant: Mutant) -> list[str]:
        """Return files of tests that are not in the table: its own examples and tests, those that name what it has."""
        path = Path(mutant.file)
        named = Path("tests", *path.parts[2:-1], f"test_{path.stem.lstrip('_')}.py")
        own = [mutant.file, *([str(named)] if (ROOT / named).exists() else [])]
        text = (ROOT / path).read_text(encoding="utf-8")
        names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        public = [name for name in names if not name.startswith("_")]
        module = f"robustirl.{place_of(path).replace('/', '.')}"
        counts = collections.Counter[str]()
        for test in _test_files():
            words = _words(test)
            counts[str(test.relative_to(ROOT))] = sum(words[name] for name in public) + 5 * (module in _text(test))
        near = [file for file, count in counts.most_common(2 * MOST_FILES) if count]
        about = list(dict.fromkeys([*own, *near]))
        if not any(
            file == mutant.file for file, _ in self._index
        ):  # Newer than the table: what is near is taken whole.
            beside = [str(test.relative_to(ROOT)) for test in _test_files() if test.parent == (ROOT / named).parent]
            return list(dict.fromkeys([*about[:MOST_FILES], *beside]))
        unknown = [file for file in about if file not in self._files]
        changed = own if mutant.file not in self._unchanged else []
        return list(dict.fromkeys([*changed, *self._newer(about), *unknown[:MOST_FILES]]))

    def _newer(self, files: Sequence[str]) -> list[str]:
        """Return the quick tests of known files that are not in the table."""
        known = {test.split("[")[0] for test in self.seconds}
        found = [f"{file}::{name}" for file in files if file in self._files for name in _quick_tests(ROOT / file)]
        return [test for test in found if test not in known]


def _unchanged(table: Table, file: str) -> bool:
    return table.texts.get(file, "") == digest(ROOT / file)


@functools.cache
def _test_files() -> tuple[Path, ...]:
    return tuple(path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "browser" not in path.parts)


@functools.cache
def _quick_tests(path: Path) -> tuple[str, ...]:
    """Return the names of the tests of a file that are not marked slow."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.name.startswith("test_") else []
    if any("pytestmark" in ast.unparse(node) and "slow" in ast.unparse(node) for node in body):
        return ()
    tests = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return tuple(node.name for node in tests if not any("mark.slow" in ast.unparse(d) for d in node.decorator_list))


@functools.cache
def _words(path: Path) -> collections.Counter[str]:
    return collections.Counter(re.findall(r"\w+", _text(path)))


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _functions(text: str, file: str) -> list[tuple[str, int, frozenset[int]]]:
    """Return the functions of a file: name, first line, all lines that can be executed."""

    def walk(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from walk(constant)

    return [
        (code.co_qualname, code.co_firstlineno, frozenset(line for *_, line in code.co_lines() if line))
        for code in walk(compile(text, file, "exec"))
    ]


def _assigned(text: str, line: int) -> str:
    """Return the name, or the first, that a line at the top of a file, or of a class, assigns to."""
    tree = ast.parse(text)
    blocks = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for node in [node for block in blocks for node in block]:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= (node.end_lineno or 0):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            target = target.elts[0] if isinstance(target, ast.Tuple) else target
            return target.id if isinstance(target, ast.Name) else ""
    return ""


def _defined(text: str, line: int) -> str:
    """Return the function or the class whose header (defaults, decorators) holds a line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line < node.body[0].lineno:
                return node.name
    return ""
