"""Time fits and solves in worlds that are no grids of the paper, beside NumPy, QuantEcon and imitation.

    python benchmarks/strangers.py --out benchmarks/results/strangers.csv
    python benchmarks/strangers.py --worlds sepsis random:500:6:20 --alphas 0.9 --quantecon .venv-quantecon/bin/python

Every row is measured in fresh processes without a compilation cache: `first` is the first call with its compilation,
`again` a second one. Ours and NumPy's take turns, so that a slow spell of the machine hits both. The expert is soft, or
optimal with `--expert optimal`. `least_gap` is that of any policy, by a linear program, for α = 1.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
FITTED = ("sepsis", "sepsis-back", "random:100:4:100", "random:500:6:20", "random:2000:4:20", "taxi", "frozen-lake")
SOLVED = ("grid:10000", "graph:10000", "road:10000", "grid:100000", "graph:100000", "road:100000")
MOST_DENSE = 2_500
"""States up to which NumPy's dense matrices fit and end in time."""


def clock(run: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    import jax

    begun = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - begun, result


def problem(world: Any, expert: str) -> tuple[Any, np.ndarray, Any]:
    """Return the learner's MDP, the expert's occupancy and a function that measures a policy's return."""
    from robustirl import MDP, planning

    def mdp(matrix: Any, start: np.ndarray) -> Any:
        return MDP(matrix, discount=world.discount, initial=start, num_actions=world.actions)

    there, here = mdp(world.expert, world.starts[0]), mdp(world.learner, world.starts[1])
    rho = planning.state_occupancy(there, planning.expert_policy(there, world.reward, kind=expert))
    return here, np.asarray(rho), lambda policy: float(planning.discounted_return(here, policy, world.reward))


def fit_ours(name: str, alpha: float, expert: str) -> dict[str, Any]:
    """Return a first and a second fit of this library, and one at the next α of a user who tries several."""
    import robustirl
    import worlds

    here, rho, collect = problem(worlds.make(name), expert)
    first, _ = clock(lambda: robustirl.fit(here, rho, alpha=alpha, throw=False))
    again, fit = clock(lambda: robustirl.fit(here, rho, alpha=alpha, throw=False))
    other, _ = clock(lambda: robustirl.fit(here, rho, alpha=0.97 * alpha, throw=False))
    row = {"first": first, "again": again, "other_alpha": other, "steps": int(fit.verdict.steps)}
    return row | {"gap": float(np.abs(fit.occupancy - rho).sum()), "return": collect(fit.player)}


def fit_many_ours(name: str, count: int, expert: str) -> dict[str, Any]:
    """Return a first and a second batch of fits at so many values of α."""
    import robustirl
    import worlds

    here, rho, _ = problem(worlds.make(name), expert)
    alphas = np.linspace(1, 0.6, count).tolist()
    first, _ = clock(lambda: robustirl.fit_many([here] * count, [rho] * count, alphas, throw=False))
    again, _ = clock(lambda: robustirl.fit_many([here] * count, [rho] * count, alphas, throw=False))
    return {"first": first, "again": again}


def fit_numpy(name: str, alpha: float, expert: str) -> dict[str, Any]:
    """Return the NumPy yardstick's fit."""
    import numpy_irl
    import worlds

    world = worlds.make(name)
    _, rho, collect = problem(world, expert)
    dense = world.learner.toarray().reshape(world.states, world.actions, world.states)
    game = numpy_irl.Game(dense, world.starts[1], world.discount, alpha)
    seconds, (gap, player) = clock(lambda: numpy_irl.fit(game, rho))
    return {"first": seconds, "again": seconds, "steps": 200, "gap": gap, "return": collect(player)}


def least_gap(name: str, alpha: float, expert: str) -> dict[str, Any]:
    """Return the least occupancy gap of any policy: min ‖ρ_π - ρ‖₁ over occupancies of pairs, by linear programming."""
    del alpha  # The linear program is that of α = 1.
    import scipy.sparse as sp
    from scipy.optimize import linprog

    import worlds

    world = worlds.make(name)
    _, rho, _ = problem(world, expert)
    states, pairs = world.states, np.flatnonzero(np.diff(world.learner.indptr) > 0)
    onto = sp.csr_array((np.ones(len(pairs)), (pairs // world.actions, np.arange(len(pairs)))), (states, len(pairs)))
    flow = onto - world.discount * sp.csr_array(world.learner)[pairs].T
    identity = sp.eye_array(states)
    equal = sp.block_array([[flow, None, None], [onto, -identity, identity]])
    cost = np.append(np.zeros(len(pairs)), np.ones(2 * states))
    right = np.append((1 - world.discount) * world.starts[1], rho)
    seconds, result = clock(lambda: linprog(cost, A_eq=equal, b_eq=right, method="highs-ipm"))
    return {"first": seconds, "again": seconds, "gap": float(result.fun)}


def solve_ours(name: str, alpha: float, expert: str) -> dict[str, Any]:
    """Return a first and a second solve of the robust game, and what a step of learning costs there."""
    import robustirl
    import worlds
    from robustirl import MarkovGame, irl, planning

    world = worlds.make(name)
    here, rho, _ = problem(world, expert)
    game = MarkovGame(here, alpha)
    first, _ = clock(lambda: planning.solve(game, world.reward))
    again, _ = clock(lambda: planning.solve(game, world.reward))
    settings = {**irl.PAPER_SETTINGS, "steps": 20}
    robustirl.fit(here, rho, alpha=alpha, throw=False, **settings)
    seconds, _ = clock(lambda: robustirl.fit(here, rho, alpha=alpha, throw=False, **settings))
    return {"first": first, "again": again, "learning_step": seconds / 20}


TASKS = {"fit": fit_ours, "numpy": fit_numpy, "many": fit_many_ours, "least gap": least_gap, "solve": solve_ours}


def run(task: str, *given: Any) -> dict[str, Any]:
    """Run a task in a fresh process without a compilation cache, and return its row; a failure is a row, too."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    line = [sys.executable, str(HERE / "strangers.py"), "--task", json.dumps([task, *given])]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    row = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {"error": done.stderr.strip()[-200:]}
    return {"world": given[0], "what": task, "setting": given[1], **row}


def peer(python: str, script: str, name: str, expert: str) -> list[dict[str, Any]]:
    """Return the rows of another library, run by the Python of an environment of its own; none without one."""
    import worlds

    if not python:
        return []
    world = worlds.make(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.npz"
        if script == "imitation_mce.py":
            dense = world.learner.toarray().reshape(world.states, world.actions, world.states)
            _, rho, _ = problem(world, expert)
            np.savez(path, transition=dense, initial=world.starts[1], discount=world.discount, occupancy=rho)
        else:
            matrix = world.learner
            longest = int(np.diff(matrix.indptr).max())
            filled = np.arange(longest) < np.diff(matrix.indptr)[:, None]
            targets, chances = np.zeros(filled.shape, np.int32), np.zeros(filled.shape)
            targets[filled], chances[filled] = matrix.indices, matrix.data
            shape = (world.states, world.actions)
            lists = {"targets": targets.reshape(*shape, -1), "chances": chances.reshape(*shape, -1)}
            np.savez(path, mask=filled.any(1).reshape(shape), reward=world.reward, **lists)
        line = [python, str(HERE / "peers" / script), str(path)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    found = [json.loads(text) for text in done.stdout.splitlines()]
    return [
        {"world": name, "what": f"{row['peer']} {row.get('method', '')}".strip(), "setting": 1.0}
        | {"again": row.get("seconds", row.get("seconds_for_200_steps"))}
        for row in found
    ]


def main() -> None:
    """Measure, print and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="*", default=[*FITTED, *SOLVED])
    parser.add_argument("--alphas", type=float, nargs="+", default=[1.0, 0.9])
    parser.add_argument("--expert", choices=("soft", "optimal"), default="soft")
    parser.add_argument("--many", type=int, default=13, help="values of α in one batch; 0 for none")
    parser.add_argument("--quantecon", default="", help="the Python of QuantEcon's environment")
    parser.add_argument("--imitation", default="", help="the Python of imitation's environment")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        task, *rest = json.loads(given.task)
        print(json.dumps(TASKS[task](*rest)))
        return
    rows: list[dict[str, Any]] = []

    def add(found: list[dict[str, Any]]) -> None:
        for row in found:
            rows.append(row)
            print(json.dumps(row), flush=True)

    import worlds

    for name in given.worlds:
        states = worlds.make(name).states
        if states > MOST_DENSE:
            add([run("solve", name, given.alphas[-1], given.expert)])
            add(peer(given.quantecon, "quantecon_ddp.py", name, given.expert))
            continue
        for alpha in given.alphas:
            add([run("fit", name, alpha, given.expert), run("numpy", name, alpha, given.expert)])
        add([run("least gap", name, 1.0, given.expert)])
        if given.many:
            add([run("many", name, given.many, given.expert)])
        add(peer(given.imitation, "imitation_mce.py", name, given.expert))
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
