"""Measure the first and the second `robustirl fit` on one world: processor seconds, and the second as a share.

    python benchmarks/second_fit.py --alphas 0.9 auto --parts --out docs/data/second-fit.json

Every call is a process of its own. The first finds an empty compilation cache, the second what the first has kept.
A fit with another cache goes before both, so that the bytecode of all libraries is written and no measured call
compiles Python. Processor time counts all threads, so that a busy machine matters little. `--parts` says where the time
of a second call goes: to import what it needs, and, while it runs, to trace, to lower, to load programs and to draw.
"""

import argparse
import json
import tempfile
from pathlib import Path

from measuring import timed_command


def command(line: list[str], folder: Path, cache: str, run: tuple[str, ...] = ("-m", "robustirl")) -> dict[str, float]:
    """Run a command with a cache of that name; return the seconds on the clock and of the processor."""
    return timed_command([*run, *line], folder / cache, PYTHONPYCACHEPREFIX=str(folder / "bytecode"))


IMPORTS = {
    "Python and NumPy": "numpy",
    "JAX": "jax.numpy",
    "Equinox and Optax": "equinox, optax",
    "robustirl with tyro and rich": "robustirl.cli.fit",
    "SciPy": "scipy.sparse.linalg, scipy.optimize",
    "matplotlib": "robustirl.plotting",
}
"""What a fit imports, in this order; each is imported after those above it."""

WATCHED = """
import collections, json, sys, time
import jax, robustirl.cli.fit, robustirl.plotting, scipy.optimize, scipy.sparse.linalg
from robustirl.reports import fit

spent, files = collections.Counter(), fit._fill
names = {"jaxpr_trace_duration": "tracing", "jaxpr_to_mlir_module_duration": "lowering",
         "cache_retrieval_time_sec": "loading programs"}

def count(event, seconds, **_):
    if (name := names.get(event.rpartition("/")[2])) is not None:
        spent[name] += seconds

def fill(*given):
    began = time.process_time()
    try:
        return files(*given)
    finally:
        spent["writing the folder, its figure included"] += time.process_time() - began

jax.monitoring.register_event_duration_secs_listener(count)
fit._fill, began = fill, time.process_time()
robustirl.cli.main(sys.argv[2:])
spent["all after the imports"] = time.process_time() - began
with open(sys.argv[1], "w") as file:
    json.dump(dict(spent), file)
"""
"""A fit whose parts are timed; the events of JAX count seconds on the clock, and the same tracing may count twice."""


def measure_parts(line: list[str], folder: Path, cache: str) -> dict[str, dict[str, float]]:
    """Return the processor seconds of every import of a fit, and the seconds of what it does after them."""
    imports, modules, before = {}, [], 0.0
    for name, module in IMPORTS.items():
        modules.append(module)
        script = ["-c", f"import {', '.join(modules)}"]
        whole = min(command(script, folder, cache, run=())["processor_seconds"] for _ in range(3))
        imports[name], before = whole - before, whole
    command(["-c", WATCHED, str(folder / "parts.json"), *line], folder, cache, run=())
    return {"imports": imports, "after": json.loads((folder / "parts.json").read_text(encoding="utf-8"))}


def measure(alphas: list[str], folder: Path, environment: str, parts: bool) -> list[dict[str, object]]:
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
        row = {"alpha": alpha, "environment": environment, "first": first, "second": second, **shares}
        if parts:
            line = [*fit, "--alpha", alpha, "--out", str(folder / f"{alpha}-parts")]
            row["parts_of_the_second"] = measure_parts(line, folder, f"cache-{alpha}")
        rows.append(row)
    return rows


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--alphas", nargs="+", default=["0.9", "auto"])
    parser.add_argument("--env", default="gridworld-1")
    parser.add_argument("--parts", action="store_true", help="say where the time of the second call goes")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments.alphas, Path(folder), arguments.env, arguments.parts)
    text = json.dumps(rows, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
