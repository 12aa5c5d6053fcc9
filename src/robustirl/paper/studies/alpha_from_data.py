"""α from the data against α in hindsight, over environments, noises and draws of the demonstrations.

For every pair of noises and every draw of trajectories, the learner is fitted with every α of the paper's grid and with
the α that those trajectories suggest. The regret of a choice is what it returns less than the best fixed α of that very
draw; it can be negative for an estimate that lies between the grid's points.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robustirl._runtime import enable_x64, write_atomically
from robustirl.envs import UNIFORM_ACTION, UNIFORM_STATE
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite.specs import (
    PAPER_ALPHAS,
    PAPER_ENVIRONMENTS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
    RunSpec,
    grid_of_specs,
)
from robustirl.sweeps import compute

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
    """The runs: every fixed α and the estimated one, on the same demonstrations."""
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
    """Regrets of one environment (or of all), by choice of α: median and mean over cells and draws.

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
    """By (environment, ε_L, ε_E, draw): what each choice returns less than the best fixed α of that draw."""
    cells: dict[tuple[str, float, float, int], dict[float | str, float]] = {}
    for r in records:
        key = r.spec.environment, r.spec.learner_noise, r.spec.expert_noise, r.spec.draw
        cells.setdefault(key, {})[AUTO if r.spec.auto else r.spec.alpha] = r.total_return
    best = {key: max(value for choice, value in found.items() if choice != AUTO) for key, found in cells.items()}
    return {key: {choice: best[key] - value for choice, value in found.items()} for key, found in cells.items()}


def summarise(records: Sequence[Record]) -> list[Row]:
    """A row per environment, and one for all."""
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


def to_markdown(rows: Sequence[Row]) -> str:
    """The table as text."""
    lines = [
        "| environment | regret of auto: median, mean | of α = 1 | of the best fixed α | that α | mean of"
        " α̂ - (1 - (ε_E - ε_L)₊) |",
        "|" + " --- |" * 6,
    ]
    lines += [
        f"| {r.environment} | {r.auto[0]:.2f}, {r.auto[1]:.2f} | {r.standard[0]:.2f}, {r.standard[1]:.2f} |"
        f" {r.best_fixed[0]:.2f}, {r.best_fixed[1]:.2f} | {r.best_alpha:g} | {r.estimated:+.3f} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, choices=range(2, 1001), metavar="2..1000", default=10)
    parser.add_argument("--out", type=Path, default=Path("out/auto-alpha"))
    arguments = parser.parse_args()
    enable_x64()
    for model in (UNIFORM_STATE, UNIFORM_ACTION):
        out = arguments.out / model
        outcome = compute(specs_of(model, draws=arguments.draws), out, _say)
        if not outcome.complete:
            return
        table = to_markdown(summarise(outcome.records))
        write_atomically(out / "auto-alpha.md", table)
        print(f"\n{model}, α from {SOURCE[model]}\n\n{table}", end="")


def _say(phase: str, done: int, of: int) -> None:
    print(f"\r{phase}: {done} of {of}", end="", flush=True)
