"""Time QuantEcon's `DiscreteDP`, with sparse transitions, on a world read from a file.

Run by the Python of an environment of its own (see quantecon-requirements.txt):

    python quantecon_ddp.py WORLD.npz --discounts 0.9 0.99 --limit 30

WORLD.npz is that of `numpy_vi.py`. The problem is easier than ours: one player, hard maximum, ε-optimal at 1e-8. Every
method is called once on a small world first, which compiles what Numba compiles; a method that is not done by
the limit is stopped, and its row says `more_than`; in a large world it is not tried at larger discounts.
JSON lines go to standard output.
"""

import argparse
import json
import signal
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.sparse
from quantecon.markov import DiscreteDP

METHODS = ("value_iteration", "modified_policy_iteration", "policy_iteration")
EPSILON = 1e-8
MOST_ITERATIONS = 10_000_000
LARGE = 10_000  # States from which on a method that ran out of time is not tried at larger discounts.


class OutOfTimeError(Exception):
    """The limit has come before the solution."""


def problem(world: dict[str, np.ndarray], discount: float) -> DiscreteDP:
    """Return the world as state-action pairs with a sparse matrix, the form QuantEcon has for large worlds."""
    mask, targets, chances = world["mask"], world["targets"], world["chances"]
    states, actions = np.nonzero(mask)
    pairs = np.broadcast_to(np.arange(len(states))[:, None], (len(states), targets.shape[2]))
    kept = chances[mask] > 0
    content = chances[mask][kept], (pairs[kept], targets[mask][kept])
    matrix = scipy.sparse.csr_matrix(content, shape=(len(states), len(mask)))
    return DiscreteDP(world["reward"][states], matrix, discount, states, actions)


def solve(ddp: DiscreteDP, method: str, limit: float) -> dict[str, object]:
    """Return seconds of one solution, or that it takes more than the limit."""

    def stop(*_: object) -> None:
        raise OutOfTimeError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    begin = time.perf_counter()
    try:
        result = ddp.solve(method=method, epsilon=EPSILON, max_iter=MOST_ITERATIONS)
    except OutOfTimeError:
        return {"seconds": None, "more_than": time.perf_counter() - begin}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "steps": int(result.num_iter), "mean_value": float(np.mean(result.v))}


def peak_bytes() -> int:
    """Return the most memory this process ever held."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def corridor() -> dict[str, np.ndarray]:
    """Return a world of three states, to compile on."""
    targets = np.array([[[0], [1]], [[0], [2]], [[1], [2]]])
    return {
        "targets": targets,
        "chances": np.ones(targets.shape),
        "mask": np.ones((3, 2), bool),
        "reward": np.array([0.0, -1.0, -1.0]),
    }


def main() -> None:
    """Read the world, and print a line for every discount and method."""
    parser = argparse.ArgumentParser(description="Time QuantEcon's DiscreteDP.")
    parser.add_argument("world", type=Path, help="the world, an .npz file")
    parser.add_argument("--discounts", type=float, nargs="+", default=[0.99])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a solution may take")
    options = parser.parse_args()
    for method in options.methods:
        solve(problem(corridor(), 0.5), method, options.limit)
    base = peak_bytes()
    with np.load(options.world, allow_pickle=False) as archive:
        world = {name: archive[name] for name in ("targets", "chances", "mask", "reward")}
    hopeless: set[str] = set()
    for discount in options.discounts:
        ddp = problem(world, discount)
        for method in options.methods:
            if method in hopeless:
                continue
            row = {"peer": "quantecon", "version": version("quantecon"), "method": method, "discount": discount}
            row |= {"alpha": 1.0, "states": len(world["reward"]), **solve(ddp, method, options.limit)}
            print(json.dumps(row | {"process_bytes": peak_bytes() - base}), flush=True)
            if row["seconds"] is None and row["states"] >= LARGE:
                hopeless.add(method)


if __name__ == "__main__":
    main()
