"""Foreign content that must stay data: masked arrays, names that are not UTF-8, headers without end."""

from collections.abc import Callable

import numpy as np
from inline_snapshot import snapshot

from robustirl.demonstrations import Demonstrations, load
from robustirl.envs import GridWorld
from robustirl.mdp import (
    MDP,
    BandedKernel,
    MarkovGame,
    MixtureKernel,
    SuccessorKernel,
    as_action_reward,
    as_occupancy,
    as_policy,
    as_reward,
)
from robustirl.rewards import LinearReward
from tests.reliability.cases import KERNEL, WALKS, WORLD, Case, written


def hidden(values: object, *place: int) -> np.ma.MaskedArray:
    """The values as a masked array with one masked entry, whose hidden value is left as it was."""
    array = np.ma.array(np.asarray(values))
    array[place] = np.ma.masked
    return array


LISTS = SuccessorKernel([[[0, 1]], [[1, 1]]], [[[0.5, 0.5]], [[1.0, 0.0]]])

# Each gate at which arrays enter: what is called, the name in the sentence, the entry that is masked.
GATES: dict[str, tuple[Callable[[], object], str, list[int]]] = {
    "kernel": (lambda: MDP(hidden(KERNEL, 0, 1, 0), discount=0.9), "the transition kernel", [0, 1, 0]),
    "initial": (
        lambda: MDP(KERNEL, discount=0.9, initial=hidden([0.5, 0.5], 1)),
        "the initial distribution",
        [1],
    ),
    "mask": (
        lambda: MDP(KERNEL, discount=0.9, mask=hidden([[True, True], [True, False]], 1, 1)),
        "the action mask",
        [1, 1],
    ),
    "successors": (
        lambda: SuccessorKernel(hidden([[[0, 1]], [[1, 1]]], 0, 0, 1), [[[0.5, 0.5]], [[1.0, 0.0]]]),
        "the list of successors",
        [0, 0, 1],
    ),
    "successor probabilities": (
        lambda: SuccessorKernel([[[0, 1]], [[1, 1]]], hidden([[[0.5, 0.5]], [[1.0, 0.0]]], 1, 0, 0)),
        "the probabilities of the successors",
        [1, 0, 0],
    ),
    "diagonals": (
        lambda: BandedKernel((0,), hidden([[[1.0, 1.0]]], 0, 0, 1)),
        "the weights of the diagonals",
        [0, 0, 1],
    ),
    "disturbance": (
        lambda: MixtureKernel(LISTS, hidden([0.1, 0.1], 0), [0.5, 0.5]),
        "the chances of a disturbance",
        [0],
    ),
    "reward": (lambda: as_reward(hidden([1e30, 0.0], 0), WORLD), "the reward", [0]),
    "reward of actions": (
        lambda: as_action_reward(hidden([[1.0, 1.0], [0.0, 0.0]], 0, 1), WORLD),
        "the reward",
        [0, 1],
    ),
    "policy": (lambda: as_policy(hidden([[0.5, 0.5], [1.0, 0.0]], 0, 0), WORLD), "the policy", [0, 0]),
    "occupancy": (lambda: as_occupancy(hidden([0.5, 0.5], 1), WORLD), "the occupancy", [1]),
    "features": (lambda: LinearReward(hidden([[1.0], [2.0]], 1, 0)), "the feature matrix", [1, 0]),
    "grid": (lambda: GridWorld("mine", hidden([[0.0, 1.0]], 0, 1)), "the grid of rewards", [0, 1]),
    "states": (
        lambda: Demonstrations(hidden([0, 1, 2], 2), None, [3]),
        "the array of states",
        [2],
    ),
    "states of an episode": (
        lambda: Demonstrations.from_arrays([[0, 1], hidden([1, 2], 0)]),
        "the array of states of episode 1",
        [0],
    ),
    "actions": (
        lambda: Demonstrations.from_arrays([[0, 1]], [hidden([0], 0)]),
        "the array of actions of episode 0",
        [0],
    ),
    "ends": (
        lambda: Demonstrations.from_arrays([[0, 1], [1]], terminated=hidden([True, True], 1)),
        "`terminated`",
        [1],
    ),
    "choice of episodes": (lambda: WALKS.subset(hidden([0, 1], 1)), "the list of episodes to keep", [1]),
    "rows of a kernel": (
        lambda: MDP([[hidden([1.0, 0.0], 1)], [[0.0, 1.0]]], discount=0.9),  # pyright: ignore[reportArgumentType]
        "the transition kernel",
        [0, 0, 1],
    ),
}

MASKED = [
    Case(
        f"a masked entry: {what}",
        request,
        (
            f"{name} is a masked array, and entry {place} of it is masked; fill it with `.filled(value)`, or remove"
            " what is masked."
        ),
    )
    for what, (request, name, place) in GATES.items()
]
SCALARS = [
    Case(
        f"a masked number: {what}",
        request,
        f"{name} is a masked array, and it is masked; fill it with `.filled(value)`, or remove what is masked.",
    )
    for what, request, name in (
        ("discount", lambda: MDP(KERNEL, discount=np.ma.masked), "the discount γ"),
        ("alpha", lambda: MarkovGame(WORLD, alpha=np.ma.masked), "alpha"),
    )
]

NAMES = [
    Case(
        "a name that is not UTF-8",
        lambda: Demonstrations([0], None, [1], state_names=["caf\udce9"]),
        snapshot("the state name 'caf\\udce9' is not text in UTF-8; give it another name."),
    ),
    Case(
        "a header of a thousand columns",
        lambda: load(written(",".join(f"c{i}" for i in range(1000)) + "\n1\n", "wide.csv")),
        snapshot(
            "wide.csv has no column 'episode', only c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 988 more; say"
            ' which one it is with columns={"episode": ...}.'
        ),
    ),
    Case(
        "a header of a megabyte",
        lambda: load(written("x" * 100_000 + "\n1\n", "long.csv")),
        (
            f"long.csv has one column, '{'x' * 39}..., but episode and state need one each; if its cells are separated"
            " by something else than commas, semicolons, tabs or |, separator names it."
        ),
    ),
]

CASES = [*MASKED, *SCALARS, *NAMES]
