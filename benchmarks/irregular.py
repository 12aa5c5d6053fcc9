"""Worlds of lists beside grids: the grid of `scale.py`, and the same world as lists numbered at random.

For each size: seconds of one product and its transpose, of a cold robust solve, and of a step of robust learning, in
both worlds, measured in turn in one process; and how far their solutions are apart. On a GPU the same command measures
the GPU.

    python benchmarks/irregular.py --out benchmarks/results/irregular-cpu.json
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import measuring
import robustirl
import scale_world
from irregular_world import irregular

SIZES = (10_000, 100_000, 1_000_000)
LOOP = 50  # Products in one call.
NOISE, ALPHA = 0.1, 0.9


def main() -> None:
    """Measure all sizes, and write the file anew after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--steps", type=int, default=20, help="of learning, and twice as many")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--discounts", type=float, nargs="+", default=(0.99, 0.999))
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which no further size begins")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/irregular.json"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    robustirl.enable_x64()
    rows: list[dict[str, Any]] = []
    begin = time.monotonic()
    for states in options.sizes:
        if time.monotonic() - begin > options.budget:
            break
        measure(states, options, rows)
        found = {"benchmark": "irregular", "machine": measuring.describe_machine(), "rows": rows}
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def seconds_of(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the smallest time of warm calls, and the last result."""
    import jax

    result = jax.block_until_ready(run())
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        result = jax.block_until_ready(run())
        best = min(best, time.perf_counter() - begin)
    return float(best), result


def measure(states: int, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Measure one size."""
    from robustirl.irl import fit
    from robustirl.mdp import MDP, MarkovGame, renumbered
    from robustirl.planning import solve, state_occupancy

    begin = time.perf_counter()
    lists, reward, number = irregular(states, NOISE)
    built = time.perf_counter() - begin
    grid, grid_reward = scale_world.grid(states, NOISE, "uniform-action")
    back = np.argsort(number)
    begin = time.perf_counter()
    found = renumbered(lists)
    ordering = time.perf_counter() - begin
    worlds = {"grid": (grid, grid_reward, np.arange(len(number))), "lists": (lists, reward, number)}
    inner = {"grid": grid, "lists": lists if found is None else found[0]}

    def add(what: str, kind: str, **row: Any) -> None:
        rows.append({"what": what, "kind": kind, "states": grid.num_states, **row})
        print(json.dumps(rows[-1]), flush=True)

    add("world", "lists", seconds=built, renumbered=found is not None, renumbering_seconds=ordering)
    for kind, world in inner.items():
        for name, row in products(world, options.repeats).items():
            add(name, kind, seconds=row)
    for discount in options.discounts:
        values = {}
        for kind, (world, own_reward, order) in worlds.items():
            game = MarkovGame(MDP(world.kernel, discount=discount, mask=world.mask, initial=world.initial), ALPHA)
            seconds, solution = seconds_of(lambda g=game, r=own_reward: solve(g, r), options.repeats)
            values[kind] = np.asarray(solution.value)[order]
            steps, bound = int(solution.verdict.iterations), float(solution.verdict.error_bound)
            add("solve", kind, discount=discount, seconds=seconds, steps=steps, error_bound=bound)
        apart = float(np.abs(values["grid"] - values["lists"]).max())
        add("agreement", "both", discount=discount, largest_difference=apart, size=float(np.abs(values["grid"]).max()))
    rho = np.asarray(state_occupancy(grid, solve(MarkovGame(grid, 1.0), grid_reward).player))
    learners = {
        "grid": (scale_world.grid(states, 0.0, "uniform-action")[0], rho),
        "lists": (irregular(states, 0.0)[0], rho[back]),
    }
    for kind, (world, occupancy) in learners.items():
        cold, _ = seconds_of(lambda w=world, k=kind: solve(MarkovGame(w, ALPHA), worlds[k][1]), options.repeats)
        times = {}
        for count in (options.steps, 2 * options.steps):
            times[count], result = seconds_of(
                lambda w=world, o=occupancy, n=count: fit(w, o, alpha=ALPHA, steps=n, throw=False), 1
            )
        taken = max(int(result.verdict.steps), 1)
        # What a further step costs, without the plan to full accuracy at the end of every fit.
        further = (times[2 * options.steps] - times[options.steps]) / options.steps
        add(
            "learning",
            kind,
            seconds=times[2 * options.steps],
            steps=taken,
            seconds_a_step=times[2 * options.steps] / taken,
            seconds_a_further_step=further,
            cold_solve=cold,
            step_over_cold_solve=times[2 * options.steps] / taken / cold,
            further_step_over_cold_solve=further / cold,
            gap=float(result.verdict.occupancy_gap),
            status=str(result.verdict.status),
        )


def products(world: Any, repeats: int) -> dict[str, float]:
    """Return the seconds of a product with the chain of the uniform policy, of its transpose, and of a sweep."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from robustirl.mdp import MarkovGame
    from robustirl.planning.columns import column_game, lower
    from robustirl.planning.operators import Temperatures

    value = jnp.linspace(0.0, 1.0, world.num_states)
    columns = column_game(MarkovGame(world, ALPHA), value, Temperatures())
    chain = eqx.filter_jit(lambda c, v: c.backup(v)[1])(columns, value)

    @eqx.filter_jit
    def forward(chain: Any, x: Any) -> Any:
        return jax.lax.fori_loop(0, LOOP, lambda _, x: chain.expect(x), x)

    @eqx.filter_jit
    def turned(chain: Any, x: Any) -> Any:
        across = chain.transpose()
        return jax.lax.fori_loop(0, LOOP, lambda _, x: across.expect(x), x)

    @eqx.filter_jit
    def sweep(columns: Any, x: Any) -> Any:
        return jax.lax.fori_loop(0, LOOP, lambda _, x: columns.values(x), x)

    low, small = lower(chain), value.astype(jnp.float32)
    timed = {
        "product": lambda: forward(chain, value),
        "transposed product": lambda: turned(chain, value),
        "product in float32": lambda: forward(low, small),
        "sweep in float32": lambda: sweep(columns.lowered(), small),
    }
    return {name: seconds_of(run, repeats)[0] / LOOP for name, run in timed.items()}


if __name__ == "__main__":
    main()
