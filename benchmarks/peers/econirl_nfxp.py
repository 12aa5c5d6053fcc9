"""Time econirl's NFXP on the choices of a file.

Run by the Python of an environment of its own (see econirl-requirements.txt):

    python econirl_nfxp.py CHOICES.npz --repeats 3

CHOICES.npz has `states`, `actions`, `groups`, `[N]`, `kernel`, `[A, S, S]`, and `discount`, as `benchmarks/buses.py`
writes them. The model is the linear one of Rust (1987). The first fit compiles; one JSON line goes to standard output.
"""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from econirl.datasets import rust_bus_reward_spec
from econirl.estimators import NFXP


def main() -> None:
    """Fit several times and print the times and the estimates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("choices", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with np.load(asked.choices) as file:
        data = {name: file[name] for name in file.files}
    frame = pd.DataFrame({"state": data["states"], "action": data["actions"], "bus": data["groups"]})
    size = data["kernel"].shape[1]
    seconds = []
    for _ in range(asked.repeats + 1):
        model = NFXP(n_states=size, discount=float(data["discount"]), utility=rust_bus_reward_spec(size))
        started = time.perf_counter()
        model.fit(frame, state="state", action="action", id="bus", transitions=data["kernel"])
        seconds.append(time.perf_counter() - started)
    theta, cost = (float(number) for number in np.asarray(model.coef_))
    row = {
        "library": f"econirl {version('econirl')}",
        "first_seconds": seconds[0],
        "seconds": min(seconds[1:]),
        "theta1": 1000 * theta,
        "RC": cost,
        "log_likelihood": float(model.log_likelihood_),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
