"""The paper's two rules for α beside the α that turned out best, on the grids.

For every pair of noises: 1 - d/2 (Section 5), the corollary's α for the opponent of the true reward's game, and which
of the tried α gave the highest return in the learner's world.
"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from robustirl import envs
from robustirl.envs.noise import UNIFORM_STATE
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import (
    PAPER_ALPHAS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
    RunSpec,
    grid_of_specs,
)
from robustirl.paper.studies.registry import Frame, register_study
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


def specs_of(
    environments: Sequence[str],
    noise_model: str = UNIFORM_STATE,
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    steps: int = PAPER_STEPS,
) -> tuple[RunSpec, ...]:
    """Return the runs of some environments, in the order of learner and expert noise."""
    return tuple(
        spec
        for name in environments
        for spec in grid_of_specs(
            name, noise_model, alphas=alphas, learner_noises=learner_noises, expert_noises=expert_noises, steps=steps
        )
    )


def alpha_table(records: Sequence[Record]) -> list[Row]:
    """Return the rows of runs, in the order of their environments, learner and expert noises."""
    rows = []
    for (name, model), own in _groups(records, lambda s: (s.environment, s.noise_model)).items():
        context = ExperimentContext(envs.make(name), model)
        for (learner, expert), pair in _groups(own, lambda s: (s.learner_noise, s.expert_noise)).items():
            star = worst_opponent_world(context.world(learner), context.reward, alpha=0.9)
            choice = choose_alpha(context.world(learner), context.world(expert), opponent_world=star)
            best = max(pair, key=lambda record: record.total_return)
            corollary = 1.0 if choice.corollary is None else choice.corollary
            rows.append(Row(name, learner, expert, choice.half_distance, corollary, best.spec.alpha, best.total_return))
    return rows


def _groups(records: Sequence[Record], key: Callable[[RunSpec], Hashable]) -> dict[Any, list[Record]]:
    found: dict[Any, list[Record]] = {}
    for record in records:
        found.setdefault(key(record.spec), []).append(record)
    return found


COLUMNS = ("environment", "ε_L", "ε_E", "1 - d/2", "corollary", "best tried", "its return")


def as_cells(row: Row) -> tuple[str, ...]:
    """Return a row as the entries under `COLUMNS`."""
    noises = f"{row.learner_noise:g}", f"{row.expert_noise:g}"
    rules = f"{row.half_distance:.3f}", f"{row.corollary:.3f}"
    return row.environment, *noises, *rules, f"{row.best:g}", f"{row.best_return:.1f}"


@register_study("alpha-rules")
@dataclasses.dataclass(frozen=True)
class AlphaRulesStudy:
    """Set the paper's two rules for α beside the α that turned out best."""

    environments: tuple[str, ...] = ()
    """Which environments; the gridworlds if omitted."""
    noise_model: str = UNIFORM_STATE
    """Which kernel the noise means."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, frame: Frame) -> None:
        """Run every α of the paper on every pair of noises, and write the table."""
        names = self.environments or [name for name in envs.names() if name.startswith("gridworld")]
        records = frame.compute(specs_of(names, self.noise_model, steps=self.steps))
        frame.write_table("alpha-rules", COLUMNS, map(as_cells, alpha_table(records)))
