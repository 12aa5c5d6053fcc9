"""One job of `scale.py` in a process of its own, so that its memory can be told from that of the others.

    python benchmarks/scale_worker.py size '{"states": 10000, "noise_model": "uniform-action", ...}'

Every measurement is a line of JSON on standard output, written as soon as it is made.
"""

import json
import math
import re
import sys
import time
from typing import Any

import numpy as np

import measuring
import robustirl
from scale_learning import batch_job, learn
from scale_world import NOISE, TOLERANCE, emit, grid, say

LARGEST_MATRIX = 2000  # States up to which Newton's method with a matrix is timed,
LARGEST_FACTORED = 400_000  # and with a sparse factorization.
SECONDS_A_FACTORED_STATE = 1e-4  # About what the latter takes on a processor.
MOST_EXTRAPOLATED = 100  # Times our patience: what value iteration would take is told up to here.
LOOP = 50  # Products or sweeps in one call, where a single one is too short to time.


def solver_of(name: str) -> Any:
    """Return the solver of a name in the result files."""
    from robustirl import planning

    return getattr(planning, "".join(word.capitalize() for word in name.split("-")))()


def name_of(solver: object) -> str:
    """Return the name of a solver in the result files: `newton-krylov` for NewtonKrylov."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(solver).__name__).lower()


def size_job(job: dict[str, Any]) -> None:
    """Measure all that is asked for at one size and noise model."""
    import jax
    import jax.numpy as jnp

    from robustirl.mdp import MDP, MarkovGame
    from robustirl.planning import choose_solver, solve, state_occupancy

    base = measuring.memory_peak()
    begin = time.perf_counter()
    world, reward = grid(job["states"], NOISE, job["noise_model"])
    reward = jnp.asarray(reward)
    jax.block_until_ready((world, reward))
    common = {"states": world.num_states, "noise_model": job["noise_model"]}
    seconds, peak = time.perf_counter() - begin, measuring.memory_peak() - base
    kernel, name = nbytes(world.kernel), type(world.kernel).__name__
    emit("world", **common, kernel=name, kernel_bytes=kernel, seconds=seconds, peak_bytes=peak)
    usual = MarkovGame(world, min(job["alphas"]))
    remember(common, lambda: solve(usual, reward, tolerance=TOLERANCE), base, nbytes((world, reward)))
    sweep_seconds = profile(common, usual, reward) if job["all_methods"] else None
    games = {
        (discount, alpha): MarkovGame(MDP(world.kernel, discount=discount, mask=world.mask), alpha)
        for discount in job["discounts"]
        for alpha in job["alphas"]
    }
    compiled = {name_of(choose_solver(usual))} - {"newton-sparse"}  # That one compiles parts of it again and again.
    visited = False
    for (discount, alpha), game in games.items():
        chosen, others = name_of(choose_solver(game)), []
        if sweep_seconds is not None and alpha == min(job["alphas"]):
            others = other_methods(job, game.mdp.num_states, discount, sweep_seconds)
        for method in dict.fromkeys((chosen, *others)):
            labels = {**common, "discount": discount, "alpha": alpha, "method": method, "auto": method == chosen}
            if (
                method == "value-iteration"
                and (guess := sweeps_needed(discount) * (sweep_seconds or 0)) > job["patience"]
            ):
                emit("solve", **labels, seconds=guess, extrapolated=True)
                continue
            row, solution = measuring.timed(
                lambda game=game, method=method: solve(game, reward, solver=solver_of(method), tolerance=TOLERANCE),
                repeats=job["repeats"],
                seconds=job["patience"],
                compiled=method in compiled,
            )
            compiled |= {method} - {"newton-sparse"}
            emit("solve", **labels, **row, **describe(solution))
            say(f"  γ={discount:g} α={alpha:g} {method}: {row['seconds']:.4g} s")
            if method == chosen and alpha == min(job["alphas"]):
                policy = solution.mixture
                row, _ = measuring.timed(
                    lambda mdp=game.mdp, policy=policy: state_occupancy(mdp, policy),
                    repeats=job["repeats"],
                    seconds=job["patience"],
                    compiled=visited,
                )
                visited = True
                emit("occupancy", **common, discount=discount, alpha=alpha, **row)
    if job["irl_steps"]:
        learn(common, job, world, reward)


def other_methods(job: dict[str, Any], states: int, discount: float, sweep_seconds: float) -> list[str]:
    """Return the other methods that end in reasonable time here.

    Value iteration may be extrapolated from its sweeps.
    """
    on_host = not measuring.on_accelerator()
    found = ["newton-krylov"]
    if states <= LARGEST_MATRIX:
        found.append("newton")
    if on_host and states <= LARGEST_FACTORED and states * SECONDS_A_FACTORED_STATE <= job["patience"]:
        found.append("newton-sparse")
    if sweep_seconds * sweeps_needed(discount) <= MOST_EXTRAPOLATED * job["patience"]:
        found.append("value-iteration")
    return found


def sweeps_needed(discount: float) -> float:
    """Return sweeps of value iteration from a first residual as large as the value: log(tolerance (1-γ)) / log γ."""
    return math.log(TOLERANCE * (1 - discount)) / math.log(discount)


def nbytes(tree) -> int:
    """Return bytes of all arrays of a tree."""
    import jax

    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def describe(solution) -> dict[str, Any]:
    """Return the verdict on a solution, and its value in a number that others can be compared with."""
    from robustirl.planning import NewtonKrylov

    verdict = solution.verdict
    return {
        "converged": bool(verdict.converged),
        "steps": int(verdict.iterations),
        "sweeps": NewtonKrylov().sweeps_here,
        "error_bound": float(verdict.error_bound),
        "mean_value": float(np.mean(np.asarray(solution.value))),
    }


def remember(common: dict[str, Any], run, base: int, given: int) -> None:
    """Return what solving takes: the process's peak since it began, and what a warm call adds to the world's arrays.

    The first counts the making of the world and the compiler too. On an accelerator, whose peak cannot be reset, both
    are the peak of what was in use there.
    """
    import jax

    begin = time.perf_counter()
    jax.block_until_ready(run())
    seconds, process = time.perf_counter() - begin, measuring.memory_peak() - base
    solving = process
    if measuring.forget_peak():
        before = measuring.memory_now()
        jax.block_until_ready(run())
        solving = given + measuring.memory_peak() - before
    states = common["states"]
    row = {"first_seconds": seconds, "process_bytes": process, "solving_bytes": solving, "given_bytes": given}
    emit("memory", **common, **row, bytes_a_state=solving / states)


def profile(common: dict[str, Any], game, reward) -> float:
    """Return one product with the chain of a policy and one sweep: what solving is made of; the seconds of a sweep."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from robustirl.planning.columns import column_game, lower
    from robustirl.planning.operators import Temperatures

    columns = column_game(game, reward, Temperatures())
    _, chain = eqx.filter_jit(lambda c, v: c.backup(v))(columns, jnp.zeros_like(reward))

    @eqx.filter_jit
    def products(chain, x):
        return jax.lax.fori_loop(0, LOOP, lambda _, x: chain.expect(x), x)

    @eqx.filter_jit
    def sweeps(columns, x):
        return jax.lax.fori_loop(0, LOOP, lambda _, x: columns.values(x), x)

    sweep_seconds = {}
    for precision, cast in (("float64", lambda tree: tree), ("float32", lower)):
        low, x = cast(chain), cast(reward)
        row, _ = measuring.timed(lambda low=low, x=x: products(low, x), seconds=3.0)
        seconds = row["seconds"] / LOOP
        moved = nbytes(low) + 2 * x.nbytes
        labels = {**common, "precision": precision}
        emit("product", **labels, seconds=seconds, bytes=moved, bytes_a_second=moved / seconds)
        game_columns = columns if precision == "float64" else columns.lowered()
        row, _ = measuring.timed(lambda columns=game_columns, x=x: sweeps(columns, x), seconds=3.0)
        sweep_seconds[precision] = row["seconds"] / LOOP
        emit("sweep", **labels, seconds=sweep_seconds[precision])
    return sweep_seconds["float64"]


def export_job(job: dict[str, Any]) -> None:
    """Return the world as lists of successors in a file, for the peers."""
    import jax.numpy as jnp

    from robustirl.mdp import BandedKernel

    world, reward = grid(job["states"], NOISE, "uniform-action")
    if isinstance(world.kernel, BandedKernel):
        chances = np.moveaxis(np.asarray(world.kernel.weights), 0, -1).transpose(1, 0, 2)
        targets = np.arange(world.num_states)[:, None, None] + np.array(world.kernel.offsets)
        targets = np.where(chances > 0, targets, 0)
    else:
        matrix = np.stack([np.asarray(world.kernel.expect(column)) for column in jnp.eye(world.num_states)], -1)
        targets = np.argsort(-matrix, axis=-1, kind="stable")[..., : int((matrix > 0).sum(-1).max())]
        chances = np.take_along_axis(matrix, targets, -1)
    mask = np.asarray(world.mask)
    np.savez(job["path"], targets=targets.astype(np.int32), chances=chances, mask=mask, reward=reward)


def main() -> None:
    """Do the job that the command line names."""
    kind, job = sys.argv[1], json.loads(sys.argv[2])
    robustirl.enable_x64()
    if kind == "machine":
        emit("machine", **measuring.describe_machine())
        emit(**measuring.bandwidth(job.get("doubles", measuring.STREAM)))
    else:
        {"size": size_job, "batch": batch_job, "export": export_job}[kind](job)


if __name__ == "__main__":
    main()
