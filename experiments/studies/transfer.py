"""How far does a learned reward carry? Learn it in one world, plan with it in changed ones, measure the regret.

A method turns a task (a learner's world, and demonstrations of an expert whose world moves a little differently) into a
reward. The optimal policy for it in a changed world is measured by the true reward:

    regret = (V* - V^π) / (V* - V^plain),        plain: random, or for buses never to replace an engine.

gridworld      gridworld-4: learner calm, expert at noise 0.1; changed noise, cells and actions
frozen-lake    FrozenLake 4x4: learner slips with 0.1, expert with 0.2; changed slips
buses          Rust's costs: mileage of the learner grows as in group 3, the expert's as in group 4; all groups
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments import runner
from experiments.runner import Outcome, Where
from experiments.tables import Output, grouped, interval
from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.irl import fit, fit_jointly, select_alpha
from robustirl.irl.problem import matched_occupancy
from robustirl.mdp import MDP, uniform_policy
from robustirl.planning import discounted_return, expert_policy
from robustirl.rewards import AbstractReward, LinearReward

STRENGTHS = (0.0, 0.1, 0.2, 0.3)
SLIPS = (0.0, 0.1, 0.2, 0.4, 2 / 3)
BUS_COSTS = (2.293, 10.075)  # Rust's estimates for group 4, of mileage and of a replacement.
BUS_DISCOUNT = 0.999  # At 0.99 no engine is worth a replacement; at Rust's 0.9999 records show little of an occupancy.


class Family(NamedTuple):
    """A true reward, the worlds of learner and expert, and changed worlds as (kind, strength, world)."""

    reward: np.ndarray
    learner: MDP
    expert: MDP
    changes: list[tuple[str, float, MDP]]
    temperature: float
    horizon: int
    model: AbstractReward | None = None


def gridworld() -> Family:
    """Return the family of gridworld-4."""
    env = envs.make("gridworld-4")
    calm, noisy = (env.mdp(noise, "uniform-action") for noise in (0.0, 0.1))
    kernel, mask = np.asarray(calm.kernel.dense()), np.asarray(calm.mask)
    order = np.random.default_rng(0).permutation(np.arange(1, len(kernel)))
    changes = [("noise", noise, env.mdp(noise, "uniform-action")) for noise in STRENGTHS]
    for share in STRENGTHS:
        cells = order[: int(share * len(kernel))]
        blocked, permuted = kernel.copy(), kernel.copy()
        into = blocked[:, :, cells].sum(-1)
        blocked[:, :, cells] = 0
        blocked[np.arange(len(kernel)), :, np.arange(len(kernel))] += into
        for cell in cells:
            available = np.flatnonzero(mask[cell])
            permuted[cell, available] = kernel[cell, np.roll(available, 1)]
        for kind, changed in (("blocked cells", blocked), ("permuted actions", permuted)):
            changes.append((kind, share, MDP(changed, discount=calm.discount, initial=calm.initial, mask=mask)))
    return Family(np.asarray(env.reward), calm, noisy, changes, 1.0, 150)


def frozen_lake() -> Family:
    """Return the family of FrozenLake 4x4, which pays at most 1, so that experts are hardly random."""
    env = envs.make("frozen-lake")
    changes = [("slip", slip, env.mdp(slip)) for slip in SLIPS]
    return Family(np.asarray(env.reward), env.mdp(0.1), env.mdp(0.2), changes, 0.1, 300)


def buses() -> Family:
    """Return the family of bus groups: strength is by how many bins mileage grows in a month."""
    groups = {number: envs.buses(number, discount=BUS_DISCOUNT) for number in (1, 2, 3, 4)}
    growth = {n: float(np.arange(env.increment_shares.size) @ env.increment_shares) for n, env in groups.items()}
    changes = [("bus groups", growth[n], groups[n].mdp()) for n in sorted(groups, key=lambda n: growth[n])]
    features = np.asarray(groups[4].features)
    costs = LinearReward(features, names=groups[4].feature_names)
    return Family(features @ BUS_COSTS, groups[3].mdp(), groups[4].mdp(), changes, 1.0, 400, costs)


FAMILIES: dict[str, Callable[[], Family]] = {"gridworld": gridworld, "frozen-lake": frozen_lake, "buses": buses}


def _matched(family: Family, walks: Demonstrations) -> Any:
    rho = np.asarray(estimate_occupancy(walks, family.learner).occupancy)
    return matched_occupancy(walks, family.learner, rho, family.model)


Method = Callable[[Family, Demonstrations, Demonstrations], Any]
"""From a family, what the learner's expert did at home, and what the expert did in its own world, to a reward."""
METHODS: dict[str, Method] = {
    "standard": lambda f, _, w: fit(f.learner, _matched(f, w), alpha=1.0, reward=f.model, throw=False).reward,
    "robust, 0.95": lambda f, _, w: fit(f.learner, _matched(f, w), alpha=0.95, reward=f.model, throw=False).reward,
    "robust, auto": lambda f, _, w: select_alpha(f.learner, w, reward=f.model).fit.reward,
    "several experts": lambda f, h, w: fit_jointly([f.learner, f.expert], [h, w], reward=f.model, throw=False).reward,
    "likelihood": lambda f, _, w: (
        fit(f.learner, w, alpha=1.0, reward=f.model, objective="likelihood", penalty=1.0, throw=False).reward
    ),
}


@dataclasses.dataclass(frozen=True)
class TransferSpec:
    """One method that learns from one draw of demonstrations."""

    family: str
    episodes: int
    draw: int
    method: str


def learn(specs: Sequence[TransferSpec]) -> list[Outcome]:
    """Learn once, and measure the regret in all changed worlds."""
    (spec,) = specs
    family = FAMILIES[spec.family]()
    walks = [
        sample_demonstrations(
            world,
            expert_policy(world, family.reward, temperature=family.temperature),
            episodes=spec.episodes,
            horizon=family.horizon,
            key=key,
        )
        for world, key in zip(family[1:3], jax.random.split(jax.random.key(spec.draw), 2), strict=True)
    ]
    learned = np.asarray(METHODS[spec.method](family, *walks))
    found = {f"{kind} {strength:.3g}": regret(family, world, learned) for kind, strength, world in family.changes}
    return [(found, {})]


def regret(family: Family, world: MDP, learned: np.ndarray) -> float:
    """Return the share of the possible gain over a plain policy that a learned reward misses."""
    plain = np.asarray(uniform_policy(world.mask))
    if family.model is not None:  # Drawing actions alike would replace half of the engines every month.
        plain = np.eye(world.num_actions)[np.zeros(world.num_states, int)]
    policies = (*(expert_policy(world, reward, temperature=0) for reward in (family.reward, learned)), plain)
    best, own, least = (float(discounted_return(world, policy, family.reward)) for policy in policies)
    # A learned reward may tie with the truth, where rounding decides the sign.
    return max(best - own, 0.0) / (best - least) if best > least else 0.0


@dataclasses.dataclass(frozen=True)
class Study:
    """Plan with learned rewards in changed worlds: noise, blocked cells, actions, slips and groups of buses."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """Which families of worlds: gridworld, frozen-lake, buses."""
    episodes: int = 200
    """How many episodes each expert records."""
    draws: int = 10
    """How many times demonstrations are drawn."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Which methods."""

    def run(self, out: Output, where: Where) -> None:
        """Learn, plan, and write tables of regrets: by strength, and means over strengths."""
        draws = range(self.draws)
        specs = [TransferSpec(f, self.episodes, d, m) for d in draws for f in self.families for m in self.methods]
        results = runner.run(specs, learn, out.folder, key=lambda spec: spec.family, size=1, where=where)
        rows, means = [], []
        for _, own in grouped(results, lambda r: r.spec.family).items():
            by_method = grouped(own, lambda r: r.spec.method)
            names = [name for name in own[0].row if name != "seconds"]
            for name in names:
                rows.append((name, *(interval([r.row[name] for r in part]) for part in by_method.values())))
            for kind, same in grouped(names, lambda name: name.rpartition(" ")[0]).items():
                numbers = ([float(np.mean([r.row[n] for n in same])) for r in part] for part in by_method.values())
                means.append((kind, *map(interval, numbers)))
        out.table("transfer", ("change", *self.methods), rows)
        out.table("transfer-summary", ("change, mean over strengths", *self.methods), means)
