"""The world of `scale.py`, and how its workers report."""

import json
import math
import sys
from typing import Any

from robustirl import envs
from robustirl.envs.gridworld import INNER, danger_grid

NOISE = 0.1  # ε of the solves, and of the expert.
TOLERANCE = 1e-10


def emit(what: str, **row: Any) -> None:
    """Print one measurement, for whoever reads our output."""
    print(json.dumps({"what": what, **row}), flush=True)


def say(text: str) -> None:
    """Print how far the measurement is."""
    print(text, file=sys.stderr, flush=True)


def grid(states: int, noise: float, noise_model: str, discount: float = 0.99):
    """Return the paper's first grid at any size, and its true reward."""
    side = math.isqrt(states)
    world = envs.GridWorld("gridworld", rewards=danger_grid(side, (INNER, INNER)), discount=discount)
    return world.mdp(noise, noise_model), world.reward
