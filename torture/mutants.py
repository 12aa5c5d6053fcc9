"""Mutants: does a test notice when a line of the planners or the learner is wrong?

    python -m torture.mutants --count 110 --seed 0          # A sample of the mutants of planning/ and irl/.
    python -m torture.mutants --again out/torture/mutants.csv   # Those of an earlier sample that nobody had noticed.
    python -m torture.mutants --list src/robustirl/planning/solvers/newton.py

Each mutant is one change in one file, applied to a copy of the tree: a comparison turned round, an operator exchanged,
a number off by a little, a condition negated, an `and` for an `or`, a `min` for a `max`. Tests that ought to notice are
run on it until one fails (killed) or all pass (survived). Constants that are there to be tuned are left alone (TUNING);
survivors that were looked at and change nothing a user could notice are in `equivalent_mutants.csv`, with the reason.
"""

import argparse
import ast
import collections
import csv
import functools
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torture.workshop import Workshop

ROOT = Path(__file__).parents[1]
ROOMS = ("planning", "irl")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.csv")
BINARY = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,  # But not the other way: most `|` are those of types.
}
COMPARE = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
# Numbers that decide how fast an answer comes, and not what it is: another value is as right.
TUNING = {
    "planning/columns": ("LOW_TIES",),
    "planning/linear/krylov": (
        *("REDUCTION", "MOST_INNER", "SWEPT_REDUCTION", "UNROLLED"),
        *("F32_SWEEP_MAX_DISCOUNT", "F32_KRYLOV_MAX_DISCOUNT", "MOST_REFINEMENTS"),
    ),
    "planning/linear/dense": ("LARGEST_MATRIX", "STRAIGHT", "UPDATE_MAX_ERROR"),
    "planning/solve": ("SWEEP_MAX_DISCOUNT", "SPARSE_MIN_DISCOUNT", "LARGEST_INVERTED", "LARGEST_FACTORED"),
    "planning/solvers/base": ("NEWTON_MAX_STEPS",),
    "planning/solvers/newton": ("chord_rate", "ahead_sweeps", "ahead_rounds"),
    "planning/solvers/newton_krylov": (
        *("sweeps", "inner_tol", "max_inner", "f32_tol", "f64_inner_tol", "patience", "doubling"),
    ),
    "planning/solvers/newton_sparse": ("sweeps", "patience"),
}
# Tests besides those of a file's own name; of a file that has none, the first of these stand in for them.
ELSEWHERE = {
    "planning/_deprecated": ("planning/test_solve.py",),
    "planning/backward_induction": ("planning/solvers/test_value_iteration.py",),
    "planning/columns": ("planning/solvers/test_value_iteration.py",),
    "planning/evaluation": ("planning/test_action_rewards.py",),
    "planning/iterates": ("planning/solvers/test_newton_krylov.py", "planning/solvers/test_newton.py"),
    "planning/linear/dense": ("planning/test_evaluation.py", "planning/test_large.py"),
    "planning/linear/krylov": ("planning/test_large.py",),
    "planning/operators": ("planning/test_action_rewards.py",),
    "planning/problem": ("planning/test_solve.py",),
    "planning/solvers/base": ("planning/test_solve.py",),
    "planning/solvers/newton": ("planning/solvers/test_value_iteration.py",),
    "planning/solvers/newton_krylov": ("planning/test_solve.py",),
    "planning/solvers/newton_sparse": ("planning/test_solve.py",),
    "planning/verdict": ("planning/solvers/test_value_iteration.py", "planning/test_action_rewards.py"),
    "irl/_archive": ("irl/test_saving.py",),
    "irl/_batch": ("irl/mce/test_fit.py",),
    "irl/_callbacks": ("irl/mce/test_callbacks.py",),
    "irl/_encoding": ("irl/test_saving.py",),
    "irl/_fit_encoding": ("irl/test_saving.py",),
    "irl/evidence": ("irl/test_estimator.py",),
    "irl/likelihood": ("irl/test_alpha_selection.py",),
    "irl/mce/loop": ("irl/mce/test_fit.py", "irl/mce/test_callbacks.py"),
    "irl/mce/result": ("irl/test_result.py",),
    "irl/relative_entropy/config": ("irl/relative_entropy/test_fit.py",),
    "irl/relative_entropy/loop": ("irl/relative_entropy/test_fit.py", "irl/relative_entropy/test_callbacks.py"),
    "irl/relative_entropy/result": ("irl/test_result.py",),
    "irl/summary": ("irl/test_estimator.py",),
}
COLUMNS: tuple[str, ...] = ("file", "node", "line", "change", "mutant", "verdict", "by", "seconds")
VERDICTS = ("killed", "survived", "equivalent", "out of time")


class Mutant(NamedTuple):
    """A change: the place of a node in the walk over a file, where that is in the text, and what happens to it."""

    file: str
    node: int
    line: int
    change: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Return every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tuned = {id(node) for constant in _tuning(tree, path) for node in ast.walk(constant)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in tuned and (change := _change(node)) is not None:
            yield Mutant(str(path.relative_to(ROOT)), place, getattr(node, "lineno", 0), change[0])


def _tuning(tree: ast.Module, path: Path) -> list[ast.stmt]:
    """Return the constants and the fields of classes that are there to be tuned."""
    names = TUNING.get(_place(path), ()) if path.is_relative_to(ROOT / "src") else ()
    fields = [line for block in tree.body if isinstance(block, ast.ClassDef) for line in block.body]
    assigned = {line: line.targets[0] for line in tree.body if isinstance(line, ast.Assign)}
    assigned |= {line: line.target for line in fields if isinstance(line, ast.AnnAssign)}
    return [line for line, target in assigned.items() if isinstance(target, ast.Name) and target.id in names]


def _change(node: ast.AST):
    """Return what can be done to a node: a name and a function for each."""
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        other = BINARY[type(node.op)]
        return f"{type(node.op).__name__} -> {other.__name__}", lambda: setattr(node, "op", other())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
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
    """Return the file with the change."""
    tree = ast.parse(text)
    change = _change(list(ast.walk(tree))[mutant.node])
    assert change is not None
    change[1]()
    return ast.unparse(ast.fix_missing_locations(tree))


def changed_line(text: str, mutant: Mutant) -> str:
    """Return the line that the change makes: what a mutant is known by, wherever it moves in its file."""
    lines = zip(_plain(text), mutate(text, mutant).splitlines(), strict=True)
    return next(after.strip() for before, after in lines if after != before)


@functools.cache
def _plain(text: str) -> list[str]:
    return ast.unparse(ast.parse(text)).splitlines()


def _place(path: Path) -> str:
    """Return where a file is in the package, without its suffix."""
    parts = path.with_suffix("").parts
    return "/".join(parts[parts.index("robustirl") + 1 :])


def sources() -> list[Path]:
    """Return the files whose mutants are drawn."""
    found = [path for room in ROOMS for path in sorted((ROOT / "src" / "robustirl" / room).rglob("*.py"))]
    return [path for path in found if path.name != "__init__.py"]


def noticing(file: str) -> list[list[str]]:
    """Return the tests that ought to notice.

    The file's own examples and the tests of its name, then those named above.
    """
    path = Path(file)
    room, name = Path(*path.parts[2:-1]), path.stem
    own = [file, f"tests/{room}/test_{name}.py"]
    wider = [f"tests/{test}" for test in ELSEWHERE.get(name, ())]
    if not (ROOT / own[1]).exists():
        own[1:] = wider[:1] or [f"tests/{room}"]
        wider = wider[1:]
    return [own, wider] if wider else [own]


def draw(everything: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a random sample in which every file has its share (but at least one), in random order."""
    files = collections.Counter(mutant.file for mutant in everything)
    sample = []
    for file, held in files.items():
        quota = min(held, max(1, round(count * held / len(everything))))
        own = [mutant for mutant in everything if mutant.file == file]
        sample += random.Random(f"{seed} {file}").sample(own, quota)
    return random.Random(seed).sample(sample, len(sample))


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table as they were written."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_table(rows: Sequence[dict[str, str]], path: Path) -> None:
    """Write the table as CSV; after every mutant, so that an interrupt loses nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def by_file(rows: Iterable[dict[str, str]]) -> str:
    """Return the verdicts, counted file by file, as Markdown."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[f"{_place(Path(row['file']))}.py"][row["verdict"]] += 1
    everything = sum(counts.values(), collections.Counter())
    lines = [f"| file | tried | {' | '.join(VERDICTS)} |", "| --- |" + " ---: |" * (len(VERDICTS) + 1)]
    for file, found in [*sorted(counts.items()), ("all", everything)]:
        lines.append(f"| {file} | {found.total()} | {' | '.join(str(found[v]) for v in VERDICTS)} |")
    return "\n".join(lines)


def known_equivalents() -> dict[tuple[str, str], str]:
    """Return survivors that were looked at and found to change nothing that matters, and why."""
    return {(row["file"], row["mutant"]): row["why"] for row in read_table(EQUIVALENT)}


def main() -> int:
    """Try a sample of mutants, or those of an earlier one that nobody noticed; print each, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="by default all of planning/ and irl/")
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="say what there is, and do nothing")
    parser.add_argument("--again", type=Path, help="a table of an earlier run, to try its survivors again")
    parser.add_argument("--stages", type=int, default=2, help="1 leaves out the wider tests; --again makes up for it")
    parser.add_argument("--cache", type=Path, help="where compiled programs are kept; by default for this run only")
    parser.add_argument("--out", type=Path, default=Path("out/torture/mutants.csv"))
    given = parser.parse_args()
    files = [path.resolve() for path in given.files]
    files = files or sources()
    everything = [mutant for path in files for mutant in mutants_of(path)]
    if given.list:
        for mutant in everything:
            print(f"{mutant.file}:{mutant.line}: {mutant.change}")
        return 0
    rows = [] if given.again is None else read_table(given.again)
    equivalent = known_equivalents()
    for row in rows:
        if row["verdict"] == "survived" and (row["file"], row["mutant"]) in equivalent:
            row |= {"verdict": "equivalent", "by": equivalent[row["file"], row["mutant"]]}
    kept = [row for row in rows if row["verdict"] in ("killed", "equivalent")]
    sample = draw(everything, given.count, given.seed)
    if given.again is not None:
        wanted = {(row["file"], int(row["node"])) for row in rows if row not in kept}
        sample = [mutant for mutant in everything if (mutant.file, mutant.node) in wanted]
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(ROOT, Path(folder), given.cache or Path(folder) / "compiled")
        for mutant in sample:
            text = (ROOT / mutant.file).read_text(encoding="utf-8")
            name = changed_line(text, mutant)
            verdict, by, seconds = shop.try_change(
                mutant.file, mutate(text, mutant), noticing(mutant.file)[: given.stages]
            )
            if verdict == "survived" and (mutant.file, name) in equivalent:
                verdict, by = "equivalent", equivalent[mutant.file, name]
            kept.append({key: str(value) for key, value in mutant._asdict().items()})
            kept[-1] |= {"mutant": name, "verdict": verdict, "by": by, "seconds": f"{seconds:.0f}"}
            print(
                f"{mutant.file}:{mutant.line}: {mutant.change}: {verdict} in {seconds:.0f} s: {name} ({by})", flush=True
            )
            write_table(kept, given.out)
    print(by_file(kept))
    tuned = sum(len(_tuning(ast.parse(path.read_text("utf-8")), path)) for path in files)
    print(f"{len(kept)} of {len(everything)} mutants; {tuned} constants of tuning were left alone.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
