"""ObjectWorld over many layouts: means with 95 % intervals, and whether the paper's shape holds.

The published layout is lost, so layouts are drawn, and each is a sample. The paper's measure, the undiscounted return
over at most 1000 steps, means little in layouts whose γ = 0.7 optimal policy pays at every step (about a third of them:
from some cells it stays in cells of -1 rather than cross cells of -2). So two kinds of measures are given: the
discounted return, which is what expert and learner optimize, over all layouts; and the paper's measure over the settled
layouts, those in which the optimal policy ends in cells that pay nothing, as it does in the published one.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from experiments.paper.finite import PAPER_ALPHAS, PAPER_EXPERT_NOISES, PAPER_LEARNER_NOISES, Record, grid_of_specs, run
from experiments.runner import Where
from experiments.tables import Interval, Output, interval
from robustirl.envs.noise import UNIFORM_STATE
from robustirl.errors import InvalidInputError
from robustirl.irl.fit import PAPER_STEPS

SETTLED = -20.0  # A layout's optimal return without noise; a policy that stays away from the goal loses hundreds.
HEADINGS = ("measure", "ε_L", "robust α", "standard changes by", "robust by", "robust - standard", "confirmed")


def settled(records: Sequence[Record]) -> list[Record]:
    """Return the runs in layouts whose optimal policy ends in cells that pay nothing, at the least noise."""
    calmest = min(record.spec.learner_noise for record in records)
    kept = {r.spec.seed for r in records if r.spec.learner_noise == calmest and r.optimal_return > SETTLED}
    return [record for record in records if record.spec.seed in kept]


def shapes(records: Sequence[Record], measure: Callable[[Record], float]) -> list[tuple[float, float, list[Interval]]]:
    """Return for every ε_L the robust α, and three paired differences over layouts.

    The differences are the change of standard from the learner's own noise to the largest, that of robust, and robust
    minus standard at the largest. The robust α has the largest mean over the layouts of even number, and the
    differences are those of the others, so that the choice does not flatter itself.
    """
    values: dict[tuple[float, ...], float] = {
        (r.spec.seed, r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise): measure(r) for r in records
    }
    seeds, learners, alphas, experts = (sorted({key[i] for key in values}) for i in range(4))
    found = []
    for learner in learners:
        own, top = min(experts, key=lambda noise, learner=learner: abs(noise - learner)), experts[-1]
        means = {a: np.mean([values[s, learner, a, e] for s in seeds[::2] for e in experts]) for a in alphas if a < 1}
        best = max(means, key=lambda a: means[a])
        pairs = (((1.0, top), (1.0, own)), ((best, top), (best, own)), ((best, top), (1.0, top)))
        differences = [
            interval([values[s, learner, *first] - values[s, learner, *second] for s in seeds[1::2]])
            for first, second in pairs
        ]
        found.append((learner, best, differences))
    return found


@dataclasses.dataclass(frozen=True)
class Study:
    """Run ObjectWorld over many random layouts, and say whether the paper's shape holds."""

    layouts: int = 40
    """How many layouts, drawn with the seeds 0, 1, …"""
    alphas: tuple[float, ...] = PAPER_ALPHAS
    """The player's chances of control; 1 is standard."""
    learner_noise: tuple[float, ...] = PAPER_LEARNER_NOISES
    """The learner's noises."""
    expert_noise: tuple[float, ...] = PAPER_EXPERT_NOISES
    """The expert's noises."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, out: Output, where: Where) -> None:
        """Run, and write the table of shapes."""
        if self.layouts < 4 or 1.0 not in self.alphas or len(self.alphas) < 2:
            raise InvalidInputError("at least 4 --layouts, standard (1) and one robust α are needed, to compare them.")
        specs = grid_of_specs(
            "objectworld",
            UNIFORM_STATE,
            alphas=self.alphas,
            learner_noises=self.learner_noise,
            expert_noises=self.expert_noise,
            seeds=range(self.layouts),
            steps=self.steps,
        )
        records = run(specs, out.folder, where)
        rows = []
        for name, own, measure in (
            ("discounted return, all layouts", records, lambda r: r.discounted_return),
            ("return, settled layouts", settled(records), lambda r: r.total_return),
        ):
            if len({r.spec.seed for r in own}) < 4:
                continue
            for learner, alpha, (standard, robust, advantage) in shapes(own, measure):
                holds = standard.high < 0 < advantage.low and robust.mean > standard.mean / 2
                rows.append((name, learner, alpha, standard, robust, advantage, "yes" if holds else "no"))
        out.table("layouts", HEADINGS, rows)
