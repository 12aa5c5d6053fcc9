"""The mutants are what they say: one change each, in Python that can be read."""

import ast
import difflib

from torture.mutants import ROOT, mutants_of, mutate, noticing

NEWTON = ROOT / "src" / "robustirl" / "planning" / "newton.py"


def test_each_mutant_changes_one_thing():
    text = NEWTON.read_text()
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


def test_every_file_has_tests_that_ought_to_notice():
    for room in ("planning", "irl"):
        for path in (ROOT / "src" / "robustirl" / room).glob("*.py"):
            assert all((ROOT / test).exists() for test in noticing(str(path.relative_to(ROOT))))
