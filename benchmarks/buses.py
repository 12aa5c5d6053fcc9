"""Time maximum likelihood on Rust's buses, beside econirl's NFXP in one run.

    python benchmarks/buses.py --peer-python path/to/its/environment/bin/python

Group 4, 90 bins, linear cost, increments at their shares. Both look for the maximum of the same function; the
log-likelihood that each reports is printed beside its time. Ours includes four kinds of standard errors.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from robustirl import envs
from robustirl.demonstrations import recorded_choices
from robustirl.irl import RobustIRL
from robustirl.rewards import LinearReward

PEER = Path(__file__).parent / "peers" / "econirl_nfxp.py"


def own_row(repeats: int, discount: float) -> dict:
    """Return the times and estimates of this library."""
    env = envs.buses(4, discount=discount)
    world, choices, costs = env.mdp(), recorded_choices(env), LinearReward(env.features, names=env.feature_names)
    seconds, model = [], RobustIRL(1.0, reward=costs, objective="likelihood")
    for _ in range(repeats + 1):
        started = time.perf_counter()
        model.fit(world, choices)
        seconds.append(time.perf_counter() - started)
    found = model.inference_
    assert found is not None
    names = dict(zip(found.names, found.parameters.tolist(), strict=True))
    likelihood = {"log_likelihood": found.choice_log_likelihood}
    return {"library": "robustirl", "first_seconds": seconds[0], "seconds": min(seconds[1:]), **names, **likelihood}


def peer_row(python: str, repeats: int, discount: float) -> dict:
    """Return those of econirl, run by the Python of its environment."""
    env = envs.buses(4)
    choices = recorded_choices(env)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "choices.npz"
        kernel = np.moveaxis(np.asarray(env.mdp().kernel.to_array()), 1, 0)
        np.savez(
            path,
            kernel=kernel,
            discount=discount,
            states=choices.states,
            actions=choices.actions,
            groups=choices.groups,
        )
        command = [python, str(PEER), str(path), "--repeats", str(repeats)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def main() -> None:
    """Print one JSON line a library."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer-python", help="the Python of an environment with econirl")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--discount", type=float, default=0.9999)
    asked = parser.parse_args()
    rows = [own_row(asked.repeats, asked.discount)]
    if asked.peer_python:
        rows.append(peer_row(asked.peer_python, asked.repeats, asked.discount))
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
