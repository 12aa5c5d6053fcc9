"""Run the fast tests again and again on a busy machine: `python -m torture.loaded --runs 5 --out out/loaded`.

Other processes keep every core busy meanwhile, so that a test which hopes that something is finished in time fails here
before it fails elsewhere. What follows `--` is passed on to pytest. Outcomes are printed and written run by run.
"""

import argparse
import contextlib
import csv
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

BURN = "while True: pass"
FIELDS = ("run", "seconds", "passed", "failed", "skipped", "load", "which")


class Outcome(NamedTuple):
    """How one run ended; `failed` is None if it had to be stopped before its end."""

    seconds: float
    passed: int
    failed: int | None
    skipped: int
    which: list[str]


@contextlib.contextmanager
def busy_cores(count: int) -> Iterator[list[int]]:
    """Keep that many processes computing while the context lasts; yield their ids.

    Example:
        >>> with busy_cores(2) as burners:
        ...     len(burners)
        2
    """
    burners = [subprocess.Popen([sys.executable, "-S", "-c", BURN]) for _ in range(count)]
    try:
        yield [burner.pid for burner in burners]
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def run_tests(arguments: Sequence[str], log: Path, report: Path, limit: float | None = None) -> Outcome:
    """Run pytest with these arguments, its output in `log`; interrupt it after `limit` seconds."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
    begin = time.monotonic()
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            return Outcome(time.monotonic() - begin, 0, None, 0, [])
    return read_report(report, time.monotonic() - begin)


def read_report(report: Path, seconds: float) -> Outcome:
    """Return what a JUnit file says; tests that could not be collected or set up count as failed."""
    if not report.exists():
        return Outcome(seconds, 0, None, 0, [])
    which, skipped, count = [], 0, 0
    for case in ET.parse(report).getroot().iter("testcase"):
        count += 1
        if case.find("failure") is not None or case.find("error") is not None:
            which.append(f"{case.get('classname')}.{case.get('name')}")
        skipped += case.find("skipped") is not None
    return Outcome(seconds, count - len(which) - skipped, len(which), skipped, which)


def main(given: Sequence[str] | None = None) -> int:
    """Run the tests under load and write a table; return 0 if all runs were green."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2, help="of pytest")
    parser.add_argument("--burners", type=int, help="processes that compute all the time; one a worker if omitted")
    parser.add_argument("--limit", type=float, help="seconds for everything; a run that goes beyond is stopped")
    parser.add_argument("--out", type=Path, default=Path("out/loaded"))
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    options = parser.parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    fast = ["-q", "-n", str(options.workers), "--dist", "loadscope", "-m", "not slow", *options.pytest]
    burners = options.workers if options.burners is None else options.burners
    begin, green = time.monotonic(), True
    with busy_cores(burners), (options.out / "table.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(FIELDS)
        for run in range(1, options.runs + 1):
            left = None if options.limit is None else options.limit - (time.monotonic() - begin)
            if left is not None and left <= 0:
                break
            out = run_tests(fast, options.out / f"run-{run}.log", options.out / f"run-{run}.xml", left)
            failed = "stopped" if out.failed is None else out.failed
            row = (run, round(out.seconds), out.passed, failed, out.skipped, f"{os.getloadavg()[0]:.1f}")
            table.writerow((*row, " ".join(out.which)))
            file.flush()
            print(*row, *out.which, sep="  ", flush=True)
            green &= out.failed == 0 and out.passed > 0
    return 0 if green else 1


if __name__ == "__main__":
    raise SystemExit(main())
