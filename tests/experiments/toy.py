"""A sweep that computes next to nothing, as a command to be killed: `python -m tests.experiments.toy OUT [ENGINE]`."""

import dataclasses
import os
import sys
import time
from pathlib import Path

import numpy as np

from experiments.runner import Where, run


@dataclasses.dataclass(frozen=True)
class Toy:
    """A number to be squared."""

    number: int
    group: str = "a"


SPECS = [Toy(n, "ab"[n % 2]) for n in range(24)]


def square(specs):
    time.sleep(float(os.environ.get("TOY_SECONDS", "0")))
    return [({"square": spec.number**2, "process": os.getpid()}, {"root": np.arange(spec.number)}) for spec in specs]


def square_or_die_once(specs):
    """As `square`, but the worker of one batch kills itself the first time."""
    mark = Path(os.environ["TOY_MARK"])
    if specs[0].number == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return square(specs)


def results(out, work=square, specs=SPECS, **options):
    found = run(specs, work, Path(out), key=lambda spec: spec.group, size=3, where=Where(**options))
    return [(result.spec, result.row["square"], result.arrays["root"].tolist()) for result in found]


if __name__ == "__main__":
    print(len(results(sys.argv[1], workers=2)))
