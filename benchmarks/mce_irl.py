"""Speed of one run of robust MCE IRL, side by side with `imitation` in the same benchmark run.

The work is one cell of the paper's first figure: gridworld-1, expert noise 0.1, learner noise 0, 200 Adam
steps, every planner call to 1e-10, float64, warm (compiled), on one core. The peer, whose environment is
its own, learns from the same world and occupancy with alpha = 1 at a horizon of 2300; a few of its steps
are timed and scaled to 200. Ours is measured before and after it, so that a slow spell of the machine shows.

    python benchmarks/mce_irl.py --peer-python .venv-imitation/bin/python --out benchmarks/out
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PEER_SCRIPT = Path(__file__).parent / "peers" / "imitation_mce.py"
REPEATS = 15
IMPORT_PROGRAM = """
import time
import jax, jax.numpy, jax.scipy.linalg
before = time.perf_counter()
import robustirl
print(time.perf_counter() - before)
"""


def main() -> None:
    """Measure, print a table, and write the numbers down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", type=Path, help="interpreter of imitation's environment; left out, no peer")
    parser.add_argument("--peer-steps", type=int, default=5, help="steps of the peer to time")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"), help="folder for the result file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    if not hasattr(os, "sched_setaffinity"):
        sys.exit("this system cannot pin a process to one core, which the benchmark needs; run it on Linux.")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # Before JAX starts its threads.

    import robustirl

    robustirl.enable_x64()
    result: dict[str, object] = {"machine": describe_machine(cores)}
    first = time_single_runs()
    peer = time_peer(options.peer_python, options.peer_steps) if options.peer_python else None
    second = time_single_runs()
    ours = {alpha: min(first[alpha], second[alpha], key=lambda t: t["median"]) for alpha in first}
    result["one_run"] = {"before_peer": first, "after_peer": second}
    if peer is not None:
        result["imitation"] = peer
        result["ratio"] = {alpha: peer["seconds_for_200_steps"] / ours[alpha]["median"] for alpha in ours}
    os.sched_setaffinity(0, cores)
    result["figure_of_75_runs"] = time_figure()
    result["import_beyond_jax"] = time_import()

    path = options.out / "mce_irl.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    report(result)
    print(f"wrote {path}")


def problem(expert_noise: float = 0.1):
    """Return the learner's world and the expert's occupancy of the benchmark cell."""
    from robustirl import envs
    from robustirl.planning import expert_policy, state_occupancy

    env = envs.make("gridworld-1")
    expert = env.mdp(expert_noise)
    return env.mdp(0.0), state_occupancy(expert, expert_policy(expert, env.reward))


def time_single_runs() -> dict[str, dict[str, float]]:
    """Warm times of one run on the one core we are pinned to."""
    from robustirl.irl import fit

    world, rho = problem()
    times: dict[str, dict[str, float]] = {}
    for alpha in (0.9, 1.0):
        fit(world, rho, alpha=alpha, planner_tolerance=1e-10)
        found = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            fit(world, rho, alpha=alpha, planner_tolerance=1e-10)
            found.append(time.perf_counter() - begin)
        times[f"alpha={alpha:g}"] = {"median": statistics.median(found), "best": min(found), "worst": max(found)}
    return times


def time_figure() -> dict[str, dict[str, float]]:
    """Warm time of the 75 runs of one figure in one compiled call, on all cores."""
    from robustirl import envs
    from robustirl.irl import fit_many
    from robustirl.paper.finite import grid_of_specs
    from robustirl.paper.finite.context import ExperimentContext

    lab = ExperimentContext(envs.make("gridworld-1"), "uniform-state")
    specs = grid_of_specs("gridworld-1", "uniform-state")
    problems = (
        [lab.world(spec.learner_noise) for spec in specs],
        [lab.expert_occupancy(spec.expert_noise) for spec in specs],
        [spec.alpha for spec in specs],
    )
    times = {}
    for name, lockstep, repeats in (("one_after_the_other", False, 4), ("lockstep", True, 2)):
        found = []
        for _ in range(repeats):
            begin = time.perf_counter()
            fit_many(*problems, vectorize=lockstep)
            found.append(time.perf_counter() - begin)
        times[name] = {"first_with_compilation": found[0], "warm": min(found[1:])}
    return times


def time_import() -> dict[str, float]:
    """Return what `import robustirl` adds to importing JAX, in fresh processes."""
    outputs = [
        subprocess.run([sys.executable, "-c", IMPORT_PROGRAM], capture_output=True, text=True, check=True).stdout
        for _ in range(5)
    ]
    return {"median": statistics.median(float(output) for output in outputs)}


def time_peer(python: Path, steps: int) -> dict:
    """Return one step of imitation's MCE IRL on the same world, in its own environment and on the same core."""
    import jax.numpy as jnp

    world, rho = problem()
    identity = jnp.eye(world.num_states)
    kernel = np.stack([np.asarray(world.kernel.expect(column)) for column in identity], axis=-1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.npz"
        np.savez(path, transition=kernel, initial=world.initial, discount=world.discount, occupancy=rho)
        command = [str(python), str(PEER_SCRIPT), str(path), "--steps", str(steps), "--horizon", "2300"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the peer failed: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def describe_machine(cores: set[int]) -> dict[str, object]:
    """Return what the numbers were measured on."""
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    packages = ("robustirl", "jax", "jaxlib", "equinox", "optax", "numpy")
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": models[0].split(":", 1)[1].strip() if models else platform.processor(),
        "cores": len(cores),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }


def report(result: dict) -> None:
    """Print the numbers as a table."""
    print(f"\n{result['machine']['cpu']}, {result['machine']['cores']} cores, {result['machine']['date']}")
    for when, times in result["one_run"].items():
        for alpha, numbers in times.items():
            print(f"one run, 200 steps, {alpha:10} ({when:11}): {numbers['median']:.4f} s (best {numbers['best']:.4f})")
    if "imitation" in result:
        peer = result["imitation"]
        print(
            f"imitation {peer['version']}, scaled from {peer['steps_timed']} steps to 200: "
            f"{peer['seconds_for_200_steps']:.1f} s"
        )
        for alpha, ratio in result["ratio"].items():
            print(f"ratio, ours at {alpha:10}: {ratio:.0f}")
    for name, times in result["figure_of_75_runs"].items():
        print(f"75 runs, {name}: {times['warm']:.2f} s warm, {times['first_with_compilation']:.2f} s with compilation")
    print(f"import robustirl, beyond jax: {result['import_beyond_jax']['median']:.2f} s")


if __name__ == "__main__":
    main()
