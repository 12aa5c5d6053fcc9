"""How solving and learning grow with the world: seconds and bytes from a hundred states to a million.

The world is the paper's first grid at any size, with noise 0.1 (`uniform-action`, where rows are short, and
`uniform-state`, where they are full). Per size, discount and α: the robust soft solution to 1e-10 in float64, warm,
with compilation apart; the occupancy; robust IRL by the step; memory. Beside them, what products, sweeps and the
machine's memory take, and the peers: plain NumPy, and QuantEcon in its own environment. Every size runs in a process of
its own. On a GPU the same command measures the GPU, and peers are left out: they run on processors.

    python benchmarks/scale.py --peer-python .venv-quantecon/bin/python --out benchmarks/results/scale-cpu.json
    python benchmarks/scale.py --budget 230 --out scale-gpu.json --picture irl-gpu.npz

The result file is written anew after every job, so that nothing is lost if the last ones are cut off.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKER, NUMPY_PEER = HERE / "scale_worker.py", HERE / "peers" / "numpy_vi.py"
QUANTECON_PEER = HERE / "peers" / "quantecon_ddp.py"
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
NOISE_MODELS = ("uniform-action", "uniform-state")
DISCOUNTS, ALPHAS = (0.9, 0.99, 0.999), (1.0, 0.9)
FAR_SIGHTED = 0.9999  # Looked at besides, where factorizations are among the methods,
LARGEST_FAR_SIGHTED = 100_000  # and the world is not larger.
STARTING = 300.0  # Seconds in which the first worker must have said what the machine is.
Job = tuple[str, dict[str, Any]]


def main() -> None:
    """Run the jobs one after the other, and write down what they find."""
    options = parse()
    end = time.monotonic() + options.budget
    rows = run("machine", {"doubles": 100_000} if options.quick else {}, time.monotonic() + STARTING)
    if not rows or rows[0]["what"] != "machine":
        sys.exit("the first worker failed or took too long to start; what it printed above says why.")
    machine, *others = rows
    result: dict[str, Any] = {"benchmark": "scale", "machine": machine, "rows": others, "left_out": []}
    gpu = machine["backend"] != "cpu"
    jobs = plan_gpu(options) if gpu else plan_cpu(options)
    for kind, job in jobs:
        name = f"{kind} {job.get('states', '')} {job.get('noise_model', '')}".strip()
        print(f"{time.monotonic() - end + options.budget:6.1f} s: {name}", file=sys.stderr, flush=True)
        if time.monotonic() < end:
            rows = run_peers(job, options, end) if kind == "peers" else run(kind, job, end)
            result["rows"] += rows
        if time.monotonic() >= end:
            result["left_out"].append(name)
        save(result, options.out)
    print(f"wrote {options.out} with {len(result['rows'])} rows; cut off: {', '.join(result['left_out']) or 'nothing'}")
    if any(row["what"] == "failure" for row in result["rows"]):
        sys.exit("some jobs failed; their rows are in the file.")


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="states, rounded down to squares")
    parser.add_argument("--noise-models", nargs="+", default=NOISE_MODELS, choices=NOISE_MODELS)
    parser.add_argument("--quick", action="store_true", help="one small size, to see that all works")
    parser.add_argument("--no-batches", action="store_true", help="leave out the runs of the paper's figures")
    parser.add_argument(
        "--peer-python", type=Path, help="interpreter of QuantEcon's environment; left out, no such peer"
    )
    parser.add_argument("--peer-limit", type=float, default=60.0, help="seconds that a peer's solution may take")
    parser.add_argument("--budget", type=float, default=4 * 3600.0, help="seconds after which no job begins or goes on")
    parser.add_argument("--picture", type=Path, help="an .npz file for what is learned in the largest world")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/scale.json"), help="result file")
    options = parser.parse_args()
    if any(size < 9 for size in options.sizes):
        parser.error(f"a size of {min(options.sizes)} has no grid with an inner cell; ask for 9 states or more")
    if options.quick:
        options.sizes = [100]
        options.peer_limit = min(options.peer_limit, 1.0)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    return options


def size_job(options: argparse.Namespace, states: int, noise_model: str, irl_steps: int, patience: float) -> Job:
    """Return the job of one size and noise model.

    Methods are compared and rewards are learned under local noise alone.
    """
    local = noise_model == NOISE_MODELS[0]
    picture = str(options.picture) if options.picture and states == max(options.sizes) else None
    return "size", {
        "states": states,
        "noise_model": noise_model,
        "discounts": DISCOUNTS[:1] if options.quick else DISCOUNTS,
        "alphas": ALPHAS,
        "repeats": 1 if options.quick else 5,
        "patience": 0.1 if options.quick else patience,
        "all_methods": local and not options.quick,
        "irl_steps": irl_steps if local else 0,
        "picture": picture,
    }


def batch_job(options: argparse.Namespace, patience: float) -> list[Job]:
    """Return the runs of the paper's figures."""
    if options.no_batches or options.quick:
        return []
    return [("batch", {"noise_model": "uniform-state", "environments": 6, "steps": 200, "patience": patience})]


def plan_cpu(options: argparse.Namespace) -> list[Job]:
    """Order jobs: peers come right after ours of the same size, so that a slow spell of the machine hits both."""
    jobs: list[Job] = []
    for states in sorted(options.sizes):
        steps = 2 if options.quick else min(200, max(3, 1_000_000 // states))
        for noise_model in options.noise_models:
            kind, job = size_job(options, states, noise_model, steps, patience=10.0)
            if job["all_methods"] and states <= LARGEST_FAR_SIGHTED:
                job["discounts"] = (*job["discounts"], FAR_SIGHTED)
            jobs.append((kind, job))
        if NOISE_MODELS[0] in options.noise_models:
            jobs.append(("peers", {"states": states, "discounts": jobs[-1][1]["discounts"][: len(DISCOUNTS)]}))
    return [*jobs, *batch_job(options, patience=60.0)]


def plan_gpu(options: argparse.Namespace) -> list[Job]:
    """Return the largest world and the batches first: what time does not suffice for is the least."""
    jobs: list[Job] = []
    for noise_model in options.noise_models:
        for states in sorted(options.sizes, reverse=True):
            steps = 2 if options.quick else 200 if states == max(options.sizes) else 20 if states >= 10_000 else 0
            jobs.append(size_job(options, states, noise_model, steps, patience=3.0))
    return [*jobs[:1], *batch_job(options, patience=3.0), *jobs[1:]]


def run(kind: str, job: dict[str, Any], end: float) -> list[dict[str, Any]]:
    """Yield the rows of one worker; those it had written when time ran out, if it did."""
    source = str(HERE.parent / "src")
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return lines_of([sys.executable, str(WORKER), kind, json.dumps(job)], end, {**os.environ, "PYTHONPATH": path})


def run_peers(job: dict[str, Any], options: argparse.Namespace, end: float) -> list[dict[str, Any]]:
    """Return the same world, solved by others."""
    rows = []
    discounts = [f"{discount:g}" for discount in job["discounts"]]
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world.npz"
        run("export", {"states": job["states"], "path": str(world)}, end)
        peers = [(sys.executable, NUMPY_PEER)]
        peers += [(str(options.peer_python), QUANTECON_PEER)] if options.peer_python else []
        for python, script in peers:
            command = [python, str(script), str(world), "--limit", str(options.peer_limit), "--discounts", *discounts]
            found = lines_of(command, end, dict(os.environ))
            rows += [{"what": "peer", "noise_model": NOISE_MODELS[0], **row} for row in found]  # A failure stays one.
            for row in (row for row in found if "peer" in row):
                seconds = f"{row['seconds']:.4g} s" if row["seconds"] else f"more than {row['more_than']:.0f} s"
                print(f"  {row['peer']} γ={row['discount']:g} {row['method']}: {seconds}", file=sys.stderr, flush=True)
    return rows


def lines_of(command: list[str], end: float, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Yield the JSON lines a command prints before the end, and a line more if it fails."""
    try:
        left = max(end - time.monotonic(), 1.0)
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=left, check=False, env=environment)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = late.stdout or b"", 0
    whole = [line for line in output.decode().splitlines(keepends=True) if line.endswith("\n") and line.startswith("{")]
    rows = [json.loads(line) for line in whole]
    if code:
        rows.append({"what": "failure", "command": [Path(part).name for part in command], "status": code})
    return rows


def save(result: dict[str, Any], path: Path) -> None:
    """Write a whole file or leave the one before it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    main()
