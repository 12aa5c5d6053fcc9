r"""Rust's buses across groups: learn from Zurcher's choices for one group, act in another, for every ordered pair.

The mileage of the groups grows differently, the decision-maker is the same. Three ways lead from a group E, where
choices were recorded, to a policy for a group L:

    standard    pretend that the choices were made in the world of L, α = 1
    robust      the same with an opponent whose α the data choose (`auto`)
    transfer    learn the cost in the world of E, plan with it in the world of L; also from all other groups jointly

each by likelihood of the choices and by occupancy matching. A policy π is measured by what Zurcher did in L:

    log-probability   mean of log π(a|s) over his choices in L, none of which was used; buses of L are independent
    replacements      Σ π(replace|x) over the months he decided about
    excess            θ_L · (c(π) - c(π_L)) - (H(π) - H(π_L)) >= 0: what a month costs more than under the best policy
                      π_L for the cost θ_L estimated on L itself; c(π) is the discounted mean of the features, and the
                      entropy H is what choosing softly is worth in Rust's model

No engine of groups 1 and 2 was replaced. Their cost is not identified: as E they are fitted with a weak prior
(`penalty`), as L they have no excess.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments import runner
from experiments.runner import Outcome, Where
from experiments.tables import Output
from robustirl import envs
from robustirl.demonstrations import Choices, Demonstrations, recorded, recorded_choices
from robustirl.errors import InvalidInputError
from robustirl.irl import fit, fit_jointly, select_alpha
from robustirl.mdp import MDP
from robustirl.planning import solve, state_occupancy
from robustirl.rewards import LinearReward

WEAK_PRIOR = 0.01  # For groups without a replacement; with it the log-likelihood falls by 0.5 for a cost of 10.
Z = 1.959964  # Of a 95 % interval.


class Group(NamedTuple):
    """A group of buses: its world at the discount of either objective, and what was recorded."""

    world: MDP
    matched_world: MDP
    choices: Choices
    episodes: Demonstrations
    penalty: float


@dataclasses.dataclass(frozen=True)
class BusesSpec:
    """From some groups (their numbers, separated by spaces) to another, at the discounts of both objectives."""

    sources: str
    target: int
    discount: float
    matched_discount: float


def read_group(number: int, spec: BusesSpec) -> Group:
    """Return a group with its worlds and records."""
    env = envs.buses(number, discount=spec.discount)
    choices, matched = recorded_choices(env), envs.buses(number, discount=spec.matched_discount).mdp()
    return Group(env.mdp(), matched, choices, recorded(env), 0.0 if choices.actions.any() else WEAK_PRIOR)


def policies(sources: Sequence[Group], target: Group, costs: LinearReward) -> dict[str, tuple[float, Any]]:
    """Return α and policy by way; of several sources one cost for all of them."""
    own = [group.world for group in sources]
    joint = fit_jointly(
        own,
        [group.choices for group in sources],
        reward=costs,
        objective="likelihood",
        penalty=min(group.penalty for group in sources),
    )
    moved = {"transfer, likelihood": (1.0, solve(target.world, joint.reward).player)}
    if len(sources) > 1:
        return moved
    (source,) = sources
    likely = select_alpha(target.world, source.choices, reward=costs, objective="likelihood", penalty=source.penalty)
    chosen = select_alpha(target.matched_world, source.episodes, reward=costs)
    home = select_alpha(source.matched_world, source.episodes, reward=costs, candidates=[1.0]).fit
    return {
        "standard, likelihood": (1.0, likely.fits[0].player),
        "robust auto, likelihood": (likely.alpha, likely.fit.player),
        **moved,
        "standard, occupancy": (1.0, chosen.fits[0].player),
        "robust auto, occupancy": (float(chosen.alpha), chosen.fit.player),
        "transfer, occupancy": (1.0, solve(target.matched_world, home.reward).player),
    }


def compare(specs: Sequence[BusesSpec]) -> list[Outcome]:
    """Learn and measure all ways from one group, or from some jointly, to another."""
    (spec,) = specs
    env = envs.buses(4)
    costs = LinearReward(np.asarray(env.features), names=env.feature_names)
    target = read_group(spec.target, spec)
    excess = excess_over_own_cost(target, costs)
    found = policies([read_group(int(number), spec) for number in spec.sources.split()], target, costs)
    row: dict[str, Any] = {}
    for way, (alpha, player) in found.items():
        policy, choices = np.asarray(player), target.choices
        with np.errstate(divide="ignore"):
            logs = np.log(policy[choices.states, choices.actions])
        sums = np.bincount(choices.groups, logs - logs.mean()) if np.isfinite(logs).all() else np.array([np.inf])
        error = float(np.sqrt((sums**2).sum()) / logs.size)
        row[way] = [alpha, float(logs.mean()), error, float(policy[choices.states, 1].sum()), excess(policy)]
    return [(row, {})]


def excess_over_own_cost(group: Group, costs: LinearReward) -> Callable[[np.ndarray], float]:
    """Return what gives a policy's excess cost by the cost estimated on the group itself; NaN if there is none."""
    if group.penalty:
        return lambda _: float("nan")
    own = fit(group.world, group.choices, alpha=1.0, reward=costs, objective="likelihood")
    reward = np.asarray(own.reward)

    def value(policy: np.ndarray) -> float:
        visits = np.asarray(state_occupancy(group.world, policy))
        surprise = -np.log(np.maximum(policy, np.finfo(float).tiny))
        return float(np.einsum("s,sa,sa->", visits, policy, reward + surprise))

    best = value(np.asarray(own.player))
    return lambda policy: max(0.0, best - value(policy))


@dataclasses.dataclass(frozen=True)
class Study:
    """Learn from Zurcher's choices for one group of Rust's buses and act in another, for every ordered pair."""

    groups: tuple[int, ...] = (4, 3, 1, 2)
    """Which groups."""
    discount: float = 0.9999
    """The discount of a month for likelihoods and costs."""
    matched_discount: float = 0.98
    """That for occupancy matching: records last 24 to 125 months, and what follows them is a guess."""

    def run(self, out: Output, where: Where) -> None:
        """Write the table of all ways and pairs."""
        if len(set(self.groups)) < 2:
            raise InvalidInputError(f"--groups is {self.groups!r}, but at least two different groups are needed.")
        asked = [(str(source), target) for target in self.groups for source in self.groups if source != target]
        if len(self.groups) > 2:
            asked += [(" ".join(str(n) for n in self.groups if n != target), target) for target in self.groups]
        specs = [BusesSpec(*one, self.discount, self.matched_discount) for one in asked]
        results = runner.run(specs, compare, out.folder, key=lambda _: None, size=1, where=where)
        rows = []
        for result in results:
            ways = {name: numbers for name, numbers in result.row.items() if name != "seconds"}
            for way, (alpha, mean, error, replaced, excess) in ways.items():
                place = result.spec.sources, result.spec.target, way, f"{alpha:g}"
                rows.append((*place, f"{mean:.4f} ± {Z * error:.4f}", f"{replaced:.1f}", f"{excess:.4f}"))
        headings = ("from", "to", "way", "α", "log-probability", "replacements", "excess cost of a month")
        out.table("buses", headings, rows)
