"""Measure `robustirl reproduce`, all experiments of the paper: seconds, processor seconds, and programs compiled.

    python benchmarks/reproduce.py --out docs/data/reproduce.json

The command is a process of its own with an empty compilation cache; every entry of the cache is one program that was
compiled. A second call, with the cache of the first, says what is left without compiling. Processor time counts all
threads of all processes.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from measuring import timed_command

COMMAND = (
    *("reproduce", "--quiet", "--noise-model", "uniform-state", "uniform-action", "published"),
    *("--experiments", "all"),
)


def measure(folder: Path, out: str, experiments: tuple[str, ...] = ()) -> dict[str, float]:
    """Run the command with the cache of a folder; return what it cost, and how many programs the cache has then."""
    line = [*COMMAND[: -1 if experiments else None], *experiments, "--out", str(folder / out)]
    spent = timed_command(["-m", "robustirl", *line], folder / "cache")
    return {**spent, "programs": len(list((folder / "cache").rglob("*-cache")))}


def main() -> None:
    """Measure a first and a second call, print and write down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--experiments", nargs="+", default=[], help="only these")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        calls = [measure(Path(name), out, tuple(arguments.experiments)) for out in ("first", "second")]
    found = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0], "first": calls[0], "second": calls[1]}
    text = json.dumps(found, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
