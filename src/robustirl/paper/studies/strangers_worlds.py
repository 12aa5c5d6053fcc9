"""Worlds that the library was not made for: registered ones, Gymnasium's, and random ones of three kinds."""

import dataclasses
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl import envs
from robustirl.mdp import MDP

KINDS = ("scattered", "local", "drift")
SMALLEST, LARGEST, ACTIONS, MASKED = 5, 200, 4, 0.2
BRANCHES = 3  # Successors of an action in a scattered world.


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """The worlds of a learner and of an expert, and the true reward.

    Attributes:
        name: What the pair is called in the table.
        group: `registered`, `gymnasium`, `random` or `mismatched`.
        learner: The world to learn in.
        expert: The world of the expert; the learner's where there is no mismatch.
        reward: R(s) `[S]` or R(s,a) `[S, A]`.
        mismatch: Whether the two worlds differ.
        expert_reward: The reward as the expert's world numbers its states; `reward` if omitted.
    """

    name: str
    group: str
    learner: MDP
    expert: MDP
    reward: np.ndarray
    mismatch: bool
    expert_reward: np.ndarray | None = None


def registered_pairs(noise: float = 0.2) -> Iterator[Pair]:
    """Return every registered world without noise, with the same expert and with a noisier one."""
    for name in envs.names():
        made = envs.make(name)
        for expert_noise in (0.0, noise):
            yield Pair(name, "registered", made.mdp(), made.mdp(expert_noise), made.reward, expert_noise > 0)


def gymnasium_pairs() -> Iterator[Pair]:
    """Return Gymnasium's slippery tables, with a slipping expert and with one that does not.

    There are none without Gymnasium.
    """
    if importlib.util.find_spec("gymnasium") is None:
        return
    tables: list[tuple[str, dict[str, Any]]] = [
        ("FrozenLake-v1", {"map_name": "4x4"}),
        ("FrozenLake-v1", {"map_name": "8x8"}),
        ("CliffWalking-v1", {}),
    ]
    for name, options in tables:
        slippery = envs.from_gymnasium(name, is_slippery=True, **options)
        calm = envs.from_gymnasium(name, is_slippery=False, **options)
        title = " ".join((name, *options.values()))
        yield Pair(title, "gymnasium", slippery.mdp(), slippery.mdp(), slippery.reward, False)
        if slippery.mdp().num_states == calm.mdp().num_states:
            yield Pair(title, "gymnasium", slippery.mdp(), calm.mdp(), slippery.reward, True)


def random_pair(seed: int) -> Pair:
    """Return the random pair of this number; even numbers have no mismatch.

    Example:
        >>> first, second = random_pair(0), random_pair(1)
        >>> first.mismatch, second.mismatch, random_pair(0).learner.num_states == first.learner.num_states
        (False, True, True)
    """
    random = np.random.default_rng(seed)
    kind, mismatch = KINDS[seed // 2 % len(KINDS)], seed % 2 == 1
    states = int(np.exp(random.uniform(np.log(SMALLEST), np.log(LARGEST + 1))))
    discount = 1 - 10.0 ** random.uniform(-3, -1)
    moves = _moves(kind, states, random)
    noise = _noise(kind, states, random)
    own, other = random.uniform(0, 0.2), random.uniform(0.2, 0.5)
    if random.random() < 0.5:
        own, other = other, own
    ended = random.random() < 0.5
    reward = -random.exponential(1.0, states) * (random.random(states) < 0.7)
    if ended:
        reward -= 0.1
        reward[-1] = 0.0
    mask = random.random((states, ACTIONS)) > MASKED
    mask[np.arange(states), random.integers(ACTIONS, size=states)] = True
    initial = np.full(states, 1 / states) if random.random() < 0.5 else np.eye(states)[0]

    def world(amount: float) -> MDP:
        kernel = (1 - amount) * moves + amount * noise[:, None]
        if ended:
            kernel[-1] = np.eye(states)[-1]
        return MDP(kernel, discount=discount, initial=initial, mask=mask)

    expert = world(other if mismatch else own)
    return Pair(f"{kind}-{seed}", "random", world(own), expert, reward, mismatch)


def _moves(kind: str, states: int, random: np.random.Generator) -> Float[np.ndarray, "S A S"]:
    """Return what actions do without noise: go to a few states anywhere, or step along a line.

    A step along a line is 1 or max(2, ⌊√S⌋) places long.
    """
    if kind == "scattered":
        kernel = np.zeros((states, ACTIONS, states))
        branches = min(BRANCHES, states)
        for row in kernel.reshape(-1, states):
            row[random.choice(states, branches, replace=False)] = random.dirichlet(np.ones(branches))
        return kernel
    here = np.arange(states)
    reach = max(2, int(np.sqrt(states)))
    targets = [np.clip(here + step, 0, states - 1) for step in (-1, 1, -reach, reach)]
    return np.stack([np.eye(states)[target] for target in targets], axis=1)


def _noise(kind: str, states: int, random: np.random.Generator) -> Float[np.ndarray, "S S"]:
    """Return where noise leads: anywhere, to a neighbor, or always the same way."""
    if kind == "scattered":
        return np.full((states, states), 1 / states)
    here = np.arange(states)
    down, up = (np.eye(states)[np.clip(here + step, 0, states - 1)] for step in (-1, 1))
    if kind == "local":
        return (down + up) / 2
    return down if random.random() < 0.5 else up
