"""Solve a world whose states are spread over devices: seconds and bytes a state, and what devices send each other.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python benchmarks/shards.py --states 1000000 --out shards.jsonl

The world is a town of blocks, a square of states with four actions of two successors each, built by `shard_function`
from a function: every device asks for its own states alone. It is stored as lists, although a grid could be stored as
diagonals, because lists are what other worlds have. `--whole-vectors` keeps the numbers of the world, so that devices
send each other whole vectors; `--check` compares with SciPy at α = 1. Each call adds a line to a file.
"""

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

import measuring
import robustirl
from robustirl.mdp import MDP, MarkovGame, replace_parts, shard_function
from robustirl.planning import Temperatures, solve, state_occupancy
from robustirl.planning.columns import column_game

DISCOUNT, ALPHA, SLIP = 0.99, 0.9, 0.1
COLLECTIVES = r"= f\d+\[([0-9,]*)\]\S* (collective-permute|all-gather|all-to-all|all-reduce)(?:-start)?\("


def main() -> None:
    """Measure one size on so many devices, and add a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--devices", type=int, help="all there are if omitted")
    parser.add_argument("--whole-vectors", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/shards.jsonl"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    robustirl.enable_x64()
    side = int(np.ceil(np.sqrt(given.states)))
    devices = jax.devices()[: given.devices]
    row: dict[str, Any] = {"benchmark": "shards", "states": side**2, "devices": len(devices)}
    before = measuring.resident_peak()
    row["build_seconds"], world = seconds(lambda: town(side, devices))
    if given.whole_vectors:
        lists: Any = world.kernel.successor_lists()
        parts = lambda k: (k.inflow, k.halved)  # noqa: E731
        world = replace_parts(world, kernel=eqx.tree_at(parts, lists, (None, None), is_leaf=lambda x: x is None))
    row |= {"kernel": type(world.kernel).__name__, "strip": getattr(world.kernel, "strip", None)}
    row["kernel_bytes_a_state"] = sum(leaf.nbytes for leaf in jax.tree.leaves(world.kernel)) / world.num_states
    reward = rewards(world.num_states)
    row["sent"] = sent(world)
    row["first_solve_seconds"], found = seconds(lambda: solve(MarkovGame(world, ALPHA), reward))
    row["solve_seconds"], found = seconds(lambda: solve(MarkovGame(world, ALPHA), reward), given.repeats)
    row |= {"steps": int(found.verdict.iterations), "error_bound": float(found.verdict.error_bound)}
    row["first_occupancy_seconds"], _ = seconds(lambda: state_occupancy(world, found.mixture))
    row["occupancy_seconds"], _ = seconds(lambda: state_occupancy(world, found.mixture))
    row["peak_bytes_a_state"] = (measuring.resident_peak() - before) / world.num_states
    if measuring.on_accelerator():
        row["device_peak_bytes_a_state"] = measuring.memory_peak() / world.num_states
    if given.check:
        row["apart_from_scipy"] = apart_from_scipy(world, reward)
    row["machine"] = measuring.describe_machine()
    with given.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps({name: value for name, value in row.items() if name != "machine"}))


def town(side: int, devices: list[Any]) -> MDP:
    """Return a square of states, built device by device: an action goes one block its way, or now and then the next."""
    steps = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])

    def successors(states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        here = np.stack(np.divmod(states, side), -1)
        there = [np.clip(here + steps[(actions + turn) % 4], 0, side - 1) @ [side, 1] for turn in (0, 1)]
        return np.stack(there, -1), np.broadcast_to([1 - SLIP, SLIP], (len(states), 2))

    sizes: Any = {"num_states": side**2, "num_actions": 4, "num_successors": 2}
    return shard_function(successors, **sizes, discount=DISCOUNT, devices=devices)


def rewards(states: int) -> np.ndarray:
    """Return random costs between 0 and 1."""
    return -np.random.default_rng(0).uniform(size=states)


def seconds(work: Any, repeats: int = 1) -> tuple[float, Any]:
    """Return the least seconds of some calls, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        result = None  # Not two results at a time.
        begin = time.perf_counter()
        result = jax.block_until_ready(work())
        best = min(best, time.perf_counter() - begin)
    return best, result


def sent(world: MDP) -> dict[str, list]:
    """Return what devices send each other for a sweep and for a flow: shapes and kinds, as XLA compiles them."""
    columns = column_game(MarkovGame(world, ALPHA), world.initial, Temperatures())
    compiled: Any = eqx.filter_jit
    sweep = compiled(lambda c, v: c.values(v)).lower(columns, columns.reward)
    chain = compiled(lambda k, v: k.chain([v] * world.num_actions))(world.kernel, columns.reward)
    flow = compiled(lambda c, v: c.push(v)).lower(chain, columns.reward)
    programs = {"sweep": sweep, "flow": flow}
    return {name: re.findall(COLLECTIVES, made.compile().compiled.as_text()) for name, made in programs.items()}


def apart_from_scipy(world: MDP, reward: np.ndarray) -> float:
    """Return how far SciPy's value of the soft policy of α = 1 is from ours, relative to the largest value."""
    import scipy.sparse
    import scipy.sparse.linalg

    plan = solve(world, reward)
    policy = np.asarray(plan.player)
    weights = np.where(np.asarray(world.mask), policy, 0)
    size, actions = policy.shape
    matrix = world.kernel.to_sparse()
    chooses = scipy.sparse.csr_array(
        (weights.ravel(), np.arange(weights.size), np.arange(0, weights.size + 1, actions))
    )
    chain = chooses @ matrix
    earned = reward - np.where(policy > 0, policy * np.log(np.maximum(policy, 1e-300)), 0).sum(1)
    system: Any = scipy.sparse.csc_array(scipy.sparse.eye_array(size) - DISCOUNT * chain)
    theirs: Any = scipy.sparse.linalg.spsolve(system, earned)
    return float(np.abs(theirs - np.asarray(plan.value)).max() / np.abs(theirs).max())


if __name__ == "__main__":
    main()
