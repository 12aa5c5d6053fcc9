"""Worlds that do not suit us, beside SciPy: chains, hubs, expanders, dense arrays, many actions, one action.

Grids are near to what our solvers were built on. Here each world has a shape that some solver loves and ours may not.
For each: seconds of a warm solve at alpha = 1 and at alpha = 0.9, seconds of the first (which compiles), and seconds of
two things a person would write with SciPy for alpha = 1, to the same accuracy: policy iteration with a sparse
direct solve, and value iteration by sparse products. All run in turn in one process; values are compared.

    taskset -c 0,1 python benchmarks/odd_worlds.py --out benchmarks/results/odd-worlds-cpu.json
    python benchmarks/odd_worlds.py --report
"""

import argparse
import json
import multiprocessing
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import measuring

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results" / "odd-worlds-cpu.json", HERE.parent / "docs" / "data" / "odd-worlds.md"
TOLERANCE = 1e-10  # Relative to the largest value, as the solver's default.
PROBES = 3  # Sweeps to time before deciding whether value iteration would take too long.


class World(NamedTuple):
    """A world as a user has it: row `s * num_actions + a` of the matrix is T(.|s,a)."""

    matrix: Any  # scipy.sparse.csr_array [S * A, S], or an array [S, A, S].
    num_actions: int
    discount: float
    why: str

    @property
    def sparse(self) -> Any:
        """Return the kernel as a sparse matrix."""
        if scipy.sparse.issparse(self.matrix):
            return self.matrix
        return scipy.sparse.csr_array(self.matrix.reshape(-1, self.matrix.shape[-1]))


def rows_to(columns: np.ndarray, chances: np.ndarray, states: int) -> Any:
    """Return the sparse matrix whose row i has the chances [i, k] in the columns [i, k]."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    entries = (np.broadcast_to(chances, columns.shape).ravel(), (rows, columns.ravel()))
    return scipy.sparse.csr_array(entries, shape=(len(columns), states))


def grid(states: int) -> World:
    """Return four moves on a square, one of ten at random."""
    side = int(np.sqrt(states))
    y, x = np.divmod(np.arange(side * side), side)
    moves = [np.clip(y + dy, 0, side - 1) * side + np.clip(x + dx, 0, side - 1) for dy, dx in _MOVES]
    ahead = np.stack(moves, 1)
    columns = np.stack([np.concatenate([ahead[:, [a]], ahead], 1) for a in range(4)], 1).reshape(-1, 5)
    return World(rows_to(columns, np.array([0.9, *[0.025] * 4]), side * side), 4, 0.99, "for comparison")


_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def chain(states: int) -> World:
    """Return a walk along a line."""
    s = np.arange(states)
    ahead, back = np.minimum(s + 1, states - 1), np.maximum(s - 1, 0)
    columns = np.stack([np.stack([ahead, back], 1), np.stack([back, ahead], 1)], 1).reshape(-1, 2)
    return World(rows_to(columns, np.array([0.9, 0.1]), states), 2, 0.999, "information has thousands of steps to go")


def ring(states: int) -> World:
    """Return a ring that can be gone round in one direction, by one or two states, without noise."""
    s = np.arange(states)
    columns = np.stack([(s + 1) % states, (s + 2) % states], 1).reshape(-1, 1)
    return World(rows_to(columns, np.ones(1), states), 2, 0.999, "deterministic and periodic")


def layers(states: int) -> World:
    """Return a hundred layers, each leading to the next, the last to the first."""
    width, rng = max(states // 100, 2), np.random.default_rng(0)
    layer = np.repeat(np.arange(100), width)
    columns = (((layer + 1) % 100) * width)[:, None, None] + rng.integers(0, width, (100 * width, 4, 2))
    return World(rows_to(columns.reshape(-1, 2), np.array([0.7, 0.3]), 100 * width), 4, 0.99, "an episode of 100 steps")


def expander(states: int) -> World:
    """Return successors drawn at random."""
    columns = np.random.default_rng(0).integers(0, states, (states * 4, 3))
    return World(rows_to(columns, np.array([0.6, 0.3, 0.1]), states), 4, 0.99, "no order of states is local")


def hub(states: int) -> World:
    """Return a star: from the hub one action leads anywhere, from everywhere one leads to the hub."""
    s = np.arange(states)
    forth, back = np.stack([s, np.minimum(s + 1, states - 1)], 1).reshape(-1, 1), np.zeros((states, 1), int)
    matrix = rows_to(np.concatenate([forth.reshape(states, 2), back], 1).reshape(-1, 1), np.ones(1), states).tolil()
    matrix[2] = np.full((1, states), 1.0 / states)
    return World(scipy.sparse.csr_array(matrix), 3, 0.99, "one list is as long as the world")


def dense(states: int) -> World:
    """Return an array without zeros."""
    size = max(int(np.sqrt(states * 25)), 10)
    rows = np.random.default_rng(0).dirichlet(np.full(size, 0.5), (size, 4))
    return World(rows, 4, 0.99, "every state follows every state")


def actions(states: int) -> World:
    """Return few states of 200 actions."""
    size = max(states // 20, 10)
    columns = np.random.default_rng(0).integers(0, size, (size * 200, 2))
    return World(rows_to(columns, np.array([0.8, 0.2]), size), 200, 0.99, "200 actions")


def one_action(states: int) -> World:
    """Return a chain without a choice."""
    columns = np.random.default_rng(0).integers(0, states, (states, 3))
    return World(rows_to(columns, np.array([0.6, 0.3, 0.1]), states), 1, 0.99, "a linear system and nothing else")


WORLDS: dict[str, Callable[[int], World]] = {
    "grid": grid,
    "chain": chain,
    "ring": ring,
    "layers": layers,
    "expander": expander,
    "hub": hub,
    "dense": dense,
    "200 actions": actions,
    "one action": one_action,
}


def backup(world: World, matrix: Any, reward: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the soft backup of values at alpha = 1, and the policy [S, A] that attains it."""
    q = world.discount * (matrix @ value).reshape(len(reward), -1)
    best = q.max(1, keepdims=True)
    weights = np.exp(q - best)
    total = weights.sum(1, keepdims=True)
    return reward + best[:, 0] + np.log(total[:, 0]), weights / total


def goal(world: World, value: np.ndarray) -> float:
    """Return the residual that guarantees the tolerance."""
    return TOLERANCE * (1 - world.discount) * max(1.0, float(np.abs(value).max()))


def policy_iteration(world: World, reward: np.ndarray) -> tuple[np.ndarray, int]:
    """Return values by Newton's method (soft policy iteration) with SciPy's sparse direct solver, and its steps."""
    matrix, states = world.sparse, len(reward)
    value = np.zeros(states)
    spread = scipy.sparse.kron(scipy.sparse.eye_array(states), np.ones((1, world.num_actions)), format="csr")
    for step in range(100):
        after, policy = backup(world, matrix, reward, value)
        residual = after - value
        if float(np.abs(residual).max()) <= goal(world, value):
            return after, step
        chain = spread @ (scipy.sparse.diags_array(policy.ravel()) @ matrix)
        system = scipy.sparse.eye_array(states) - world.discount * chain
        value = value + scipy.sparse.linalg.spsolve(system.tocsc(), residual)
    raise RuntimeError("policy iteration did not end within 100 steps")


def _timed_policy_iteration(found: Any, name: str, states: int) -> None:
    world = WORLDS[name](states)
    reward = draw_reward(world)
    begin = time.perf_counter()
    value, steps = policy_iteration(world, reward)
    found.put((value, steps, time.perf_counter() - begin))


def policy_iteration_within(name: str, states: int, limit: float) -> tuple[np.ndarray, int, float] | None:
    """Return what policy iteration finds, its steps and seconds; None if it takes too long, as where factors fill."""
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    worker = context.Process(target=_timed_policy_iteration, args=(found, name, states), daemon=True)
    worker.start()
    try:
        return found.get(timeout=limit)
    except queue.Empty:
        return None
    finally:
        worker.kill()


def draw_reward(world: World) -> np.ndarray:
    """Return a reward of the states, drawn at random."""
    return np.random.default_rng(1).normal(size=world.sparse.shape[1])


def value_iteration(world: World, reward: np.ndarray, limit: float) -> tuple[np.ndarray | None, int, float]:
    """Return values by repeated backups, the sweeps, and seconds; where they exceed the limit, the arithmetic."""
    matrix, value = world.sparse, np.zeros(len(reward))
    begin, sweeps = time.perf_counter(), 0
    while True:
        after, _ = backup(world, matrix, reward, value)
        residual, value, sweeps = float(np.abs(after - value).max()), after, sweeps + 1
        if residual <= goal(world, value):
            return value, sweeps, time.perf_counter() - begin
        if sweeps == PROBES:
            spent = (time.perf_counter() - begin) / sweeps
            needed = sweeps + np.log(goal(world, value) / residual) / np.log(world.discount)
            if spent * needed > limit:
                return None, round(needed), float(spent * needed)


def measure(name: str, states: int, limit: float) -> dict[str, Any]:
    """Return the row of one world."""
    from robustirl.mdp import MDP, MarkovGame
    from robustirl.planning import solve

    world = WORLDS[name](states)
    given = {} if isinstance(world.matrix, np.ndarray) else {"num_actions": world.num_actions}
    ours = MDP(world.matrix, discount=world.discount, **given)
    reward = draw_reward(world)
    row: dict[str, Any] = {"world": name, "why": world.why, "states": ours.num_states, "actions": ours.num_actions}
    row |= {"discount": world.discount, "kernel": type(ours.kernel).__name__}
    value = np.zeros(0)
    before = measuring.memory_now() if measuring.forget_peak() else None
    for label, alpha in (("alpha 1", 1.0), ("alpha 0.9", 0.9)):
        game = MarkovGame(ours, alpha)
        spent = time.process_time()
        times, found = measuring.timed(lambda game=game: solve(game, reward), repeats=3, seconds=10.0)
        row[label] = times | {"converged": bool(found.verdict.converged), "steps": int(found.verdict.iterations)}
        row[label]["processor_seconds_with_compilation"] = time.process_time() - spent
        if alpha == 1.0:
            value = np.asarray(found.value)
    if before is not None:
        row["bytes_a_state"] = (measuring.memory_peak() - before) / ours.num_states
    direct = policy_iteration_within(name, states, limit)
    row["policy iteration"] = {"steps": None, "seconds": limit, "stopped": True}
    if direct is not None:
        row["policy iteration"] = {"steps": direct[1], "seconds": direct[2], "stopped": False}
    swept, sweeps, seconds = value_iteration(world, reward, limit)
    row["value iteration"] = {"seconds": seconds, "steps": sweeps, "extrapolated": swept is None}
    theirs = swept if direct is None else direct[0]
    row["apart"] = None if theirs is None else float(np.abs(value - theirs).max() / np.abs(theirs).max())
    return row


def page(found: dict[str, Any]) -> str:
    """Return the table as a page."""
    machine = found["machine"]
    lines = [
        "# Worlds that do not suit us",
        "",
        f"Written by `benchmarks/{Path(__file__).name}`: {machine['cpu']}, {machine['cores']} cores,"
        f" {machine['date'][:10]}, JAX {machine['versions']['jax']}, SciPy {machine['versions']['scipy']}.",
        "",
        "Seconds of a warm solve from nothing to a relative 1e-10. The first solve of a size compiles, and takes the"
        " seconds in brackets more. Policy iteration (sparse direct solves) and value iteration (sparse products) are a"
        " few lines of SciPy, for α = 1 alone. A ratio above 1 means that SciPy's faster way is faster than ours.",
        "",
        "| world | what is hard | states × actions | γ | α = 1 | α = 0.9 | policy iteration | value iteration |"
        " ours / SciPy | apart | bytes a state |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in found["rows"]:
        one, nine = row["alpha 1"], row["alpha 0.9"]
        direct, sweeps = row["policy iteration"], row["value iteration"]
        ratio = one["seconds"] / min(direct["seconds"], sweeps["seconds"])
        cells = [
            row["world"],
            row["why"],
            f"{row['states']:,} × {row['actions']}",
            f"{row['discount']:g}",
            *(f"{x['seconds']:.2g} (+{x['compilation']:.1f})" + _unless(x["converged"]) for x in (one, nine)),
            f"{'stopped after ' if direct['stopped'] else ''}{direct['seconds']:.2g}",
            f"{sweeps['seconds']:.2g}{' (arithmetic)' if sweeps['extrapolated'] else ''}",
            f"{ratio:.2g}",
            "" if row["apart"] is None else f"{row['apart']:.0e}",
            f"{row['bytes_a_state']:,.0f}" if "bytes_a_state" in row else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _unless(converged: bool) -> str:
    return "" if converged else ", not converged"


def main() -> None:
    """Measure the worlds in turn, and write the file anew after each; or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which value iteration is arithmetic")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/odd-worlds.json"))
    parser.add_argument("--report", action="store_true", help="write the page from the stored results, and do no more")
    options = parser.parse_args()
    if options.report:
        PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for name in options.worlds:
        rows.append(measure(name, options.states, options.limit))
        print(json.dumps(rows[-1]), flush=True)
        found = {"benchmark": "odd-worlds", "machine": measuring.describe_machine(), "rows": rows}
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
