"""The paper's two rules for α beside the α that turned out best, on the grids.

For every pair of noises: 1 - d/2 (Section 5), the corollary's α for the opponent of the true reward's game, and which
of the tried α gave the highest return in the learner's world.
"""

import dataclasses
import itertools
from collections.abc import Sequence

from robustirl import envs
from robustirl._runtime import enable_x64
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import PAPER_ALPHAS, PAPER_EXPERT_NOISES, PAPER_LEARNER_NOISES, grid_of_specs
from robustirl.sweeps import flat, run
from robustirl.theory import choose_alpha, worst_opponent_world


@dataclasses.dataclass(frozen=True)
class Row:
    """One pair of noises: the α of either rule, the best of those tried, and the return it gave."""

    environment: str
    learner_noise: float
    expert_noise: float
    half_distance: float
    corollary: float
    best: float
    best_return: float


def alpha_table(
    environments: Sequence[str],
    noise_model: str = "uniform-state",
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    steps: int = PAPER_STEPS,
) -> list[Row]:
    """The rows of some environments, in the order of learner and expert noise."""
    rows = []
    for name in environments:
        lab = ExperimentContext(envs.make(name), noise_model)
        specs = grid_of_specs(
            name, noise_model, alphas=alphas, learner_noises=learner_noises, expert_noises=expert_noises, steps=steps
        )
        records = [finding.record for finding in flat(run(specs))]
        for learner, expert in itertools.product(learner_noises, expert_noises):
            star = worst_opponent_world(lab.world(learner), lab.reward, alpha=0.9)
            choice = choose_alpha(lab.world(learner), lab.world(expert), opponent_world=star)
            pair = [r for r in records if (r.spec.learner_noise, r.spec.expert_noise) == (learner, expert)]
            best = max(pair, key=lambda record: record.total_return)
            corollary = 1.0 if choice.corollary is None else choice.corollary
            rows.append(Row(name, learner, expert, choice.half_distance, corollary, best.spec.alpha, best.total_return))
    return rows


def to_markdown(rows: Sequence[Row]) -> str:
    """The table as text."""
    lines = ["| environment | ε_L | ε_E | 1 - d/2 | corollary | best tried | its return |", "|" + " --- |" * 7]
    lines += [
        f"| {r.environment} | {r.learner_noise:g} | {r.expert_noise:g} | {r.half_distance:.3f} | {r.corollary:.3f} |"
        f" {r.best:g} | {r.best_return:.1f} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    enable_x64()
    print(to_markdown(alpha_table([name for name in envs.names() if name.startswith("gridworld")])), end="")
