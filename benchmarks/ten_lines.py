"""Time what a newcomer waits for: importing, and the ten lines of the README, in fresh processes without a cache.

    python benchmarks/ten_lines.py --repeats 5

Prints processor seconds and their ratio to importing JAX, Equinox and Optax alone; the two take turns.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

PARTS = "import jax, jax.numpy, equinox, optax"


def processor_seconds(script: str) -> float:
    """Return the processor time of a fresh Python process, without a compilation cache."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    scripts = {"parts": PARTS, "import": "import robustirl", "ten lines": lines}
    seconds: dict[str, list[float]] = {name: [] for name in scripts}
    for _ in range(given.repeats):
        for name, script in scripts.items():
            seconds[name].append(processor_seconds(script))
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = {f"{name} over parts": middle[name] / middle["parts"] for name in ("import", "ten lines")}
    print(json.dumps(middle | ratios))


if __name__ == "__main__":
    main()
