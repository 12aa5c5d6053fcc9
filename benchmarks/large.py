"""Time planning and learning in worlds of 10⁴ to 10⁶ states: seconds, and bytes a state.

    python benchmarks/large.py --states 1000000 --discounts 0.99 0.999
    python benchmarks/large.py --kinds grid graph --states 10000 100000 --single

The worlds are those of `worlds.py`; on an accelerator the same command measures the accelerator.
"""

import argparse
import json
import resource
import time
from typing import Any

import jax
import numpy as np

import robustirl
import worlds
from robustirl import MDP, MarkovGame, irl, planning

ALPHA, LEARNER_STEPS = 0.9, 200


def best_of(run: Any, repeats: int = 3) -> tuple[float, float, Any]:
    """Return the seconds of the first call, the least seconds of the others, and the last result."""
    seconds, result = [], None
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        result = jax.block_until_ready(run())
        seconds.append(time.perf_counter() - begun)
    return seconds[0], min(seconds[1:]), result


def measure(kind: str, states: int, discount: float) -> dict[str, Any]:
    """Return what solving and learning take in one world."""
    world = worlds.make(f"{kind}:{states}")
    expert, learner = (
        MDP(matrix, discount=discount, num_actions=world.actions) for matrix in (world.expert, world.learner)
    )
    game = MarkovGame(learner, ALPHA)
    first, solved, solution = best_of(lambda: planning.solve(game, world.reward))
    rho = np.asarray(planning.state_occupancy(expert, planning.expert_policy(expert, world.reward, kind="soft")))
    settings = {**irl.PAPER_SETTINGS, "steps": LEARNER_STEPS}
    begun = time.perf_counter()
    fit = robustirl.fit(learner, rho, alpha=ALPHA, throw=False, **settings)
    learned = time.perf_counter() - begun
    return {
        "kind": kind,
        "states": world.states,
        "discount": discount,
        "first_solve": first,
        "solve": solved,
        "error_bound": float(solution.verdict.error_bound),
        "learning_steps": int(fit.verdict.steps),
        "learning": learned,
        "gap": float(fit.verdict.occupancy_gap),
        "peak_bytes_a_state": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / world.states,
        "device": jax.devices()[0].device_kind,
    }


def main() -> None:
    """Print a line of JSON for every world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", default=["grid", "graph"])
    parser.add_argument("--states", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--discounts", type=float, nargs="+", default=[0.99])
    parser.add_argument("--single", action="store_true", help="in single precision")
    given = parser.parse_args()
    for kind in given.kinds:
        for states in given.states:
            for discount in given.discounts:
                if given.single:
                    with robustirl.single_precision():
                        row = measure(kind, states, discount)
                else:
                    row = measure(kind, states, discount)
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
