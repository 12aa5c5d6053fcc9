"""Measure the first and the second `robustirl fit` on one world: processor seconds, and the second as a share.

    python benchmarks/second_fit.py --alphas 0.9 auto --out benchmarks/results/second-fit.json

Every call is a process of its own. The first finds an empty compilation cache, the second what the first has kept.
A fit with another cache goes before both, so that the bytecode of all libraries is written and no measured call
compiles Python. Processor time counts all threads, so that a busy machine matters little.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def command(line: list[str], folder: Path, cache: str) -> dict[str, float]:
    """Run a command with a cache of that name; return the seconds on the clock and of the processor."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"XDG_CACHE_HOME": str(folder / cache), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "robustirl", *line], check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - started, "processor_seconds": processor}


def measure(alphas: list[str], folder: Path, environment: str) -> list[dict[str, object]]:
    """Return the costs of two calls in a row at every alpha, and the second as a share of the first."""
    demos, rows = str(folder / "demos.csv"), []
    command(
        ["demos", "make", "--env", environment, "--noise", "0.1", "--episodes", "200", "--out", demos], folder, "warm"
    )
    fit = ["fit", "--quiet", "--env", environment, "--demos", demos]
    for alpha in alphas:
        command([*fit, "--alpha", alpha, "--out", str(folder / f"{alpha}-warm")], folder, "warm")
        first, second = (
            command([*fit, "--alpha", alpha, "--out", str(folder / f"{alpha}-{call}")], folder, f"cache-{alpha}")
            for call in (1, 2)
        )
        shares = {f"{name}_share": second[name] / first[name] for name in first}
        rows.append({"alpha": alpha, "environment": environment, "first": first, "second": second, **shares})
    return rows


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--alphas", nargs="+", default=["0.9", "auto"])
    parser.add_argument("--env", default="gridworld-1")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments.alphas, Path(folder), arguments.env)
    text = json.dumps(rows, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
