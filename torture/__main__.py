"""All of it for a budget, and a table: `python -m torture --seconds 60 --out out/torture`."""

import argparse
import csv
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

SLOW_TESTS = ("tests/cli/test_cli.py", "tests/cli/test_fit.py", "tests/reliability", "tests/sweeps/test_ray.py")
CHOSEN = "kill or ctrl or fresh or order or choices"

CLASSES = (
    "tests/reliability/test_bad_inputs.py",
    "tests/reliability/test_almost_valid.py",
    "tests/_runtime/test_reading.py",
    "tests/_runtime/test_writing.py",
    "tests/cli/test_cli_out.py",
    "tests/cli/test_stream.py",
    "tests/demonstrations/io/test_hdf5_checks.py",
    "tests/plotting/test_style.py",
)
"""The tables of bad inputs and faults, class by class: each input must end in one sentence."""
HANGS_AFTER = 3600  # Seconds for all of them.


def main() -> int:
    """Fuzz, run the slow tests of reliability, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of fuzzing, for each loader")
    parser.add_argument("--out", type=Path, default=Path("out/torture"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    fuzzing = [sys.executable, "-m", "torture.fuzz", "--seconds", str(given.seconds), "--out", str(given.out)]
    status = subprocess.run(fuzzing, check=False).returncode
    report = given.out / "tests.xml"
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-k", CHOSEN, f"--junitxml={report}", *SLOW_TESTS]
    status |= subprocess.run(tests, check=False).returncode
    classes = given.out / "classes.xml"
    walk = [sys.executable, "-m", "pytest", "-q", f"--junitxml={classes}", *CLASSES]
    status |= subprocess.run(walk, check=False, timeout=HANGS_AFTER).returncode
    doors = given.out / "doors.csv"
    every = [sys.executable, "-m", "torture.classes.walk", "--out", str(doors)]
    status |= subprocess.run(every, check=False, timeout=HANGS_AFTER).returncode
    table = given.out / "table.md"
    table.write_text(as_markdown(given.out / "fuzzing.csv", report, classes, doors), encoding="utf-8")
    print(f"wrote {table}")
    return 1 if status else 0


def as_markdown(fuzzing: Path, report: Path, classes: Path, doors: Path) -> str:
    """Return all outcomes as tables."""
    lines = ["| loader | engine | seconds | inputs | broken |", "| --- | --- | ---: | ---: | ---: |"]
    with fuzzing.open(newline="") as file:
        for row in csv.DictReader(file):
            lines.append(
                f"| {row['target']} | {row['engine']} | {row['seconds']} | {row['inputs']} | {row['broken']} |"
            )
    lines += ["", "| doors times faults | inputs | broken | slowest |", "| --- | ---: | ---: | ---: |"]
    with doors.open(newline="") as file:
        lines += [f"| {' | '.join(row)} |" for row in list(csv.reader(file))[1:]]
    lines += ["", "| table of bad inputs | inputs | broken |", "| --- | ---: | ---: |"]
    counts: dict[str, list[bool]] = {}
    for case in ET.parse(classes).getroot().iter("testcase"):
        broken = case.find("failure") is not None or case.find("error") is not None
        counts.setdefault(case.get("classname", ""), []).append(broken)
    lines += [f"| {name} | {len(found)} | {sum(found)} |" for name, found in counts.items()]
    lines += ["", "| test | seconds | outcome |", "| --- | ---: | --- |"]
    for case in ET.parse(report).getroot().iter("testcase"):
        failed = case.find("failure") is not None or case.find("error") is not None
        outcome = "failed" if failed else "skipped" if case.find("skipped") is not None else "passed"
        lines.append(f"| {case.get('name')} | {float(case.get('time', 0)):.0f} | {outcome} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
