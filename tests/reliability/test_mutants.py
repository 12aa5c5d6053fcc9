"""The mutants are what they say: one change each, in Python that can be read; and the tool tells right from wrong."""

import ast
import collections
import difflib
import re
import subprocess
import sys
import types

import pytest

from robustirl._runtime import one_line, short_repr
from torture.choosing import Chooser
from torture.executed import Recorder, Table, digest, merge
from torture.mutants import by_room, draw, known_equivalents, read_table, write_table
from torture.mutations import ROOT, TUNING, changed_line, mutants_of, mutate, sources
from torture.patching import apply, difference, live_functions, reaches

SOURCES = ROOT / "src" / "robustirl"
NEWTON = SOURCES / "planning" / "solvers" / "newton.py"
FILES = sources()


def test_each_mutant_changes_one_thing():
    text = NEWTON.read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(text))
    found = list(mutants_of(NEWTON))
    assert len(found) > 10
    for mutant in found:
        changed = mutate(text, mutant)
        lines = [
            line
            for line in difflib.unified_diff(plain.splitlines(), changed.splitlines(), n=0, lineterm="")
            if line[0] in "+-" and line[:3] not in ("+++", "---")
        ]
        assert len(lines) == 2, mutant
        assert lines[1][1:].strip() == changed_line(text, mutant)


def test_the_tests_of_a_line_are_those_that_execute_it_its_own_and_the_quickest_come_first():
    file = "src/robustirl/_runtime/files.py"
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    first = lines.index("def one_line(error: BaseException) -> str:") + 1
    mutant = next(one for one in mutants_of(ROOT / file) if first < one.line < first + 10)
    executed = {
        f"{place}::{name}": {"seconds": seconds, "lines": {file: {function: [mutant.line - first]}}}
        for place, name, seconds, function in (
            ("tests/test_import.py", "other", 0, "printable"),
            ("tests/test_import.py", "slow", 5, "one_line"),
            ("tests/test_import.py", "quick", 1, "one_line"),
            ("tests/_runtime/test_files.py", "own", 9, "one_line"),
        )
    }
    tests = Chooser(Table(executed, {})).tests(mutant)
    assert tests[0] == "tests/_runtime/test_files.py::own"
    assert tests[-2:] == ["tests/test_import.py::quick", "tests/test_import.py::slow"]
    assert "tests/test_import.py::other" not in tests
    assert file in tests  # Its examples, of which nothing is known.


def test_tests_that_are_newer_than_the_table_are_chosen():
    file, tests = "src/robustirl/irl/arrivals.py", "tests/irl/test_arrivals.py"
    names = [node.name for node in ast.parse((ROOT / tests).read_text(encoding="utf-8")).body if hasattr(node, "name")]
    executed = {f"{tests}::{names[0]}": {"seconds": 1, "lines": {file: {"arrivals": [2]}}}}
    texts = {name: digest(ROOT / name) for name in (file, tests)}
    mutant = next(mutants_of(ROOT / file))
    assert {f"{tests}::{name}" for name in names} <= set(Chooser(Table(executed, texts)).tests(mutant))


def test_what_is_executed_is_recorded():
    recorder = Recorder()
    with recorder.recording():
        one_line(ValueError("no"))
    assert "one_line" in {code.co_qualname for code, _ in recorder.lines}
    executed = len(recorder.lines)
    short_repr(1)
    assert len(recorder.lines) == executed  # The recording has ended.


def test_what_is_there_to_be_tuned_is_left_alone_and_is_there():
    for name, constants in TUNING.items():
        path = SOURCES / f"{name}.py"
        lines = path.read_text(encoding="utf-8").splitlines()
        changed = [lines[mutant.line - 1] for mutant in mutants_of(path)]
        for constant in constants:
            assigned = re.compile(rf"({constant}|    {constant}: [\w |]+) = ")
            assert any(assigned.match(line) for line in lines)
            assert not any(assigned.match(line) for line in changed)
    steps = next(path for path in sorted((SOURCES / "irl").rglob("*.py")) if "PAPER_STEPS = 200" in path.read_text())
    assert "200 -> 201" in [mutant.change for mutant in mutants_of(steps)]


def test_a_sample_comes_from_all_rooms_and_is_the_same_every_time():
    everything = [mutant for path in FILES[::4] for mutant in mutants_of(path)]
    sample = draw(everything, 300, seed=0)
    assert sample == draw(everything, 300, seed=0) != draw(everything, 300, seed=1)
    assert len(set(sample)) == len(sample) == 300
    held, drawn = (collections.Counter(mutant.file.split("/")[2] for mutant in some) for some in (everything, sample))
    for room, count in held.items():  # Within four deviations of a fair share.
        fair = 300 * count / len(everything)
        assert abs(drawn[room] - fair) <= 4 * fair**0.5 + 1


@pytest.mark.slow
def test_what_is_said_to_be_equivalent_exists():
    lines = {
        (mutant.file, changed_line((ROOT / mutant.file).read_text(encoding="utf-8"), mutant))
        for file in {file for file, _ in known_equivalents()}
        for mutant in mutants_of(ROOT / file)
    }
    assert known_equivalents().keys() <= lines
    assert all(reason.endswith(".") for reason in known_equivalents().values())


def test_a_table_comes_back_and_is_counted(tmp_path):
    row = {"file": "src/robustirl/irl/mce.py", "node": "1", "line": "2", "change": "1 -> 2", "mutant": "a, b = 2"}
    rows = [{**row, "verdict": verdict, "by": "", "seconds": "3"} for verdict in ("killed", "killed", "survived")]
    write_table(rows, tmp_path / "new" / "table.csv")
    assert read_table(tmp_path / "new" / "table.csv") == rows
    assert "| irl | 3 | 2 | 1 | 0 | 0 |" in by_room(rows)


@pytest.mark.slow
def test_a_wrong_number_is_noticed(tmp_path):
    command = [sys.executable, "-m", "torture.mutants", "--count", "3", "--out", str(tmp_path / "table.csv")]
    command.append(str(SOURCES / "irl" / "optimizers.py"))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["verdict"] for row in read_table(tmp_path / "table.csv")].count("killed") >= 2


def test_functions_change_where_they_are(tmp_path):
    text = "LIMIT = 2\n\ndef outer(x=1):\n    def inner(y):\n        return x + y * 3\n    return inner\n"
    path = tmp_path / "module.py"
    module = types.ModuleType("module")
    exec(compile(text, path, "exec"), module.__dict__)
    before, kept = module.outer, module.outer(1)
    functions = live_functions(str(tmp_path))
    assert {code.co_name for code in functions} == {"outer", "inner"}
    inside = difference(ast.parse(text), ast.parse(text.replace("y * 3", "y * 4")), str(path))
    assert reaches(inside, functions)
    assert not inside.at_import
    apply(inside, functions)
    assert (before(1)(10), kept(10)) == (41, 41)  # Whoever held the function holds the changed one.
    for loaded in ("LIMIT = 3", "x=2"):  # Constants and defaults are there since the module was loaded.
        changed = text.replace(f"{loaded[:-1]}{int(loaded[-1]) - 1}", loaded)
        found = difference(ast.parse(text), ast.parse(changed), str(path))
        assert found.at_import
        assert not found.codes
    assert not reaches(inside, {})


def test_a_source_keeps_its_old_digest_while_tests_of_the_old_record_are_left():
    old = Table(
        {"tests/test_import.py::one": {}, "tests/b.py::two": {}},
        {"src/x.py": "1", "tests/test_import.py": "1", "tests/b.py": "1"},
    )
    new = Table({"tests/test_import.py::three": {}}, {"src/x.py": "2", "src/y.py": "2", "tests/test_import.py": "2"})
    some = merge(old, new, {"tests/test_import.py"})
    assert set(some.tests) == {"tests/b.py::two", "tests/test_import.py::three"}
    assert some.texts == {"src/x.py": "1", "src/y.py": "2", "tests/test_import.py": "2", "tests/b.py": "1"}
    every = merge(old, Table(new.tests, {**new.texts, "tests/b.py": "2"}), {"tests/test_import.py", "tests/b.py"})
    assert every.texts == {"src/x.py": "2", "src/y.py": "2", "tests/test_import.py": "2", "tests/b.py": "2"}


def test_where_a_file_has_changed_since_the_table_its_tests_are_taken_whole():
    file, tests = "src/robustirl/irl/arrivals.py", "tests/irl/test_arrivals.py"
    mutant = next(mutants_of(ROOT / file))
    executed = {f"{tests}::{name}": {"seconds": 1, "lines": {file: {"arrivals": [2]}}} for name in ("a", "b")}
    now = {name: digest(ROOT / name) for name in (file, tests)}
    assert tests not in Chooser(Table(executed, now)).tests(mutant)
    for changed in (file, tests):
        assert tests in Chooser(Table(executed, now | {changed: "another"})).tests(mutant)
