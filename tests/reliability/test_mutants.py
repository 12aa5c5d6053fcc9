"""The mutants are what they say: one change each, in Python that can be read; and the tool tells right from wrong."""

import ast
import collections
import difflib
import re
import subprocess
import sys

import pytest

from torture.mutants import (
    ROOT,
    TUNING,
    by_file,
    changed_line,
    draw,
    known_equivalents,
    mutants_of,
    mutate,
    noticing,
    read_table,
    sources,
    write_table,
)

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


def test_every_file_has_tests_that_ought_to_notice():
    for path in FILES:
        (own, *first), *wider = noticing(str(path.relative_to(ROOT)))
        assert ROOT / own == path
        assert first
        assert all((ROOT / test).exists() for stage in (first, *wider) for test in stage)


def test_what_is_there_to_be_tuned_is_left_alone_and_is_there():
    for name, constants in TUNING.items():
        path = SOURCES / f"{name}.py"
        lines = path.read_text(encoding="utf-8").splitlines()
        changed = [lines[mutant.line - 1] for mutant in mutants_of(path)]
        for constant in constants:
            assigned = re.compile(rf"({constant}|    {constant}: \w+) = ")
            assert any(assigned.match(line) for line in lines)
            assert not any(assigned.match(line) for line in changed)
    steps = next(path for path in sorted((SOURCES / "irl").rglob("*.py")) if "PAPER_STEPS = 200" in path.read_text())
    assert "200 -> 201" in [mutant.change for mutant in mutants_of(steps)]


def test_a_sample_is_fair_to_every_file_and_the_same_every_time():
    everything = [mutant for path in FILES for mutant in mutants_of(path)]
    held = collections.Counter(mutant.file for mutant in everything)
    sample = draw(everything, 100, seed=0)
    assert sample == draw(everything, 100, seed=0) != draw(everything, 100, seed=1)
    assert len(set(sample)) == len(sample)
    drawn = collections.Counter(mutant.file for mutant in sample)
    assert drawn.keys() == held.keys()
    assert all(abs(drawn[file] - 100 * held[file] / len(everything)) <= 1 for file in held)


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
    assert "| irl/mce.py | 3 | 2 | 1 | 0 | 0 |" in by_file(rows)


@pytest.mark.slow
def test_a_wrong_number_is_noticed(tmp_path):
    # All of the optimizers' numbers, each of which a test pins down.
    command = [sys.executable, "-m", "torture.mutants", "--count", "3", "--out", str(tmp_path / "table.csv")]
    command.append(str(SOURCES / "irl" / "optimizers.py"))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["verdict"] for row in read_table(tmp_path / "table.csv")] == ["killed"] * 3
    assert "passed in" in done.stdout  # As they are, before anything is changed.
