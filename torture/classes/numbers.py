"""Numbers that are none, or of no use: every count, seed and parameter times every fault of a number."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from robustirl import demonstrations, envs, irl, planning
from robustirl.demonstrations import Demonstrations
from robustirl.mdp import MDP, MarkovGame
from robustirl.rewards import make_reward_model
from torture.classes import BadInput, Command

KERNEL = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
UNIFORM = np.array([[0.5, 0.5], [1.0, 0.0]])
HALF = np.array([0.5, 0.5])


@functools.cache
def world() -> MDP:
    """Return a world of two states."""
    return MDP(KERNEL, discount=0.9)


@functools.cache
def walks() -> Demonstrations:
    """Return two episodes in it."""
    return Demonstrations.from_arrays([[0, 1], [0, 0, 1]], [[1], [0, 1]], terminated=True)


def _sample(**given: Any) -> object:
    settings: dict[str, Any] = {"episodes": 1, "horizon": 2, "key": jax.random.key(0)} | given
    return demonstrations.sample_demonstrations(world(), UNIFORM, **settings)


NO_NUMBER: dict[str, object] = {
    "a word": "seven",
    "a number in words": "7",
    "bytes": b"7",
    "a truth": True,
    "a truth of NumPy": np.True_,
    "a list": [1],
    "a pair": (1, 2),
    "a dictionary": {},
    "complex": 1j,
    "an array of three": np.ones(3),
    "a masked number": np.ma.masked,
    "not a number": float("nan"),
    "minus infinity": -np.inf,
    "a word of 3 MB": "x" * 3_000_000,
    "an object": object(),
}
NO_COUNT: dict[str, object] = NO_NUMBER | {
    "minus one": -1,
    "a half": 0.5,
    "infinity": np.inf,
    "2**63": 2**63,
    "2**64": 2**64,
    "-2**63": -(2**63),
    "400 digits": 10**400,
    "10,000 digits": 10**10_000,
}
NO_SIZE = {"10**12": 10**12, "10**15": 10**15}
"""Too many of what is kept in arrays."""
NO_REAL: dict[str, object] = NO_NUMBER | {"minus a tenth": -0.1, "infinity": np.inf, "400 digits": 10**400}

COUNTS: dict[str, Callable[[Any], object]] = {
    "fit, steps": lambda value: irl.fit(world(), HALF, alpha=1.0, steps=value),
    "fit_many, steps": lambda value: irl.fit_many([world()], [HALF], [1.0], steps=value),
    "solve, max_steps": lambda value: planning.solve(world(), HALF, max_steps=value),
    "total_return, horizon": lambda value: planning.total_return(world(), UNIFORM, HALF, horizon=value),
    "sample, episodes": lambda value: _sample(episodes=value),
    "sample, horizon": lambda value: _sample(horizon=value),
    "estimate, resamples": lambda value: demonstrations.estimate_occupancy(
        walks(), world(), key=jax.random.key(0), resamples=value
    ),
}
SEEDS: dict[str, Callable[[Any], object]] = {
    "reward network, seed": lambda value: make_reward_model("network", 2, np.eye(2), seed=value),
    "object world, seed": lambda value: envs.make("objectworld", seed=value),
}
NO_DISCOUNT: dict[str, object] = NO_REAL | {"two": 2, "so close to one that no digit is left": 1 - 1e-15}
DISCOUNTS: dict[str, Callable[[Any], object]] = {
    "world, discount": lambda value: MDP(KERNEL, discount=value),
    "estimate, discount": lambda value: demonstrations.estimate_occupancy(walks(), num_states=2, discount=value),
    "three states, discount": lambda value: envs.make("three-state", discount=value),
    "object world, discount": lambda value: envs.make("objectworld", discount=value),
    "Gaussian grid, discount": lambda value: envs.GaussianGrid(0.0, discount=value),
    "pendulum, discount": lambda value: envs.pendulum(discount=value),
    "physics, discount": lambda value: envs.physics.make("pendulum", discount=value),
    "grid, discount": lambda value: envs.make("gridworld-4", discount=value),
}
REALS: dict[str, Callable[[Any], object]] = {
    "game, alpha": lambda value: MarkovGame(world(), alpha=value),
    "fit, alpha": lambda value: irl.fit(world(), HALF, alpha=value),
    "fit, tolerance": lambda value: irl.fit(world(), HALF, alpha=1.0, tolerance=value),
    "fit, planner_tolerance": lambda value: irl.fit(world(), HALF, alpha=1.0, planner_tolerance=value),
    "solve, tolerance": lambda value: planning.solve(world(), HALF, tolerance=value),
    "expert, temperature": lambda value: planning.expert_policy(world(), HALF, temperature=value),
    "environment, noise": lambda value: envs.make("three-state").mdp(value),
    "estimate, confidence": lambda value: demonstrations.estimate_occupancy(walks(), world(), confidence=value),
    "Gaussian grid, noise": lambda value: envs.GaussianGrid(value),
    "solve, temperature": lambda value: planning.solve(world(), HALF, temperatures=planning.Temperatures(value, 0.0)),
    "fit, temperature": lambda value: irl.fit(world(), HALF, temperatures=planning.Temperatures(1.0, value)),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "fit --steps": ("fit", "--env", "three-state", "--demos", "x.npz", "--out", "new", "--steps"),
    "fit --alpha": ("fit", "--env", "three-state", "--demos", "x.npz", "--out", "new", "--alpha"),
    "demos make --episodes": ("demos", "make", "--env", "three-state", "--out", "new.npz", "--episodes"),
    "demos make --seed": ("demos", "make", "--env", "three-state", "--out", "new.npz", "--seed"),
    "reproduce --steps": ("reproduce", "three-state", "--out", "new", "--steps"),
    "layouts --layouts": ("layouts", "--out", "new", "--layouts"),
    "continuous --seeds": ("continuous", "--out", "new", "--seeds"),
    "theory --discount": ("theory", "--out", "new", "--discount"),
    "imitate --steps": ("imitate", "--out", "new", "--steps"),
    "imitate --attempts": ("imitate", "--out", "new", "--attempts"),
    "imitate --alpha": ("imitate", "--out", "new", "--alpha"),
    "serve --port": ("serve", "gone", "--port"),
    "study --draws": ("study", "alpha", "--out", "new", "--draws"),
    "study --workers": ("study", "existence", "--out", "new", "--workers"),
    "convert --time-step": ("demos", "convert", "walks.csv", "new.npz", "--time-step"),
}
WORDS = ("-1", "-0.5", "nan", "-inf", "1e400", "seven", "", "0x10", "\x1b[31m7", "9" * 5000)


def bad_numbers() -> Iterator[BadInput]:
    """Yield every number that a function takes, with every fault."""
    faults = ((COUNTS, NO_COUNT | NO_SIZE), (SEEDS, NO_COUNT), (REALS, NO_REAL), (DISCOUNTS, NO_DISCOUNT))
    for doors, values in faults:
        for door, call in doors.items():
            for what, value in values.items():
                yield BadInput(f"{door}: {what}", functools.partial(call, value))


def bad_number_commands() -> Iterator[BadInput]:
    """Yield every number that a command takes, with every fault that can be written."""
    for option, words in OPTIONS.items():
        for text in WORDS:
            yield BadInput(
                f"{option}: {text[:10]!r}", functools.partial(_command, (*words[:-1], f"{words[-1]}={text}"))
            )


def _command(words: tuple[str, ...]) -> Command:
    return Command(words)
