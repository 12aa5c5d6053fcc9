"""Measure many fits of worlds of different sizes in one process: time and memory, beside as many fits of one size.

    python benchmarks/many_shapes.py --fits 1000

Every fit has a world of its own, of 10 to 500 states and a random number of successors, and an optimizer made for it.
The comparison runs as many fits of worlds of one size, the median one. Both run in one process, the one size first.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import optax

from robustirl.irl import fit
from robustirl.mdp import MDP

SMALLEST, LARGEST = 10, 500


def random_problem(rng: np.random.Generator, states: int, actions: int) -> tuple[MDP, np.ndarray]:
    """Return a world with few successors a pair, and an occupancy to match."""
    kernel = np.zeros((states, actions, states))
    for state in range(states):
        for action in range(actions):
            successors = rng.choice(states, size=4, replace=False)
            kernel[state, action, successors] = rng.dirichlet(np.ones(4))
    return MDP(kernel, discount=0.9), rng.dirichlet(np.ones(states))


def run(sizes: np.ndarray, actions: int, steps: int, seed: int) -> dict[str, float]:
    """Fit one world of each size and return the seconds spent in `fit`, and the growth of the process in MB.

    Seconds of the processor are less disturbed by other processes than those of the clock.
    """
    rng = np.random.default_rng(seed)
    before, spent, busy, slowest = _resident(), 0.0, 0.0, 0.0
    for size in sizes:
        world, occupancy = random_problem(rng, int(size), actions)
        start, working = time.perf_counter(), time.process_time()
        fit(world, occupancy, alpha=0.9, steps=steps, optimizer=optax.adam(0.1), throw=False)
        taken = time.perf_counter() - start
        spent, slowest, busy = spent + taken, max(slowest, taken), busy + time.process_time() - working
    return {
        "fits": len(sizes),
        "sizes": len(set(sizes.tolist())),
        "seconds": round(spent, 2),
        "processor_seconds": round(busy, 2),
        "slowest_fit": round(slowest, 2),
        "grown_mb": round(_resident() - before),
        "memory_maps": _memory_maps(),
    }


def _resident() -> float:
    """Return the resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _memory_maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def main() -> None:
    """Run both series and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--actions", type=int, default=4)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = np.random.default_rng(options.seed).integers(SMALLEST, LARGEST + 1, size=options.fits)
    one = run(np.full(options.fits, int(np.median(sizes))), options.actions, options.steps, options.seed)
    print(json.dumps(one), file=sys.stderr, flush=True)
    many = run(sizes, options.actions, options.steps, options.seed + 1)
    ratio = round(many["processor_seconds"] / one["processor_seconds"], 2)
    print(json.dumps({"one_size": one, "many_sizes": many, "times_as_long": ratio}, indent=2))


if __name__ == "__main__":
    main()
