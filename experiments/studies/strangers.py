"""How fits end, and what their policies earn, in worlds that the library was not made for.

Every pair of worlds is fitted with α = 1, 0.9 and, where there are episodes, the α that they support, from an optimal
expert's exact occupancy and from its episodes. The true reward then gives the regret in the learner's world:

    regret = (optimal return - return of the learned policy) / (optimal return - return of the uniform policy).

It is 0 for a policy as good as the optimal one, and 1 for one that is no better than choosing actions at random. Random
worlds differ in the amount of noise, or in kind: an expert may do what the learner cannot.
"""

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments import runner
from experiments.runner import Outcome, Where
from experiments.tables import Output, grouped
from robustirl import envs
from robustirl.demonstrations import estimate_occupancy, sample_demonstrations
from robustirl.irl import fit, select_alpha
from robustirl.mdp import MDP, uniform_policy
from robustirl.planning import discounted_return, expert_policy, state_occupancy

ACTIONS = 4
DISTANT, LONGEST = 3.0, 2000  # Episodes are cut after so many times 1 / (1-γ) steps, and after so many at most.
LARGE = 300  # Worlds with more states are fitted to the exact occupancy alone.
STRONG, PART = 0.4, 0.3  # The probability of drift, and the part of states that are closed.
NO_CHOICE = 1e-9  # Where the uniform policy is as good as the optimal one up to this, there is no regret to speak of.
EXPERT_NOISE = 0.2


class Pair(NamedTuple):
    """The worlds of a learner and of an expert, and the true reward."""

    learner: MDP
    expert: MDP
    reward: np.ndarray


KINDS = ("noisier", "calmer", "relabeled", "drifting", "closed", "slower")
"""How the expert's world differs from the learner's."""


def kernels(kind: str, moves: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernels of learner and expert, made of what actions do without noise."""
    states = len(moves)
    noisy = [(1 - amount) * moves + amount / states for amount in (random.uniform(0, 0.2), random.uniform(0.2, 0.5))]
    if kind == "noisier":
        return noisy[0], noisy[1]
    if kind == "calmer":
        return noisy[1], noisy[0]
    if kind == "relabeled":
        order = np.argsort(random.random((states, ACTIONS)), axis=1)
        return noisy[0], noisy[0][np.arange(states)[:, None], order]
    if kind == "drifting":  # The learner away from the goal, the expert towards it.
        away, towards = ((1 - STRONG) * moves + STRONG * moves[:, [action]] for action in (0, 1))
        return away, towards
    if kind == "slower":
        return moves[:, [0, 1, 0, 1]], moves
    closed = random.random(states) < PART  # States that only the expert may enter.
    closed[[0, -1]] = closed[1::2] = False  # Never two in a row, so that a step of another size leads past.
    own = moves.copy()
    into = own[:, :, closed].sum(-1)
    own[:, :, closed] = 0.0
    return own + into[..., None] * np.eye(states)[:, None], moves


def random_pair(kind: str, seed: int) -> Pair:
    """Return short and long moves along a line with a goal at its end, whose kernels differ as the kind says.

    Example:
        >>> pair = random_pair("closed", 0)
        >>> pair.learner.num_states == pair.expert.num_states
        True
    """
    random = np.random.default_rng([seed, KINDS.index(kind)])
    states = int(np.exp(random.uniform(np.log(16), np.log(101))))
    here, reach = np.arange(states), max(2, int(np.sqrt(states)))
    moves = np.stack([np.eye(states)[np.clip(here + step, 0, states - 1)] for step in (-1, 1, -reach, reach)], axis=1)
    made = kernels(kind, moves, random)
    reward = -0.1 - random.exponential(1.0, states) * (random.random(states) < 0.5)
    reward[-1] = 0.0
    discount = 1 - 10.0 ** random.uniform(-2.5, -1)
    worlds = []
    for kernel in made:
        ended = kernel.copy()
        ended[-1] = np.eye(states)[-1]
        worlds.append(MDP(ended, discount=discount))
    return Pair(worlds[0], worlds[1], reward)


@dataclasses.dataclass(frozen=True)
class StrangerSpec:
    """One pair of worlds, registered or of a random kind, and a number of episodes; 0 is the exact occupancy."""

    world: str
    seed: int
    mismatch: bool
    episodes: int

    def pair(self) -> Pair:
        """Return the worlds."""
        if self.world in KINDS:
            return random_pair(self.world, self.seed)
        env = envs.make(self.world)
        return Pair(env.mdp(), env.mdp(EXPERT_NOISE if self.mismatch else 0.0), np.asarray(env.reward))


def examine(specs: Sequence[StrangerSpec]) -> list[Outcome]:
    """Fit one pair of worlds in all ways."""
    (spec,) = specs
    world, expert_world, reward = spec.pair()
    policy = expert_policy(expert_world, reward, temperature=0)
    best = float(discounted_return(world, expert_policy(world, reward, temperature=0), reward))
    spread = best - float(discounted_return(world, uniform_policy(world.mask), reward))
    if spread <= NO_CHOICE * max(1.0, abs(best)) or (spec.episodes and world.num_states > LARGE):
        return [({}, {})]
    rho, fits = state_occupancy(expert_world, policy), {}
    if spec.episodes:
        horizon = min(LONGEST, math.ceil(DISTANT / (1 - float(expert_world.discount))))
        key = jax.random.key(spec.episodes)
        walks = sample_demonstrations(expert_world, policy, episodes=spec.episodes, horizon=horizon, key=key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of what the data leave open, which the rows show.
            rho = estimate_occupancy(walks, world).occupancy
            fits["auto"] = select_alpha(world, walks).fit
    fits |= {f"{alpha:g}": fit(world, rho, alpha=alpha, throw=False) for alpha in (1.0, 0.9)}
    row: dict[str, Any] = {}
    for name, one in fits.items():
        regret = (best - float(discounted_return(world, one.player, reward))) / spread
        gap, status = float(one.verdict.occupancy_gap), str(one.verdict.status)
        row[name] = [float(one.alpha), gap, regret, status]
    return [(row, {})]


@dataclasses.dataclass(frozen=True)
class Study:
    """Fit registered and random worlds whose dynamics differ in amount or kind, and measure the regret."""

    worlds: int = 8
    """How many random worlds of each kind of mismatch."""
    episodes: tuple[int, ...] = (0, 20, 500)
    """Numbers of episodes; 0 stands for the exact occupancy."""
    named: bool = True
    """Whether to include the registered worlds."""

    def run(self, out: Output, where: Where) -> None:
        """Fit all pairs, and write strangers.csv and the table."""
        pairs = [(kind, seed, True) for kind in KINDS for seed in range(self.worlds)]
        pairs += [(name, 0, mismatch) for name in envs.names() for mismatch in (False, True)] if self.named else []
        specs = [StrangerSpec(*pair, count) for pair in pairs for count in self.episodes]
        results = runner.run(specs, examine, out.folder, key=lambda spec: spec.world, size=1, where=where)
        names = ("alpha", "gap", "regret", "status")
        rows = [
            dataclasses.asdict(r.spec) | {"fit": name} | dict(zip(names, values, strict=True))
            for r in results
            for name, values in r.row.items()
            if name != "seconds"
        ]
        out.csv("strangers", rows)
        lines = []
        groups = grouped(rows, lambda row: (row["world"] if row["world"] in KINDS else "registered", row["fit"]))
        for (group, name), own in groups.items():
            regrets = np.array([row["regret"] for row in own])
            shares = (f"{np.mean(regrets < bound):.0%}" for bound in (0.05, 0.5))
            gap = np.median([row["gap"] for row in own])
            lines.append((group, name, len(own), f"{gap:.2g}", f"{np.median(regrets):.3f}", *shares))
        headings = ("worlds", "α", "fits", "median gap", "median regret", "regret < 5 %", "< 50 %")
        out.table("strangers", headings, lines)
