"""Mutants: does a test notice when a line of the planners or the learner is wrong?

    python -m torture.mutants --count 15 --seed 0           # A sample of the mutants of planning/ and irl/.
    python -m torture.mutants --list src/robustirl/planning/newton.py

Each mutant is one change in one file, applied to a copy of the tree: a comparison turned round, an operator exchanged,
a number off by a little, a condition negated, a `min` for a `max`. The tests of the same room are run on it, fast ones
only, until one fails (killed) or all pass (survived: look at it; some mutants change nothing that matters).
"""

import argparse
import ast
import collections
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("planning", "irl")
BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult}
COMPARE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
# Where the tests of a file are, if not in a file or folder of its name.
ELSEWHERE = {
    "operators": ("planning/test_operators.py", "planning/test_value_iteration.py"),
    "verdict": ("planning/test_value_iteration.py", "planning/test_newton.py"),
    "loop": ("irl/test_mce.py",),
    "result": ("irl/test_mce.py", "irl/test_callbacks.py"),
    "archive": ("irl/test_saving.py",),
    "encoding": ("irl/test_saving.py",),
    "evidence": ("irl/test_estimator.py",),
    "summary": ("irl/test_estimator.py",),
}


class Mutant(NamedTuple):
    """A change: the place of a node in the walk over a file, where that is in the text, and what happens to it."""

    file: str
    node: int
    line: int
    change: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    for place, node in enumerate(ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
        if (change := _change(node)) is not None:
            yield Mutant(str(path.relative_to(ROOT)), place, getattr(node, "lineno", 0), change[0])


def _change(node: ast.AST):
    """What can be done to a node: a word for it, and the deed."""
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        other = BINARY[type(node.op)]
        return f"{type(node.op).__name__} -> {other.__name__}", lambda: setattr(node, "op", other())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        other = COMPARE[type(node.ops[0])]
        return f"{type(node.ops[0]).__name__} -> {other.__name__}", lambda: node.ops.__setitem__(0, other())
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 1e-3
        return f"{node.value!r} -> {value!r}", lambda: setattr(node, "value", value)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return f"{node.value} -> {not node.value}", lambda: setattr(node, "value", not node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        return f"{type(node.op).__name__} dropped", lambda: setattr(node, "op", ast.UAdd())
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return f"{node.attr} -> {NAMES[node.attr]}", lambda: setattr(node, "attr", NAMES[node.attr])
    if isinstance(node, ast.If | ast.IfExp):
        return "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    return None


def mutate(text: str, mutant: Mutant) -> str:
    """The file with the change."""
    tree = ast.parse(text)
    change = _change(list(ast.walk(tree))[mutant.node])
    assert change is not None
    change[1]()
    return ast.unparse(ast.fix_missing_locations(tree))


def noticing(file: str) -> list[str]:
    """The tests that ought to notice: those of the file's name, else those named above, else those of its room."""
    path = Path(file)
    room, name = path.parts[-2], path.stem
    if name in ELSEWHERE:
        return [f"tests/{test}" for test in ELSEWHERE[name]]
    own = sorted((ROOT / "tests" / room).glob(f"test_{name}*.py"))
    return [str(test.relative_to(ROOT)) for test in own] or [f"tests/{room}"]


def try_mutant(mutant: Mutant, tree: Path, limit: float) -> tuple[str, float]:
    """Whether the tests noticed, and how long it took them."""
    path = tree / mutant.file
    sound = path.read_text(encoding="utf-8")
    begin = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        path.write_text(mutate(sound, mutant), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*command, *noticing(mutant.file)],
            cwd=tree,
            env=environment,
            capture_output=True,
            timeout=limit,
            check=False,
        )
        verdict = {0: "survived", 1: "killed", 2: "killed"}.get(done.returncode, f"pytest ended with {done.returncode}")
    except subprocess.TimeoutExpired:
        verdict = "out of time"  # Endless work is a way to notice, but so is a slow machine: look at it.
    finally:
        path.write_text(sound, encoding="utf-8")
    return verdict, time.monotonic() - begin


def main() -> int:
    """Try a sample of mutants, print each, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="by default all of planning/ and irl/")
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600, help="seconds a mutant")
    parser.add_argument("--list", action="store_true", help="say what there is, and do nothing")
    parser.add_argument("--out", type=Path, default=Path("out/torture/mutants.csv"))
    given = parser.parse_args()
    files = [path.resolve() for path in given.files]
    files = files or [path for room in ROOMS for path in sorted((ROOT / "src" / "robustirl" / room).glob("*.py"))]
    everything = [mutant for path in files for mutant in mutants_of(path)]
    if given.list:
        for mutant in everything:
            print(f"{mutant.file}:{mutant.line}: {mutant.change}")
        return 0
    sample = random.Random(given.seed).sample(everything, min(given.count, len(everything)))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv*", "out", ".hypothesis"))
        for mutant in sample:
            verdict, seconds = try_mutant(mutant, tree, given.limit)
            rows.append((*mutant[:1], *mutant[2:], verdict, f"{seconds:.0f}"))
            print(f"{mutant.file}:{mutant.line}: {mutant.change}: {verdict} in {seconds:.0f} s", flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("w", newline="") as file:
        csv.writer(file).writerows([("file", "line", "change", "verdict", "seconds"), *rows])
    counts = collections.Counter(row[3] for row in rows)
    print(f"of {len(everything)} mutants {len(rows)} were tried: {', '.join(f'{n} {v}' for v, n in counts.items())}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
