"""Linear rewards in large worlds: Newton steps beside L-BFGS and the default, α = 1, ten features.

The world is the grid of `scale.py` as lists in random order; the expert's reward is linear in the features, so that it
can be matched, and its occupancy is exact. Seconds are of a second fit, after everything is compiled.

    taskset -c 0,1 python benchmarks/linear_rewards.py --out benchmarks/results/linear-rewards-cpu.json
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import measuring
from irregular_world import irregular

NOISE, FEATURES, STEPS = 0.1, 10, 60


def main() -> None:
    """Measure all sizes, and write the file anew after each row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=(10_000, 100_000))
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which nothing further begins")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/linear-rewards.json"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    end, rows = time.monotonic() + options.budget, []
    for states in options.sizes:
        for row in measure(states, end):
            rows.append(row)
            print(json.dumps(row), flush=True)
            found = {"benchmark": "linear-rewards", "machine": measuring.describe_machine(), "rows": rows}
            options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(states: int, end: float) -> Any:
    """Yield a row for each way to learn."""
    from robustirl import irl, planning
    from robustirl.rewards import LinearReward

    expert, _, _ = irregular(states, NOISE)
    world, _, _ = irregular(states, 0.0)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(world.num_states, FEATURES))
    planted = rng.normal(size=FEATURES) / FEATURES
    rho = np.asarray(planning.state_occupancy(expert, planning.solve(expert, features @ planted).player))
    for name, optimizer in (("default", None), ("NEWTON", irl.NEWTON), ("LBFGS", irl.LBFGS)):
        given = {} if optimizer is None else {"optimizer": optimizer}

        def run(steps: int, given: dict[str, Any] = given) -> tuple[float, float, Any]:
            begin, spent = time.perf_counter(), time.process_time()
            model = LinearReward(features)
            found = irl.fit(expert, rho, alpha=1.0, reward=model, steps=steps, throw=False, **given)
            return time.perf_counter() - begin, time.process_time() - spent, found

        if time.monotonic() > end:
            return
        run(1)  # Compiles.
        seconds, processor, found = run(STEPS)
        yield {
            "way": name,
            "states": world.num_states,
            "seconds": seconds,
            "processor_seconds": processor,
            "steps": int(found.verdict.steps),
            "occupancy_gap": float(found.verdict.occupancy_gap),
        }


if __name__ == "__main__":
    main()
