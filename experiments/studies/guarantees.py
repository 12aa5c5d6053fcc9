"""How often guarantees from data hold, and how tight they are, by simulation.

An optimal expert acts in a world within the stated radius. A policy is fitted to a draw of its demonstrations, states
only, and `theory.guarantee` bounds its shortfall. The true reward is known here, so that the true shortfall in the
worst world of the radius is, too: a guarantee holds if it is not exceeded.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import jax
import numpy as np

from experiments import runner
from experiments.runner import Outcome, Where
from experiments.tables import Output, grouped
from robustirl import envs
from robustirl.demonstrations import estimate_occupancy, sample_demonstrations
from robustirl.irl import fit
from robustirl.mdp import dynamics_distance, uniform_policy
from robustirl.mdp.mdp import absorbing_states
from robustirl.planning import expert_policy, state_occupancy
from robustirl.theory import certify, guarantee

PAIRS: dict[str, tuple[str | None, float]] = {
    "gridworld-4": (None, 0.1),
    "frozen-lake": ("slip", 0.2),
    "frozen-lake-8x8": ("slip", 0.2),
}
"""By environment: noise model and the learner's noise."""
HORIZON = 500
NUMBERS = ("shortfall", "attained", "truth", "without_data")


@dataclasses.dataclass(frozen=True)
class GuaranteeSpec:
    """One guarantee: pair of worlds, more noise of the expert, policy (`fitted` or `uniform`), episodes and draw."""

    pair: str
    mismatch: float
    policy: str
    episodes: int
    draw: int


def simulate(specs: Sequence[GuaranteeSpec]) -> list[Outcome]:
    """Set guarantees beside the truth; the reward is scaled to [0, 1]."""
    return [(_simulate(one), {}) for one in specs]


def _simulate(spec: GuaranteeSpec) -> dict[str, float]:
    model, noise = PAIRS[spec.pair]
    env: envs.Environment = envs.make(spec.pair)
    learner, world = env.mdp(noise, model), env.mdp(noise + spec.mismatch, model)
    reward = np.asarray(env.reward, float)
    reward = (reward - reward.min()) / (reward.max() - reward.min())
    ends = absorbing_states(learner)[:, None]  # They are as they are in every world of the radius.
    radius = np.where(ends, 0.0, np.full(np.asarray(learner.mask).shape, float(dynamics_distance(learner, world))))
    expert = expert_policy(world, reward, temperature=0)
    key = jax.random.key(spec.draw * 1_000_003 + spec.episodes)
    demos = sample_demonstrations(world, expert, episodes=spec.episodes, horizon=HORIZON, key=key)
    policy = np.asarray(uniform_policy(learner.mask))
    if spec.policy == "fitted":
        policy = fit(learner, estimate_occupancy(demos, learner).occupancy, alpha=1.0, throw=False).player
    found = guarantee(learner, demos, policy, radius=radius)
    earned = float(np.asarray(state_occupancy(world, expert)) @ reward)
    worst = (1 - float(learner.discount)) * float(certify(learner, policy, reward, radius=radius).worst_return)
    return {
        "shortfall": float(found.shortfall),
        "truth": earned - worst,
        "attained": float("nan") if found.attained is None else float(found.attained),
        "without_data": float(found.without_data),
    }


@dataclasses.dataclass(frozen=True)
class Study:
    """Count how often guarantees from data hold, and set them beside what is attained."""

    draws: int = 20
    """How many draws of the demonstrations."""
    episodes: tuple[int, ...] = (100, 1000, 10000)
    """How many episodes in a draw."""
    pairs: tuple[str, ...] = tuple(PAIRS)
    """Which environments."""

    def run(self, out: Output, where: Where) -> None:
        """Simulate all, and write guarantees.csv and the table."""
        cells = itertools.product(self.pairs, (0.0, 0.02), ("fitted", "uniform"), self.episodes, range(self.draws))
        results = runner.run(
            [GuaranteeSpec(*cell) for cell in cells], simulate, out.folder, key=lambda s: s.pair, size=1, where=where
        )
        out.csv("guarantees", [dataclasses.asdict(r.spec) | r.row for r in results])
        rows = []
        groups = grouped(results, lambda r: (r.spec.pair, r.spec.mismatch, r.spec.policy, r.spec.episodes))
        for cell, own in groups.items():
            held = sum(r.row["truth"] <= r.row["shortfall"] for r in own)
            means = (f"{np.nanmean([r.row[name] for r in own]):.3f}" for name in NUMBERS)
            rows.append((*cell, f"{held} of {len(own)}", *means))
        headings = ("worlds", "expert's noise more", "policy", "episodes", "held")
        out.table("guarantees", (*headings, "bound", "attained", "truth", "without data"), rows)
