"""Time the paper's runs: one, the 75 of a figure, the 450 of six figures, under the paper's settings.

    python benchmarks/paper_grid.py --imitation .venv-imitation/bin/python

A run is 200 steps of Adam in a world of 36 to 100 states, each planned to 1e-10. With `--imitation`, the Python of an
environment that has the package `imitation`, a run of its maximum causal entropy IRL at α = 1 is timed beside it.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from robustirl import envs, irl, planning

NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)
ALPHAS = (1.0, 0.95, 0.9)
NAMES = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "object-world", "gridworld-l")


def runs_of(name: str) -> tuple[list, list, list]:
    """Return the 75 problems of an environment: expert and learner noise, and α."""
    environment = envs.make(name)
    found: tuple[list, list, list] = ([], [], [])
    for there in NOISES:
        expert = environment.mdp(there)
        rho = np.asarray(
            planning.state_occupancy(expert, planning.expert_policy(expert, environment.reward, kind="soft"))
        )
        for here in NOISES:
            for alpha in ALPHAS:
                for values, value in zip(found, (environment.mdp(here), rho, alpha), strict=True):
                    values.append(value)
    return found


def seconds_of(problems: list[tuple[list, list, list]]) -> list[float]:
    """Return the seconds of a first and a second time through all problems."""
    found = []
    for _ in range(2):
        begun = time.perf_counter()
        for worlds, occupancies, alphas in problems:
            irl.fit_many(worlds, occupancies, alphas, throw=False, **irl.PAPER_SETTINGS)
        found.append(time.perf_counter() - begun)
    return found


def imitation(python: str) -> dict:
    """Return what one run takes the package `imitation`, in its own environment."""
    environment = envs.make("gridworld-1")
    expert, learner = environment.mdp(0.1), environment.mdp(0.0)
    rho = planning.state_occupancy(expert, planning.expert_policy(expert, environment.reward, kind="soft"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.npz"
        kernel = np.asarray(learner.kernel.dense())
        np.savez(path, transition=kernel, initial=learner.initial, discount=learner.discount, occupancy=rho)
        script = Path(__file__).parent / "peers" / "imitation_mce.py"
        done = subprocess.run([python, str(script), str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the seconds, first and again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", nargs="+", default=list(NAMES))
    parser.add_argument("--imitation", default="", help="the Python of imitation's environment")
    given = parser.parse_args()
    problems = [runs_of(name) for name in given.environments]
    one = tuple(values[:1] for values in problems[0])
    sizes = {"one run": [one], "a figure": problems[:1], "all": problems}
    for what, some in sizes.items():
        first, again = seconds_of(some)  # pyright: ignore[reportArgumentType]
        print(
            json.dumps({"what": what, "runs": sum(len(p[0]) for p in some), "first": first, "again": again}), flush=True
        )
    if given.imitation:
        print(json.dumps(imitation(given.imitation)))


if __name__ == "__main__":
    main()
