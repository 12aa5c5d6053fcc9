r"""Does a test notice when a line of the package is wrong?

    python -m torture.mutants --count 110 --seed 0          # A sample of the mutants of all rooms.
    python -m torture.mutants --count 150 --workers 6 --limit 500   # Six at a time, for at most 500 s.
    python -m torture.mutants --again out/torture/mutants.csv   # Those of an earlier sample that nobody had noticed.
    python -m torture.mutants --list src/robustirl/planning/solvers/newton.py
    python -m torture.mutants --count 1000 --lines "as_count\\("   # All of a class of lines.

Each mutant is one change in one file (`torture.mutations`), applied to a copy of the tree. The tests that execute the
line (`torture.choosing`, from a table that `torture.executed` makes) are run on it until one fails (killed) or all pass
(survived). Survivors that were looked at and change nothing a user could notice are in `equivalent_mutants.csv`, with
the reason.
"""

import argparse
import ast
import collections
import concurrent.futures
import csv
import multiprocessing
import os
import random
import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from torture.choosing import Chooser
from torture.executed import read_executed
from torture.mutations import ROOT, Mutant, changed_line, mutants_of, place_of, sources, tuning
from torture.workshop import Workshop, settings

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.csv")
COLUMNS: tuple[str, ...] = ("file", "node", "line", "change", "mutant", "verdict", "by", "seconds")
VERDICTS = ("killed", "survived", "equivalent", "out of time")


def draw(everything: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return a random sample in random order; every mutant has the same chance."""
    return random.Random(seed).sample(everything, min(count, len(everything)))


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


def by_room(rows: Iterable[dict[str, str]]) -> str:
    """Return the verdicts, counted room by room, as Markdown."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[place_of(Path(row["file"])).split("/")[0]][row["verdict"]] += 1
    everything = sum(counts.values(), collections.Counter())
    lines = [f"| room | tried | {' | '.join(VERDICTS)} |", "| --- |" + " ---: |" * (len(VERDICTS) + 1)]
    for room, found in [*sorted(counts.items()), ("all", everything)]:
        lines.append(f"| {room} | {found.total()} | {' | '.join(str(found[v]) for v in VERDICTS)} |")
    return "\n".join(lines)


def known_equivalents() -> dict[tuple[str, str], str]:
    """Return survivors that were looked at and found to change nothing that matters, and why."""
    return {(row["file"], row["mutant"]): row["why"] for row in read_table(EQUIVALENT)}


class Worker:
    """A process that tries one mutant after the other in a workshop of its own."""

    workshop: Workshop

    @classmethod
    def open(cls, folder: Path, seconds: Mapping[str, float], collected: Sequence[str]) -> None:
        """Set up this process's workshop."""
        own = Path(tempfile.mkdtemp(dir=folder))
        for path in (folder, own):
            path.chmod(0o755)  # Some tests become another user for a moment.
        cls.workshop = Workshop(ROOT, own, seconds, collected)

    @classmethod
    def judge(cls, mutant: Mutant, tests: Sequence[str], end: float) -> tuple[Mutant, str, str, str, float]:
        """Return the mutant, its line, and what the tests say of it."""
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        found = cls.workshop.try_change(mutant, tests, end)
        return mutant, changed_line(text, mutant), *found


def main() -> int:
    """Try a sample of mutants, or those of an earlier one that nobody noticed; print each, and write the table."""
    given = _parser().parse_args()
    end = time.time() + given.limit
    files = [path.resolve() for path in given.files] or sources()
    everything = [
        mutant for path in files for mutant in mutants_of(path) if not given.lines or _is_on(mutant, given.lines)
    ]
    if given.list:
        for mutant in everything:
            print(f"{mutant.file}:{mutant.line}: {mutant.change}")
        return 0
    rows = [] if given.again is None else read_table(given.again)
    equivalent = known_equivalents()
    for row in rows:
        if row["verdict"] == "survived" and (row["file"], row["mutant"]) in equivalent:
            row |= {"verdict": "equivalent", "by": equivalent[row["file"], row["mutant"]]}
    kept = [row for row in rows if row["verdict"] in ("killed", "equivalent", "out of time")]
    sample = draw(everything, given.count, given.seed)
    if given.again is not None:
        wanted = {(row["file"], row["mutant"]) for row in rows if row not in kept}
        files = [ROOT / file for file in sorted({file for file, _ in wanted})]
        texts = {path: path.read_text(encoding="utf-8") for path in files}
        sample = [
            one for path in files for one in mutants_of(path) if (one.file, changed_line(texts[path], one)) in wanted
        ]
    chooser = Chooser(read_executed(given.executed))
    tests = {mutant: chooser.tests(mutant) for mutant in sample}
    collected = sorted({test.split("::")[0] for chosen in tests.values() for test in chosen})
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= settings(given.cache.resolve() if given.cache else Path(folder) / "compiled")
        with concurrent.futures.ProcessPoolExecutor(
            given.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=Worker.open,
            initargs=(Path(folder), chooser.seconds, () if given.one_by_one else collected),
        ) as pool:
            waiting = [pool.submit(Worker.judge, mutant, tests[mutant], end) for mutant in sample]
            for done in concurrent.futures.as_completed(waiting):
                mutant, name, verdict, by, seconds = done.result()
                if verdict == "not finished":
                    continue
                if verdict == "survived" and (mutant.file, name) in equivalent:
                    verdict, by = "equivalent", equivalent[mutant.file, name]
                kept.append({key: str(value) for key, value in mutant._asdict().items()})
                kept[-1] |= {"mutant": name, "verdict": verdict, "by": by, "seconds": f"{seconds:.0f}"}
                print(f"{mutant.file}:{mutant.line}: {verdict} in {seconds:.0f} s: {name} ({by})", flush=True)
                write_table(kept, given.out)
    print(by_room(kept))
    tuned = sum(len(tuning(ast.parse(path.read_text("utf-8")), path)) for path in files)
    print(f"{len(kept)} of {len(everything)} mutants; {tuned} constants of tuning were left alone.")
    return 0


def _is_on(mutant: Mutant, pattern: str) -> bool:
    """Return whether a mutant is on a line of the package in which a pattern is found."""
    return (
        re.search(pattern, (ROOT / mutant.file).read_text(encoding="utf-8").splitlines()[mutant.line - 1]) is not None
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="by default all of src/robustirl")
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="mutants tried at the same time")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no verdict is waited for")
    parser.add_argument("--one-by-one", action="store_true", help="load the package anew for every change")
    parser.add_argument("--lines", help="a regular expression: only mutants of lines in which it is found")
    parser.add_argument("--list", action="store_true", help="say what there is, and do nothing")
    parser.add_argument("--again", type=Path, help="a table of an earlier run, to try its survivors again")
    parser.add_argument("--executed", type=Path, default=Path("out/torture/executed.json"), help="what tests execute")
    parser.add_argument("--cache", type=Path, help="where compiled programs are kept; by default for this run only")
    parser.add_argument("--out", type=Path, default=Path("out/torture/mutants.csv"))
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
