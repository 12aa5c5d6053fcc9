"""Compare MuJoCo's own engine with MJX on this device: steps a second while policies learn, and the time to compile.

    python benchmarks/engines.py --worlds hopper half-cheetah --out docs/data/engines.json

Both train the same policies by PPO, 256 environments side by side, one engine after the other in one process and in
turn, so that ratios can be trusted where times cannot. MJX takes as many steps of its contact solver as the study of
bodies does; MuJoCo's own solver stops when it has converged.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from measuring import describe_machine
from robustirl.control import PPOConfig, train_policies
from robustirl.envs import physics
from robustirl.paper.studies.physics_worlds import SCALES

CONFIG = PPOConfig(environments=256, segment=16, minibatches=8)
TURNS = 3


def seconds_of(name: str, engine: str, steps: int, fits: int) -> float:
    """Return how long some trainings take, with what they compile."""
    iterations = SCALES[name].iterations if engine == "mjx" else None
    world = physics.mujoco_world(name, fast=True, iterations=iterations, engine=engine)  # pyright: ignore
    begun = time.monotonic()
    keys = [jax.random.key(seed) for seed in range(fits)]
    train_policies([world] * fits, steps=steps, config=CONFIG, keys=keys)
    return time.monotonic() - begun


def measure(name: str, engines: Sequence[str], steps: int, fits: int) -> dict[str, Any]:
    """Return steps a second and the time to compile of each engine."""
    first = {engine: seconds_of(name, engine, steps, fits) for engine in engines}
    later = {engine: [] for engine in engines}
    for _ in range(TURNS):
        for engine in engines:
            later[engine].append(seconds_of(name, engine, steps, fits))
    warm = {engine: float(np.median(times)) for engine, times in later.items()}
    taken = -(-steps // CONFIG.batch) * CONFIG.batch * fits
    return {
        "world": name,
        "fits": fits,
        **{f"{engine}_steps_per_second": round(taken / warm[engine]) for engine in engines},
        **{f"{engine}_compile_seconds": round(first[engine] - warm[engine], 1) for engine in engines},
    }


def main() -> None:
    """Measure some worlds and write a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--worlds", nargs="+", default=["inverted-double-pendulum", "hopper", "half-cheetah", "walker-2d"]
    )
    parser.add_argument("--engines", nargs="+", default=["mujoco", "mjx"])
    parser.add_argument("--steps", type=int, default=81_920)
    parser.add_argument("--fits", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = []
    for name in given.worlds:
        lines.append(measure(name, given.engines, given.steps, given.fits))
        print(json.dumps(lines[-1]), flush=True)
    if given.out is not None:
        given.out.write_text(
            json.dumps({"machine": describe_machine(), "lines": lines}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
