"""Walk all classes of bad inputs: `python -m torture.classes.walk --out FILE` writes their counts and what broke."""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from torture.classes import BadInput, attempt
from torture.classes.arguments import bad_arguments
from torture.classes.contents import bad_contents
from torture.classes.environments import bad_environments
from torture.classes.files import bad_file_commands, bad_files, bad_targets
from torture.classes.foreign import bad_foreign
from torture.classes.logs import bad_logs
from torture.classes.models import bad_models
from torture.classes.numbers import bad_number_commands, bad_numbers
from torture.classes.requests import bad_requests
from torture.classes.studies import bad_options
from torture.classes.texts import bad_text_commands, bad_texts

CALLS: dict[str, Callable[[], Iterable[BadInput]]] = {
    "files that cannot be read": bad_files,
    "files that cannot be written": bad_targets,
    "contents": bad_contents,
    "numbers": bad_numbers,
    "texts": bad_texts,
    "options of studies": bad_options,
    "from other programs": bad_foreign,
    "arguments": bad_arguments,
    "logs": bad_logs,
}
COMMANDS: dict[str, Callable[[], Iterable[BadInput]]] = {
    "commands: files": bad_file_commands,
    "commands: numbers": bad_number_commands,
    "commands: texts": bad_text_commands,
    "models": bad_models,
    "commands: requests": bad_requests,
    "commands: environments": bad_environments,
}


class Outcome(NamedTuple):
    """What became of a class: how many inputs, and of those that did not end in a sentence, how they ended."""

    inputs: int
    broken: list[str]
    slowest: float


def walk(inputs: Iterable[BadInput]) -> Outcome:
    """Try all inputs of a class."""
    count, broken, slowest = 0, [], 0.0
    for bad in inputs:
        begin = time.monotonic()
        try:
            attempt(bad)
        except Exception as error:
            broken.append(f"{bad.name}: {type(error).__name__}: {str(error)[:300]}")
        slowest = max(slowest, time.monotonic() - begin)
        count += 1
    return Outcome(count, broken, slowest)


def main() -> int:
    """Walk all classes and write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows, failed = [], False
    for name, make in (CALLS | COMMANDS).items():
        outcome = walk(make())
        failed |= bool(outcome.broken)
        for line in outcome.broken:
            print(f"{name}: {line}", file=sys.stderr)
        rows.append((name, outcome.inputs, len(outcome.broken), f"{outcome.slowest:.1f}"))
    with given.out.open("w", newline="") as file:
        csv.writer(file).writerows([("class", "inputs", "broken", "slowest"), *rows])
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
