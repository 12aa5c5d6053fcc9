"""Measure many worlds of different sizes in one process: time and memory, beside as many worlds of one size.

    python benchmarks/many_worlds.py --fits 1000 --plans 100 --out benchmarks/results/many-worlds.json

Every fit has a world of its own, of 10 to 500 states with four successors a pair, and an optimizer made for it. The
comparison runs as many fits of worlds of one size, the median one. `--plans` does the same with a planner, an expert
and the measures of its policy in place of a fit. All series run in one process, those of one size first, and programs
are compiled in it: the compilation cache is off.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import optax

from robustirl.irl import fit
from robustirl.mdp import MDP
from robustirl.planning import discounted_return, expert_policy, solve, state_occupancy, total_return

SMALLEST, LARGEST = 10, 500
SUCCESSORS = 4
Work = Callable[[MDP, np.ndarray], object]


def random_problem(rng: np.random.Generator, states: int, actions: int) -> tuple[MDP, np.ndarray]:
    """Return a world with few successors a pair, and an occupancy to match."""
    kernel = np.zeros((states, actions, states))
    for state in range(states):
        for action in range(actions):
            successors = rng.choice(states, size=SUCCESSORS, replace=False)
            kernel[state, action, successors] = rng.dirichlet(np.ones(SUCCESSORS))
    return MDP(kernel, discount=0.9), rng.dirichlet(np.ones(states))


def learn(steps: int) -> Work:
    """Return the work of one fit, with an optimizer of its own."""

    def work(world: MDP, occupancy: np.ndarray) -> object:
        return fit(world, occupancy, alpha=0.9, steps=steps, optimizer=optax.adam(0.1), throw=False)

    return work


def plan(world: MDP, occupancy: np.ndarray) -> object:
    """Plan under a reward, take an expert, and measure its policy."""
    policy = expert_policy(world, occupancy, temperature=0.1)
    solve(world, occupancy)
    state_occupancy(world, policy)
    return discounted_return(world, policy, occupancy), total_return(world, policy, occupancy, horizon=50)


def run(sizes: np.ndarray, actions: int, work: Work, seed: int) -> dict[str, float]:
    """Do the work in one world of each size; return the seconds spent in it, and the growth of the process in MB.

    Seconds of the processor are less disturbed by other processes than those of the clock.
    """
    rng = np.random.default_rng(seed)
    before, spent, busy, slowest, most_maps = resident_mb(), 0.0, 0.0, 0.0, 0
    for size in sizes:
        world, occupancy = random_problem(rng, int(size), actions)
        start, working = time.perf_counter(), time.process_time()
        work(world, occupancy)
        taken = time.perf_counter() - start
        spent, slowest, busy = spent + taken, max(slowest, taken), busy + time.process_time() - working
        most_maps = max(most_maps, memory_maps())
    return {
        "worlds": len(sizes),
        "sizes": len(set(sizes.tolist())),
        "seconds": round(spent, 2),
        "processor_seconds": round(busy, 2),
        "slowest_world": round(slowest, 2),
        "grown_mb": round(resident_mb() - before),
        "most_memory_maps": most_maps,
    }


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory_maps() -> int:
    """Return the number of memory maps of this process, of which Linux gives it 65,530."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def compare(count: int, actions: int, work: Work, seed: int) -> dict[str, object]:
    """Measure worlds of one size, then of many, and their ratio."""
    sizes = np.random.default_rng(seed).integers(SMALLEST, LARGEST + 1, size=count)
    one = run(np.full(count, int(np.median(sizes))), actions, work, seed)
    print(json.dumps(one), file=sys.stderr, flush=True)
    many = run(sizes, actions, work, seed + 1)
    ratio = round(many["processor_seconds"] / one["processor_seconds"], 2)
    return {"one_size": one, "many_sizes": many, "times_as_long": ratio}


def main() -> None:
    """Run all series and print, or write, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--plans", type=int, default=0)
    parser.add_argument("--actions", type=int, default=4)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    found: dict[str, object] = {"jax": jax.__version__, "steps": options.steps, "actions": options.actions}
    if options.fits:
        found["fits"] = compare(options.fits, options.actions, learn(options.steps), options.seed)
    if options.plans:
        found["plans"] = compare(options.plans, options.actions, plan, options.seed)
    text = json.dumps(found, indent=2)
    if options.out is not None:
        options.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
