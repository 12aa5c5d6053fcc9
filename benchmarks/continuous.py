"""The whole continuous experiment on whatever device is there: seconds, and the runs themselves in one file.

The grid of the paper's figure with N seeds, experts first, through the package's own runner and store. What is finished
is kept in the folder, and the same command goes on from there. At the end one JSON object with the machine, versions,
date and seconds is printed and written down, and the runs are packed into `runs.npz`, which

    robustirl continuous --records runs.npz --out out/continuous

draws on any other machine. Nothing beyond JAX, Equinox, Optax, NumPy and SciPy is needed here.

    python benchmarks/continuous.py --seeds 20 --out benchmarks/out/continuous
"""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the grid, and write down how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="seeds a cell")
    parser.add_argument("--alphas", type=float, nargs="+", help="those of the paper when left out")
    parser.add_argument("--learner-noises", type=float, nargs="+", help="those of the paper when left out")
    parser.add_argument("--expert-noises", type=float, nargs="+", help="those of the paper when left out")
    parser.add_argument("--algorithm", default="default", help="how to learn, by name")
    parser.add_argument("--rounds", type=int, help="rounds of learning; those of the algorithm when left out")
    parser.add_argument("--expert-steps", type=int, help="policy steps in the training of an expert")
    parser.add_argument("--expert-attempts", type=int, help="trainings per expert")
    parser.add_argument("--chunk", type=int, help="runs a call, where the usual number does not suit the device")
    parser.add_argument("--float32", action="store_true", help="single precision")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/continuous"), help="folder to write to")
    options = parser.parse_args()

    import robustirl

    if not options.float32:
        robustirl.enable_x64()

    from robustirl.errors import RobustIRLError
    from robustirl.paper.continuous.specs import continuous_grid, with_experts
    from robustirl.sweeps import check_specs
    from robustirl.sweeps.store.packing import pack_store

    given = {name: getattr(options, name) for name in ("alphas", "learner_noises", "expert_noises")}
    given |= {name: getattr(options, name) for name in ("rounds", "expert_steps", "expert_attempts")}
    runs = continuous_grid(
        seeds=options.seeds,
        algorithm=options.algorithm,
        **{name: value for name, value in given.items() if value is not None},
    )
    specs = with_experts(runs)
    try:
        check_specs(specs)
        result = measure(specs, options.out, options.chunk)
    except RobustIRLError as error:
        sys.exit(f"{error}")
    result = {"seeds": options.seeds, "algorithm": options.algorithm, "machine": describe_machine(), **result}
    result["runs_file"] = str(pack_store(options.out, options.out / "runs.npz"))
    text = json.dumps(result, indent=1)
    (options.out / "continuous.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def measure(specs: Sequence[Any], out: Path, chunk: int | None) -> dict[str, object]:
    """Run what is missing; seconds on the clock, compilation apart."""
    from robustirl.paper.continuous import EXPERT
    from robustirl.sweeps import compute
    from robustirl.sweeps.kinds import by_kind

    begin = time.perf_counter()

    def report(what: str, done: int, of: int) -> None:
        print(f"{what}: {done}/{of} after {time.perf_counter() - begin:.0f} s", file=sys.stderr)

    outcome = compute(specs, out, report, size=chunk, tables=False)
    seconds = time.perf_counter() - begin
    kinds = by_kind(outcome.records)
    return {
        "complete": outcome.complete,
        "run_now": outcome.new,
        "seconds": round(seconds, 2),
        "compilation_seconds": round(outcome.timing.compilation, 2),
        "warm_seconds": round(outcome.timing.computation, 2),
        "kinds": {
            kind.name: {
                "runs": len(records),
                "failed": sum(record.verdict == "failed" for record in records),
                "warm_seconds_a_run": round(sum(record.seconds for record in records) / len(records), 4),
            }
            for kind, records in kinds.items()
        },
        "expert_returns": {f"{r.spec.noise:g}": round(r.mean_return, 1) for r in kinds.get(EXPERT, [])},
    }


def describe_machine() -> dict[str, object]:
    """Return what the numbers hang on."""
    import jax

    from robustirl.sweeps.configuration import configuration

    device = jax.devices()[0]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.system(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "device_kind": device.device_kind,
        "configuration": configuration(),
    }


if __name__ == "__main__":
    main()
