"""`robustirl compare`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.table import Table

from robustirl._runtime import reserved_folder
from robustirl.cli.console import console, progress_bar
from robustirl.cli.engines import HERE, Where, run_specs
from robustirl.cli.reproduce import print_agreement
from robustirl.envs.noise import PUBLISHED
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_count
from robustirl.paper.finite.comparison import Explanation, compare, explain, require_draws
from robustirl.paper.finite.specs import PAPER_ENVIRONMENTS, Record, grid_of_specs
from robustirl.paper.published import LOST_LAYOUTS

PAPER_GRIDS = tuple(name for name in PAPER_ENVIRONMENTS if name not in LOST_LAYOUTS)


@dataclasses.dataclass(frozen=True)
class Compare:
    """Run environments under the published kernel and compare with the paper's numbers by cell.

    As in

        robustirl compare gridworld-1 --worst 3
    """

    environments: Annotated[tuple[str, ...], tyro.conf.Positional] = PAPER_GRIDS
    """Which environments to compare, of gridworld-1 to gridworld-4, gridworld-l and objectworld."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""
    worst: int = 10
    """How many of the worst cells to list and explain."""
    draws: int = 20
    """Refits with an estimated start distribution behind each explanation."""
    out: Path = Path("out/comparison")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""


def run_compare(command: Compare) -> int:
    """Run the `compare` command."""
    if command.worst > 0:
        as_count("--draws", command.draws, 1)
        require_draws(command.draws)  # Before the comparison, whose numbers would be lost.
    specs = tuple(
        spec
        for name in dict.fromkeys(command.environments)
        for spec in grid_of_specs(name, PUBLISHED, steps=command.steps)
    )
    with reserved_folder(command.out, empty=False):
        outcome = run_specs(specs, command.out, command.where)
    if not outcome.complete:
        return 130
    _print_agreement_by_panel(outcome.records)
    print_agreement(outcome.records)
    if command.worst <= 0:
        return 0
    cells = sorted(compare(outcome.records), key=lambda cell: cell.relative_error, reverse=True)[: command.worst]
    with progress_bar() as progress:
        task = progress.add_task("explaining", total=len(cells))
        explanations = []
        for cell in cells:
            explanations.append(explain(cell, draws=command.draws))
            progress.advance(task)
    _print_explanations(explanations, command.draws)
    return 0


def _print_agreement_by_panel(records: list[Record]) -> None:
    table = Table(title="relative error against the published numbers", title_justify="left")
    for heading in ("environment", "learner's noise", "cells", "median", "mean", "worst"):
        table.add_column(heading, justify="left" if heading == "environment" else "right")
    panels: dict[tuple[str, float], list[float]] = {}
    for cell in compare(records):
        spec = cell.record.spec
        panels.setdefault((spec.environment, spec.learner_noise), []).append(cell.relative_error)
    for (name, noise), found in panels.items():
        numbers = (f"{statistic(found):.2%}" for statistic in (np.median, np.mean, max))
        table.add_row(name, f"{noise:g}", str(len(found)), *numbers)
    console.print(table)


def _print_explanations(explanations: list[Explanation], draws: int) -> None:
    title = f"the cells that differ most, beside {draws} refits with drawn start distributions"
    table = Table(title=title, title_justify="left")
    for heading in ("environment", "ε_L", "ε_E", "α", "ours", "published", "error", "drawn starts", "half the steps"):
        table.add_column(heading, justify="left" if heading == "environment" else "right", no_wrap=True)
    table.add_column("why", min_width=12)
    for item in explanations:
        spec = item.cell.record.spec
        table.add_row(
            spec.environment,
            f"{spec.learner_noise:g}",
            f"{spec.expert_noise:g}",
            f"{spec.alpha:g}",
            f"{item.cell.record.total_return:.1f}",
            f"{item.cell.published.mean:.1f}",
            f"{item.cell.relative_error:.1%}",
            f"{item.lowest:.1f} … {item.highest:.1f}",
            f"{item.halfway:.1f}",
            item.reason,
        )
    console.print(table)
