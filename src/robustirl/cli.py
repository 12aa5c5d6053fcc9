"""The command line: a thin front over `robustirl.experiments`.

Documented dataclasses are the commands, and their fields the options.
"""

import dataclasses
import importlib.metadata
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from robustirl.envs.noise import PUBLISHED, UNIFORM_STATE
from robustirl.errors import RobustIRLError
from robustirl.experiments.comparison import Explanation, compare, explain
from robustirl.experiments.reproduce import Outcome, reproduce
from robustirl.experiments.specs import (
    PAPER_ALPHAS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
    RunSpec,
    grid_of_specs,
)
from robustirl.irl.mce import PAPER_STEPS
from robustirl.precision import enable_x64

NoiseModel = Literal["uniform-state", "uniform-action", "published"]

console = Console(width=None if sys.stdout.isatty() else 120)
errors = Console(stderr=True)


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run the cells of a figure of the paper, and write results.csv and the figure."""

    environments: Annotated[tuple[str, ...], tyro.conf.Positional] = ("gridworld-1",)
    """Which environments to run."""
    noise_model: NoiseModel = UNIFORM_STATE
    """Which kernel the noise means; published is the one behind the paper's figures."""
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


@dataclasses.dataclass(frozen=True)
class Compare:
    """Run environments under the published kernel and compare with the paper's numbers, cell by cell."""

    environments: Annotated[tuple[str, ...], tyro.conf.Positional] = (
        "gridworld-1",
        "gridworld-2",
        "gridworld-3",
        "gridworld-4",
    )
    """Which environments to compare."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""
    worst: int = 10
    """How many of the worst cells to list and explain."""
    draws: int = 20
    """Refits with an estimated start distribution behind each explanation."""
    out: Path = Path("out/comparison")
    """The folder to write to."""


@dataclasses.dataclass(frozen=True)
class Version:
    """Print the version."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the return value is the exit status."""
    enable_x64()
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        given = ["version"]
    command = tyro.cli(
        Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
        | Annotated[Compare, tyro.conf.subcommand("compare")]
        | Annotated[Version, tyro.conf.subcommand("version")],
        args=given,
        prog="robustirl",
        description="Inverse reinforcement learning when the expert's world and the learner's move differently.",
    )
    try:
        match command:
            case Reproduce():
                return run_reproduce(command)
            case Compare():
                return run_compare(command)
            case _:
                print(f"robustirl {importlib.metadata.version('robustirl')}")
                return 0
    except RobustIRLError as error:
        errors.print(f"robustirl: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        return 2


def run_reproduce(command: Reproduce) -> int:
    """The `reproduce` command."""
    specs = tuple(
        spec
        for name in dict.fromkeys(command.environments)
        for spec in grid_of_specs(
            name,
            command.noise_model,
            alphas=command.alphas,
            learner_noises=command.learner_noise,
            expert_noises=command.expert_noise,
            steps=command.steps,
            expert=command.expert,
        )
    )
    outcome = _with_progress(specs, command.out)
    if not outcome.complete:
        return 130
    for name in dict.fromkeys(command.environments):
        _print_returns(name, [record for record in outcome.records if record.spec.environment == name])
    if command.noise_model == PUBLISHED:
        _print_agreement(outcome.records)
    return 0


def run_compare(command: Compare) -> int:
    """The `compare` command."""
    specs = tuple(
        spec
        for name in dict.fromkeys(command.environments)
        for spec in grid_of_specs(name, PUBLISHED, steps=command.steps)
    )
    outcome = _with_progress(specs, command.out)
    if not outcome.complete:
        return 130
    _print_agreement_by_panel(outcome.records)
    _print_agreement(outcome.records)
    if command.worst <= 0:
        return 0
    cells = sorted(compare(outcome.records), key=lambda cell: cell.relative_error, reverse=True)[: command.worst]
    with _progress() as progress:
        task = progress.add_task("explaining", total=len(cells))
        explanations = []
        for cell in cells:
            explanations.append(explain(cell, draws=command.draws))
            progress.advance(task)
    _print_explanations(explanations, command.draws)
    return 0


def _with_progress(specs: tuple[RunSpec, ...], out: Path) -> Outcome:
    with _progress() as progress:
        task = progress.add_task("learning", total=len(specs))
        outcome = reproduce(specs, out, progress=lambda done: progress.advance(task, done))
    if not outcome.complete:
        kept = f"; they are in {outcome.files[0]}" if outcome.files else ""
        errors.print(f"robustirl: interrupted after {len(outcome.records)} of {len(specs)} runs{kept}.", soft_wrap=True)
        return outcome
    timing = outcome.timing
    console.print(
        f"{len(outcome.records)} runs in {timing.computation:.1f} s, after {timing.compilation:.1f} s of compilation.",
        highlight=False,
    )
    for path in outcome.files:
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    return outcome


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=errors,
    )


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


def _print_agreement(records: list[Record]) -> None:
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
