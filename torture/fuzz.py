"""Fuzz every loader for a budget of seconds each, and write a table of what came of it.

    python -m torture.fuzz --seconds 60                     # Coverage-guided with atheris where it is installed.
    python -m torture.fuzz --engine plain demos-csv model   # The plain fuzzer, on some targets.

Inputs that break a loader are kept in `--out` and named in the table; the exit status is then 1. Put them into
tests/reliability/corpus/<target>/ once the loader is mended, and the test suite keeps them mended.
"""

import argparse
import csv
import hashlib
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

SLOWEST = 10.0  # Seconds after which an input counts as a hang.


class Row(NamedTuple):
    """What came of one target."""

    target: str
    engine: str
    seconds: float
    inputs: int
    features: str
    broken: int
    first: str


def fuzz_plainly(name: str, seconds: float, out: Path, seed: int) -> Row:
    """Damage valid inputs at random."""
    from torture.plain import BrokenError, fuzz
    from torture.targets import TARGETS

    begin, inputs, broken = time.monotonic(), 0, []
    for result in fuzz(TARGETS[name], seed=seed, seconds=seconds, slowest=SLOWEST):
        inputs += 1
        if isinstance(result, BrokenError):
            broken.append(str(result).splitlines()[0][:100])
            keep(out / name, result.content)
    return Row(name, "plain", time.monotonic() - begin, inputs, "", len(broken), broken[0] if broken else "")


def fuzz_with_coverage(name: str, seconds: float, out: Path, seed: int) -> Row:
    """Let atheris search, in a process of its own: it ends the process it runs in."""
    folder, begin = out / name, time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={int(seconds)}", f"-timeout={int(SLOWEST)}", f"-seed={seed}", "-rss_limit_mb=6000"]
    command = [sys.executable, "-m", "torture.fuzz", "--inside", name, "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counts = [int(count) for count in re.findall(r"^#(\d+)\s", done.stderr, flags=re.MULTILINE)]
    features = re.findall(r"ft: (\d+)", done.stderr)
    found = sorted(path.name for path in folder.iterdir() if path.name.startswith(("crash-", "timeout-", "oom-")))
    why = re.findall(r"^\s*=== Uncaught Python exception: ===\n(.*)$", done.stderr, flags=re.MULTILINE)
    first = why[0][:100] if why else (found[0] if found else "")
    if done.returncode and not found:
        found, first = ["?"], " ".join(done.stderr.split()[-20:])
    last = features[-1] if features else ""
    return Row(name, "atheris", time.monotonic() - begin, max(counts, default=0), last, len(found), first)


def inside(name: str, out: Path, options: list[str]) -> None:
    """Run as the process of atheris."""
    atheris = importlib.import_module("atheris")  # Not among the requirements, and unknown to type checkers.
    # Imported before instrumentation, and so left alone: what matters is which lines of the loaders run.
    import jax.numpy  # noqa: F401
    import numpy  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.sparse  # noqa: F401

    with atheris.instrument_imports(include=["robustirl", "zipfile", "json", "csv", "numpy.lib"]):
        from torture.targets import TARGETS, try_input
    target = TARGETS[name]
    folder = out / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds():
        keep(corpus, seed)
    kept = Path(__file__).parents[1] / "tests" / "reliability" / "corpus" / name
    seeds = [str(kept)] if kept.is_dir() else []
    arguments = [sys.argv[0], *options, f"-artifact_prefix={folder}/", "-print_final_stats=1", str(corpus), *seeds]
    mutate = {"custom_mutator": _json_mutator} if target.json else {}
    atheris.Setup(arguments, lambda content: try_input(target, content) and None, **mutate)
    atheris.Fuzz()


def _json_mutator(content: bytes, size: int, seed: int) -> bytes:
    """Change JSON by its structure; what is none any more, byte by byte."""
    import numpy as np

    from torture.plain import mutations

    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return importlib.import_module("atheris").Mutate(content, size)
    return next(mutations([content], np.random.default_rng(seed), as_json=True))[:size]


def keep(folder: Path, content: bytes) -> None:
    """Write an input to a file named after its content."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


def main() -> int:
    """Fuzz, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--engine", choices=("auto", "atheris", "plain"), default="auto")
    parser.add_argument("--out", type=Path, default=Path("out/torture"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given, options = parser.parse_known_args()
    if given.inside:
        inside(given.inside, given.out, options)
        return 0
    if options:
        parser.error(f"unknown options {options}")
    from torture.targets import chosen

    engine = given.engine
    if engine == "auto":
        engine = "atheris" if importlib.util.find_spec("atheris") else "plain"
    work = fuzz_with_coverage if engine == "atheris" else fuzz_plainly
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in chosen(given.targets):
        rows.append(work(name, given.seconds, given.out, given.seed))
        print(f"{name:16} {rows[-1].inputs:>9} inputs, {rows[-1].broken} broken {rows[-1].first}", flush=True)
    with (given.out / "fuzzing.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(row._replace(seconds=round(row.seconds, 1)) for row in rows)
    return 1 if any(row.broken for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
