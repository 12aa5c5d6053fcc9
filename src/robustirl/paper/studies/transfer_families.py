"""Families of the transfer benchmark: a task to learn from, and changed worlds to plan in.

gridworld      gridworld-4: learner calm, expert at noise 0.1; changed noise, cells, starts and actions
frozen-lake    FrozenLake 4x4: learner slips with 0.1, expert with 0.2; changed slips
buses          Rust's costs: mileage of the learner grows as in group 3, the expert's as in group 4; all groups
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.demonstrations import sample_demonstrations
from robustirl.mdp import MDP, uniform_policy
from robustirl.paper.studies.transfer_methods import TransferTask
from robustirl.planning import expert_policy
from robustirl.rewards import AbstractReward, LinearReward

STRENGTHS = (0.0, 0.1, 0.2, 0.3)
SLIPS = (0.0, 0.1, 0.2, 0.4, 2 / 3)
BUS_COSTS = (2.293, 10.075)  # Rust's estimates for group 4, of mileage and of a replacement.
BUS_DISCOUNT = 0.999  # At 0.99 no engine is worth a replacement; at Rust's 0.9999 records show little of an occupancy.
LAKE_TEMPERATURE = 0.1  # The lake pays at most 1. An optimal expert's choices do not tell the size of a reward.


class Change(NamedTuple):
    """A changed world: what was changed, how much, and the world."""

    kind: str
    strength: float
    world: MDP


@dataclasses.dataclass(frozen=True, eq=False)
class Family:
    """A true reward, worlds to learn in, and worlds to plan in.

    Attributes:
        name: What to call it.
        reward: The true reward, `[S]` or `[S, A]`.
        learner, expert: The worlds of a task; experts in both make up the task of several experts.
        changes: Where a learned reward is planned with.
        temperature: How random experts are.
        horizon: How long an episode may be.
        baseline: The policy whose return counts as a regret of 1, in a world.
        model: The reward model; None for any reward of states.
    """

    name: str
    reward: np.ndarray
    learner: MDP
    expert: MDP
    changes: tuple[Change, ...]
    temperature: float
    horizon: int
    baseline: Callable[[MDP], np.ndarray]
    model: AbstractReward | None = None

    def task(self, episodes: int, seed: int) -> TransferTask:
        """Return freshly drawn demonstrations."""
        keys = jax.random.split(jax.random.key(seed), 2)
        recorded = []
        for world, key in zip((self.learner, self.expert), keys, strict=True):
            policy = expert_policy(world, self.reward, temperature=self.temperature)
            walks = sample_demonstrations(world, policy, episodes=episodes, horizon=self.horizon, key=key)
            recorded.append((world, walks))
        return TransferTask(self.learner, recorded[1][1], tuple(recorded), self.model)


def random_policy(world: MDP) -> np.ndarray:
    """Return the policy that draws every available action alike."""
    return np.asarray(uniform_policy(world.mask))


def never_replace(world: MDP) -> np.ndarray:
    """Return the policy that keeps every engine.

    Drawing actions alike would replace half of them every month.
    """
    return np.eye(world.num_actions)[np.zeros(world.num_states, int)]


def gridworld_family(name: str = "gridworld-4") -> Family:
    """Return the family of a gridworld."""
    env = envs.make(name)
    calm, noisy = (env.mdp(noise, "uniform-action") for noise in (0.0, 0.1))
    changes = tuple(grid_changes(env))
    return Family("gridworld", np.asarray(env.reward), calm, noisy, changes, 1.0, 150, random_policy)


def frozen_lake_family() -> Family:
    """Return the family of FrozenLake 4x4."""
    env = envs.make("frozen-lake")
    changes = tuple(Change("slip", slip, env.mdp(slip)) for slip in SLIPS)
    return Family(
        "frozen-lake", np.asarray(env.reward), env.mdp(0.1), env.mdp(0.2), changes, LAKE_TEMPERATURE, 300, random_policy
    )


def buses_family() -> Family:
    """Return the family of bus groups: strength is by how many bins mileage grows in a month."""
    groups = {number: envs.buses(number, discount=BUS_DISCOUNT) for number in (1, 2, 3, 4)}
    growth = {n: float(np.arange(env.increment_shares.size) @ env.increment_shares) for n, env in groups.items()}
    worlds = {number: env.mdp() for number, env in groups.items()}
    changes = tuple(Change("bus groups", growth[n], worlds[n]) for n in sorted(groups, key=lambda n: growth[n]))
    features = groups[4].features
    costs = LinearReward(features, names=groups[4].feature_names)
    return Family("buses", features @ BUS_COSTS, worlds[3], worlds[4], changes, 1.0, 400, never_replace, costs)


FAMILIES: dict[str, Callable[[], Family]] = {
    "gridworld": gridworld_family,
    "frozen-lake": frozen_lake_family,
    "buses": buses_family,
}


def make_family(name: str) -> Family:
    """Return a family by name, its worlds in double precision."""
    with double_precision():
        return FAMILIES[name]()


def grid_changes(env: envs.Environment) -> Iterator[Change]:
    """Return worlds in which a reward of this grid is planned with."""
    for noise in STRENGTHS:
        yield Change("noise", noise, env.mdp(noise, "uniform-action"))
    calm = env.mdp(0.0)
    kernel, size = np.asarray(calm.kernel.to_array()), calm.num_states
    rng = np.random.default_rng(0)
    order = rng.permutation(np.arange(1, size))
    for share in STRENGTHS:
        yield Change("blocked cells", share, _blocked(calm, kernel, order[: int(share * size)]))
    for corner in (0.0, 0.1, 0.5, 1.0):
        start = (1 - corner) * np.asarray(calm.initial) + corner * np.eye(size)[size - 1]
        world = MDP(kernel, discount=float(calm.discount), initial=start, mask=calm.mask)
        yield Change("moved start", corner, world)
    for share in STRENGTHS:
        yield Change("permuted actions", share, _permuted(calm, kernel, order[: int(share * size)]))


def _blocked(world: MDP, kernel: np.ndarray, cells: np.ndarray) -> MDP:
    """Return the world in which moves into these cells stay where they are."""
    changed = kernel.copy()
    into = changed[:, :, cells].sum(-1)
    changed[:, :, cells] = 0
    places = np.arange(len(changed))
    changed[places, :, places] += into
    return MDP(changed, discount=float(world.discount), initial=world.initial, mask=world.mask)


def _permuted(world: MDP, kernel: np.ndarray, cells: np.ndarray) -> MDP:
    """Return the world in which the available actions of these cells do what the next one did."""
    changed, mask = kernel.copy(), np.asarray(world.mask)
    for cell in cells:
        available = np.flatnonzero(mask[cell])
        changed[cell, available] = kernel[cell, np.roll(available, 1)]
    return MDP(changed, discount=float(world.discount), initial=world.initial, mask=mask)
