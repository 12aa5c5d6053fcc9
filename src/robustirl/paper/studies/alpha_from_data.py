"""α from the data against α in hindsight, over environments, noises and draws of the demonstrations.

For every pair of noises and every draw of trajectories, the learner is fitted with every α of the paper's grid and with
the α that those trajectories suggest. The regret of a choice is what it returns less than the best fixed α of that very
draw; it can be negative for an estimate that lies between the grid's points.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from robustirl.envs.noise import UNIFORM_ACTION, UNIFORM_STATE
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_count
from robustirl.paper.finite.specs import (
    PAPER_ALPHAS,
    PAPER_ENVIRONMENTS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
    RunSpec,
    grid_of_specs,
)
from robustirl.paper.studies.registry import Frame, register_study

TRAJECTORIES = 1000
AUTO = "auto"
SOURCE = {UNIFORM_STATE: "states", UNIFORM_ACTION: "actions"}


def specs_of(
    noise_model: str,
    *,
    environments: Sequence[str] = PAPER_ENVIRONMENTS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    draws: int = 10,
    trajectories: int = TRAJECTORIES,
    steps: int = PAPER_STEPS,
) -> tuple[RunSpec, ...]:
    """Return the runs: every fixed α and the estimated one, on the same demonstrations."""
    source = SOURCE.get(noise_model, "states")
    options = {"learner_noises": learner_noises, "expert_noises": expert_noises, "steps": steps}
    return tuple(
        spec
        for name in environments
        for draw in range(draws)
        for spec in (
            *grid_of_specs(name, noise_model, demonstrations=trajectories, draw=draw, **options),
            *grid_of_specs(
                name, noise_model, alphas=(1.0,), demonstrations=trajectories, draw=draw, auto=source, **options
            ),
        )
    )


@dataclasses.dataclass(frozen=True)
class Row:
    """Regrets of one environment (or all) by choice of α: median and mean over cells and draws.

    Attributes:
        environment: Its name, or `all`.
        auto: Of the estimated α, as (median, mean).
        standard: Of α = 1.
        best_fixed: Of the one fixed α with the smallest median regret, chosen in hindsight.
        best_alpha: That α.
        estimated: Mean of the estimated α minus 1 - max(0, ε_E - ε_L).
    """

    environment: str
    auto: tuple[float, float]
    standard: tuple[float, float]
    best_fixed: tuple[float, float]
    best_alpha: float
    estimated: float


def regrets(records: Sequence[Record]) -> dict[tuple[str, float, float, int], dict[float | str, float]]:
    """Return by (environment, ε_L, ε_E, draw) what a choice loses to the draw's best fixed α."""
    cells: dict[tuple[str, float, float, int], dict[float | str, float]] = {}
    for r in records:
        key = r.spec.environment, r.spec.learner_noise, r.spec.expert_noise, r.spec.draw
        cells.setdefault(key, {})[AUTO if r.spec.auto else r.spec.alpha] = r.total_return
    best = {key: max(value for choice, value in found.items() if choice != AUTO) for key, found in cells.items()}
    return {key: {choice: best[key] - value for choice, value in found.items()} for key, found in cells.items()}


def summarize(records: Sequence[Record]) -> list[Row]:
    """Return a row per environment, and one for all."""
    found = regrets(records)
    rows = []
    for name in [*dict.fromkeys(key[0] for key in found), "all"]:
        own = [cell for key, cell in found.items() if name in (key[0], "all")]

        def statistic(choice: float | str, own: list[dict[float | str, float]] = own) -> tuple[float, float]:
            values = [cell[choice] for cell in own]
            return float(np.median(values)), float(np.mean(values))

        best = min(PAPER_ALPHAS, key=statistic)
        errors = [
            r.alpha_used - (1 - max(0.0, r.spec.expert_noise - r.spec.learner_noise))
            for r in records
            if r.spec.auto and name in (r.spec.environment, "all")
        ]
        rows.append(Row(name, statistic(AUTO), statistic(1.0), statistic(best), best, float(np.mean(errors))))
    return rows


COLUMNS = (
    "environment",
    "regret of auto: median, mean",
    "of α = 1",
    "of the best fixed α",
    "that α",
    "mean of α̂ - (1 - (ε_E - ε_L)₊)",
)


def as_cells(row: Row) -> tuple[str, ...]:
    """Return a row as the entries under `COLUMNS`."""
    regrets = (f"{median:.2f}, {mean:.2f}" for median, mean in (row.auto, row.standard, row.best_fixed))
    return row.environment, *regrets, f"{row.best_alpha:g}", f"{row.estimated:+.3f}"


@register_study("alpha-from-data")
@dataclasses.dataclass(frozen=True)
class AlphaFromDataStudy:
    """Compare α estimated from data with α in hindsight, over environments, noises and draws."""

    draws: int = 10
    """How many draws of the demonstrations, at least 2."""
    trajectories: int = TRAJECTORIES
    """Episodes a draw."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""

    def run(self, frame: Frame) -> None:
        """Run both noise models, and write a table for each."""
        as_count("--draws", self.draws, 2)
        for model in (UNIFORM_STATE, UNIFORM_ACTION):
            specs = specs_of(model, draws=self.draws, trajectories=self.trajectories, steps=self.steps)
            rows = summarize(frame.compute(specs, model))
            title = f"{model}, α from {SOURCE[model]}"
            frame.write_table(f"{model}/alpha-from-data", COLUMNS, map(as_cells, rows), title)
