"""Time value iteration for the robust soft game in plain NumPy, on a world read from a file.

    python numpy_vi.py WORLD.npz --discounts 0.9 0.99 --alpha 0.9 --limit 20

WORLD.npz holds `targets` [S, A, K] and `chances` [S, A, K] (lists of successors), `mask` [S, A] and `reward` [S]. What
a person would write without a library: gather the successors' values, sum, soft maximum, repeat until the
contraction bound guarantees a relative 1e-10. Where that would take longer than the limit, some sweeps are timed and
multiplied by the number that the contraction asks for, and the row says `extrapolated`. JSON lines go to standard
output.
"""

import argparse
import json
import math
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

TOLERANCE = 1e-10
PROBES = 3  # Sweeps to time before deciding whether to go on.


def sweep(world: dict[str, np.ndarray], value: np.ndarray, discount: float, alpha: float) -> np.ndarray:
    """Return the two-player backup: a soft maximum for the player's share, a minimum for the opponent's."""
    q = discount * (world["chances"] * value[world["targets"]]).sum(-1)
    high = np.where(world["mask"], q, -np.inf)
    low = np.where(world["mask"], q, np.inf)
    best = high.max(1)
    gain = alpha * best + np.log(np.exp(alpha * (high - best[:, None])).sum(1))
    return world["reward"] + gain + (1 - alpha) * low.min(1)


def solve(world: dict[str, np.ndarray], discount: float, alpha: float, limit: float) -> dict[str, object]:
    """Return seconds to the solution, or a promise of them."""
    value = np.zeros(len(world["reward"]))
    begin, sweeps, residual = time.perf_counter(), 0, math.inf

    def goal() -> float:
        return TOLERANCE * (1 - discount) * max(1.0, float(np.abs(value).max()))

    while residual > goal():
        after = sweep(world, value, discount, alpha)
        residual, value, sweeps = float(np.abs(after - value).max()), after, sweeps + 1
        if sweeps == PROBES:
            spent = time.perf_counter() - begin
            needed = sweeps + math.log(goal() / residual) / math.log(discount)
            if spent / sweeps * needed > limit:
                return {"seconds": spent / sweeps * needed, "extrapolated": True, "steps": round(needed)}
    return {"seconds": time.perf_counter() - begin, "steps": sweeps, "mean_value": float(value.mean())}


def peak_bytes() -> int:
    """Return the most memory this process ever held."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def main() -> None:
    """Read the world, and print a line for every discount."""
    parser = argparse.ArgumentParser(description="Time value iteration in plain NumPy.")
    parser.add_argument("world", type=Path, help="the world, an .npz file")
    parser.add_argument("--discounts", type=float, nargs="+", default=[0.99])
    parser.add_argument("--alpha", type=float, default=0.9)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a solution may take")
    options = parser.parse_args()
    base = peak_bytes()
    with np.load(options.world, allow_pickle=False) as archive:
        world = {name: archive[name] for name in ("targets", "chances", "mask", "reward")}
    for discount in options.discounts:
        row = {"peer": "numpy", "version": version("numpy"), "method": "value-iteration", "discount": discount}
        row |= {"alpha": options.alpha, "states": len(world["reward"])}
        row |= solve(world, discount, options.alpha, options.limit)
        print(json.dumps(row | {"process_bytes": peak_bytes() - base}), flush=True)


if __name__ == "__main__":
    main()
