"""`robustirl reproduce`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.table import Table

from robustirl import envs
from robustirl.cli.console import console, run_with_progress
from robustirl.envs.noise import PUBLISHED
from robustirl.experiments.comparison import compare
from robustirl.experiments.specs import (
    PAPER_ALPHAS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
    grid_of_specs,
)
from robustirl.irl.mce import PAPER_STEPS


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run the cells of a figure of the paper, and write results.csv and the figure."""

    environments: Annotated[tuple[str, ...], tyro.conf.Positional] = ("gridworld-1",)
    """Which environments to run."""
    noise_model: str | None = None
    """Which kernel the noise means: for grids uniform-state (the default), uniform-action or published."""
    alphas: tuple[float, ...] = PAPER_ALPHAS
    """The player's chances of control; 1 is standard MCE IRL."""
    learner_noise: tuple[float, ...] = PAPER_LEARNER_NOISES
    """The learner's noises, one panel each."""
    expert_noise: tuple[float, ...] = PAPER_EXPERT_NOISES
    """The expert's noises, along the axis of each panel."""
    expert: Literal["soft", "optimal"] = "soft"
    """The expert's policy for the true reward; the published runs have soft ones."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""
    out: Path = Path("out")
    """The folder to write to."""


def run_reproduce(command: Reproduce) -> int:
    """The `reproduce` command."""
    specs = tuple(
        spec
        for name in dict.fromkeys(command.environments)
        for spec in grid_of_specs(
            name,
            command.noise_model or envs.make(name).noise_models[0],
            alphas=command.alphas,
            learner_noises=command.learner_noise,
            expert_noises=command.expert_noise,
            steps=command.steps,
            expert=command.expert,
        )
    )
    outcome = run_with_progress(specs, command.out)
    if not outcome.complete:
        return 130
    for name in dict.fromkeys(command.environments):
        _print_returns(name, [record for record in outcome.records if record.spec.environment == name])
    if command.noise_model == PUBLISHED:
        print_agreement(outcome.records)
    return 0


def _print_returns(name: str, records: list[Record]) -> None:
    noises = sorted({record.spec.expert_noise for record in records})
    table = Table(title=f"{name}: return in the learner's world, by the expert's noise", title_justify="left")
    table.add_column("learner's noise", justify="right")
    table.add_column("α", justify="right")
    for noise in noises:
        table.add_column(f"{noise:g}", justify="right")
    table.add_column("optimal", justify="right")
    cells = {(r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise): r for r in records}
    for learner, alpha in dict.fromkeys((r.spec.learner_noise, r.spec.alpha) for r in records):
        row = [cells[learner, alpha, noise] for noise in noises]
        returns = (f"{record.total_return:.1f}" for record in row)
        table.add_row(f"{learner:g}", f"{alpha:g}", *returns, f"{row[0].optimal_return:.1f}")
    console.print(table)


def print_agreement(records: list[Record]) -> None:
    """One line on how far the records are from the published numbers."""
    cells = compare(records)
    if not cells:
        console.print("none of these cells has a published number.")
        return
    found = np.array([cell.relative_error for cell in cells])
    console.print(
        f"against the published numbers, {len(cells)} cells: median relative error {np.median(found):.2%},"
        f" {np.mean(found <= 0.05):.1%} of the cells within 5 %, worst {found.max():.1%}.",
        highlight=False,
        soft_wrap=True,
    )
