"""Time maximum causal entropy IRL as shipped in the `imitation` package, on a world read from a file.

Run by the Python of an environment of its own (see imitation-requirements.txt):

    python imitation_mce.py WORLD.npz --steps 3 --horizon 2300

WORLD.npz holds `transition` [S, A, S], `initial` [S], `discount` (a scalar) and `occupancy` [S], the
expert's discounted state occupancy normalized to sum to one. One JSON line goes to standard output.

What is timed: one pass of the loop inside `MCEIRL.train`, that is the soft planning sweep over the
horizon, the state occupancy it leads to, the backward pass, the Adam step and the library's own stopping
checks. The planning pass that `train` adds after its last step is left out.
"""

from __future__ import annotations

import os

# The linear algebra libraries read these once, while numpy and torch are being imported. All three are
# set, because a library's own variable overrides the general one.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import functools
import json
import platform
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from imitation.algorithms import mce_irl
from imitation.rewards.reward_nets import RewardNet
from imitation.util import logger as imitation_logger
from seals.base_envs import TabularModelPOMDP

ADAM = {"lr": 0.5, "betas": (0.9, 0.99), "eps": 1e-7}
# Normalization slack for the arrays read from the file.
TOLERANCE = 1e-6
# Training stops early once a norm is at or below a threshold; no norm gets below zero.
NEVER_STOP = -1.0


class InputError(Exception):
    """The world file cannot be used; the message is one sentence for the person who ran the script."""


@dataclass(frozen=True)
class World:
    """A tabular decision process and the state occupancy its expert leaves behind."""

    transition: np.ndarray
    initial: np.ndarray
    discount: float
    occupancy: np.ndarray


class TabularReward(RewardNet):
    """One free reward per state: a linear map of the one-hot observation, without a bias."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], states: int) -> None:
        """Start from a reward of zero everywhere, so that runs do not depend on a seed."""
        super().__init__(observation_space, action_space)
        self.linear = torch.nn.Linear(states, 1, bias=False, dtype=torch.float64)
        torch.nn.init.zeros_(self.linear.weight)

    def forward(self, state: torch.Tensor, action: Any, next_state: Any, done: Any) -> torch.Tensor:
        """Give the reward of each observation; MCE IRL passes nothing but the observations."""
        del action, next_state, done
        return self.linear(state).squeeze(1)


def load_world(path: Path) -> World:
    """Read and check a world file."""
    names = ("transition", "initial", "discount", "occupancy")
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in names if name not in archive]
            if missing:
                raise InputError(f"{path} has no array named {' or '.join(missing)}.")
            arrays = {name: np.asarray(archive[name], dtype=np.float64) for name in names}
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as an .npz archive of numbers.") from error

    transition, initial, discount, occupancy = (arrays[name] for name in names)
    if transition.ndim != 3 or transition.shape[0] != transition.shape[2] or transition.size == 0:
        raise InputError(f"{path}: transition must have shape [S, A, S], not {list(transition.shape)}.")
    states = transition.shape[0]
    for name, array, total_over in (
        ("transition", transition, transition.sum(axis=2)),
        ("initial", initial, initial.sum()),
        ("occupancy", occupancy, occupancy.sum()),
    ):
        if name != "transition" and array.shape != (states,):
            raise InputError(f"{path}: {name} must have shape [{states}], not {list(array.shape)}.")
        # Written so that a nan fails too.
        if not (np.all(array >= 0) and np.allclose(total_over, 1.0, rtol=0.0, atol=TOLERANCE)):
            raise InputError(f"{path}: {name} must be non-negative and sum to one.")
    if discount.size != 1 or not 0.0 < discount.item() <= 1.0:
        raise InputError(f"{path}: discount must be one number above 0 and at most 1.")
    return World(transition, initial, discount.item(), occupancy)


def occupancy_total(discount: float, horizon: int) -> float:
    """Sum over states of the occupancy `imitation` computes: discount**t for t = 0 up to the horizon.

    The horizon itself is included, because the library counts the state reached by the last action.
    """
    if discount == 1.0:
        return float(horizon + 1)
    return (1.0 - discount ** (horizon + 1)) / (1.0 - discount)


def build(world: World, horizon: int) -> mce_irl.MCEIRL:
    """Set up the library's learner on the world."""
    states, _, _ = world.transition.shape
    env = TabularModelPOMDP(
        transition_matrix=world.transition,
        observation_matrix=np.eye(states),
        # Never read while learning: the learner plans with its own reward.
        reward_matrix=np.zeros(states),
        horizon=horizon,
        initial_state_dist=world.initial,
    )
    # The default logger would leave a folder in the temporary directory and print to standard output.
    quiet = imitation_logger.configure(tempfile.gettempdir(), format_strs=[])
    return mce_irl.MCEIRL(
        demonstrations=world.occupancy * occupancy_total(world.discount, horizon),
        env=env,
        reward_net=TabularReward(env.observation_space, env.action_space, states),
        rng=np.random.default_rng(0),
        optimizer_cls=torch.optim.Adam,
        optimizer_kwargs=ADAM,
        discount=world.discount,
        linf_eps=NEVER_STOP,
        grad_l2_eps=NEVER_STOP,
        log_interval=None,
        custom_logger=quiet,
    )


def plan_with_discount(discount: float) -> None:
    """Make the training loop plan with the world's discount.

    In version 1.0.1 the loop discounts the occupancy but calls the planner without the discount, which
    then defaults to 1, so the learner fits a policy of another problem. The arithmetic, and with it the
    cost, is the same for any discount; this only makes the comparison one of equal problems. A call that
    does name a discount, such as the one after the loop, is not affected.
    """
    mce_irl.mce_partition_fh = functools.partial(mce_irl.mce_partition_fh, discount=discount)


def time_steps(learner: mce_irl.MCEIRL, steps: int) -> list[float]:
    """Train for one warm-up step and `steps` more, and give the seconds each of the latter took.

    A step is measured from the end of one optimizer step to the end of the next, so that the set-up of
    `train` falls into the warm-up and its closing planning pass falls outside.
    """
    ends: list[float] = []
    learner.optimizer.register_step_post_hook(lambda *_: ends.append(time.perf_counter()))
    learner.train(max_iter=1 + steps)
    return np.diff(ends).tolist()


def positive(text: str) -> int:
    """Parse a whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above zero")
    return number


def main() -> int:
    """Run the script and give its exit code."""
    parser = argparse.ArgumentParser(description="Time MCE IRL of the imitation package on a world.")
    parser.add_argument("world", type=Path, help="the world, an .npz file")
    parser.add_argument("--steps", type=positive, default=3, help="outer steps to time, after a warm-up")
    parser.add_argument("--horizon", type=positive, default=2300, help="planning horizon of the peer")
    parser.add_argument(
        "--planning-discount",
        choices=("world", "shipped"),
        default="world",
        help="plan with the world's discount, or as the package does (without one)",
    )
    arguments = parser.parse_args()
    try:
        world = load_world(arguments.world)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    torch.set_num_threads(1)
    if arguments.planning_discount == "world":
        plan_with_discount(world.discount)
    seconds = time_steps(build(world, arguments.horizon), arguments.steps)
    per_step = sum(seconds) / len(seconds)
    report = {
        "peer": "imitation",
        "version": version("imitation"),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seconds_per_step": per_step,
        "steps_timed": len(seconds),
        "horizon": arguments.horizon,
        "seconds_for_200_steps": 200 * per_step,
        "planning_discount": world.discount if arguments.planning_discount == "world" else 1.0,
    }
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
