"""Large worlds against their targets: solves from nothing and 200 steps of learning, grids beside lists.

The grid is that of `scale.py`, the lists are the same world with its states numbered at random. All times are of warm
calls in one process, beside the processor time of all threads, which other programs disturb less. Rows are written as
they come, so that nothing is lost where the budget ends.

    taskset -c 0,1 python benchmarks/large_targets.py --out benchmarks/results/large-cpu.json
    python benchmarks/large_targets.py --out benchmarks/results/large-gpu.json
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import measuring
import robustirl
import scale_world
from irregular_world import irregular
from robustirl.mdp import banded, independent

SIZES = (10_000, 100_000, 1_000_000)
KINDS = ("grid", "lists")
NOISE, ALPHA = 0.1, 0.9


class Rows:
    """The measurements so far, and the seconds that are left for more."""

    def __init__(self, path: Path, budget: float):
        self.path, self.end, self.rows = path, time.monotonic() + budget, []
        path.parent.mkdir(parents=True, exist_ok=True)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.end - time.monotonic()

    def add(self, what: str, **row: Any) -> None:
        """Print a row and write all of them."""
        self.rows.append({"what": what, **row})
        print(json.dumps(self.rows[-1]), flush=True)
        found = {"benchmark": "large-targets", "machine": measuring.describe_machine(), "rows": self.rows}
        self.path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure what is asked for, small worlds first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--learning-sizes", type=int, nargs="*", default=SIZES[:2])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--discounts", type=float, nargs="+", default=(0.99, 0.999))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which nothing further begins")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/large-targets.json"))
    parser.add_argument("--whole", action="store_true", help="eliminate no states, to see what that gains")
    options = parser.parse_args()
    robustirl.enable_x64()
    if options.whole:
        independent.LEAST_SHARE = banded.LEAST_STATES = float("inf")  # No set of states is large enough.
    rows = Rows(options.out, options.budget)
    for states in options.sizes:
        for discount in options.discounts:
            for kind in options.kinds:
                if rows.left() > 0:
                    solving(rows, kind, states, discount, options.repeats)
    for states in options.learning_sizes:
        for kind in options.kinds:
            if rows.left() > 0:
                learning(rows, kind, states, options.steps)


def world_of(kind: str, states: int, noise: float, discount: float = 0.99) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a world, its true reward, and the cell of the grid that each state is."""
    if kind == "grid":
        world, reward = scale_world.grid(states, noise, "uniform-action", discount)
        return world, reward, np.arange(world.num_states)
    world, reward, number = irregular(states, noise, discount)
    return world, reward, np.argsort(number)


def solving(rows: Rows, kind: str, states: int, discount: float, repeats: int) -> None:
    """Time a robust solve from nothing."""
    from robustirl.mdp import MarkovGame
    from robustirl.planning import solve

    world, reward, _ = world_of(kind, states, NOISE, discount)
    game = MarkovGame(world, ALPHA)
    spent = []

    def run() -> Any:
        begin = time.process_time()
        found = solve(game, reward)
        spent.append(time.process_time() - begin)
        return found

    row, solution = measuring.timed(run, repeats=repeats, seconds=20.0)
    verdict = solution.verdict
    rows.add(
        "solve",
        kind=kind,
        states=world.num_states,
        discount=discount,
        steps=int(verdict.iterations),
        error_bound=float(verdict.error_bound),
        processor_seconds=min(spent[1:]),
        **row,
    )


def learning(rows: Rows, kind: str, states: int, steps: int) -> None:
    """Time a fit of many steps, and a solve from nothing in the learner's world beside it."""
    from robustirl.irl import fit
    from robustirl.mdp import MarkovGame
    from robustirl.planning import solve, state_occupancy

    expert, reward, _ = world_of(kind, states, NOISE)
    rho = np.asarray(state_occupancy(expert, solve(MarkovGame(expert, 1.0), reward).player))
    world, _, _ = world_of(kind, states, 0.0)
    cold, _ = measuring.timed(lambda: solve(MarkovGame(world, ALPHA), reward), repeats=3, seconds=5.0)

    def run(count: int) -> tuple[float, float, Any]:
        begin, spent = time.perf_counter(), time.process_time()
        found = fit(world, rho, alpha=ALPHA, steps=count, throw=False)
        return time.perf_counter() - begin, time.process_time() - spent, found

    run(1)  # Compiles.
    one, _, _ = run(1)
    seconds, processor, result = run(steps)
    taken = max(int(result.verdict.steps), 1)
    # A fit of one step has the plan to full accuracy at its end in common with one of many.
    a_step = (seconds - one) / max(taken - 1, 1)
    rows.add(
        "learning",
        kind=kind,
        states=world.num_states,
        steps=taken,
        seconds=seconds,
        processor_seconds=processor,
        seconds_a_step=a_step,
        cold_solve=cold["seconds"],
        step_over_cold_solve=a_step / cold["seconds"],
        gap=float(result.verdict.occupancy_gap),
        status=str(result.verdict.status),
        planner_steps=float(np.mean(np.asarray(result.history.planner_steps)[: taken + 1])),
    )


if __name__ == "__main__":
    main()
