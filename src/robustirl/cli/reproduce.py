"""`robustirl reproduce`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.table import Table

from robustirl import envs
from robustirl._runtime import reserved_folder
from robustirl.cli.console import console, run_with_progress
from robustirl.cli.engines import HERE, Where, engine_of
from robustirl.cli.world_options import NAMES
from robustirl.envs.noise import PUBLISHED
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite import catalog
from robustirl.paper.finite.catalog import Grid
from robustirl.paper.finite.comparison import compare
from robustirl.paper.finite.reproduce import Plan, reproduce
from robustirl.paper.finite.specs import (
    PAPER_ALPHAS,
    PAPER_ENVIRONMENTS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
)
from robustirl.sweeps import Engine, check_specs


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run experiments of the paper, and write results.csv, figures and report.html.

    As in

        robustirl reproduce --out out/reproduction
        robustirl reproduce gridworld-1 objectworld --noise-model uniform-action --experiments all

    What is finished is kept: the same command goes on where an interrupt or a kill left it, and does nothing twice.
    """

    environments: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(help=f"Which environments to run, of {NAMES}.")
    ] = PAPER_ENVIRONMENTS
    noise_model: tuple[str, ...] = ()
    """Which kernels the noise means: for grids uniform-state (the default), uniform-action, published."""
    experiments: tuple[str, ...] = catalog.MAIN
    """Which experiments: all, or some of best-alpha, all-alphas, alpha-study, gap, transfer, fixed-start,
    robust-experts, sampled, convergence. Studies among them set some of the options below themselves, and say so."""
    alphas: tuple[float, ...] = PAPER_ALPHAS
    """The player's chances of control; 1 is standard MCE IRL."""
    learner_noise: tuple[float, ...] = PAPER_LEARNER_NOISES
    """The learner's noises, one panel each."""
    expert_noise: tuple[float, ...] = PAPER_EXPERT_NOISES
    """The expert's noises, along the axis of each panel."""
    seeds: tuple[int, ...] | None = None
    """The layouts, where an environment has several; its usual one if omitted. Figures show means of several."""
    expert: Literal["soft", "optimal"] | None = None
    """The expert's policy for the true reward; that of the published runs if omitted."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""
    redraw: bool = False
    """Draw the figures and write the page again, even if no run was missing."""
    out: Path = Path("out")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""


OPTIONS = {
    "alphas": "alphas",
    "learner_noises": "learner_noise",
    "expert_noises": "expert_noise",
    "seeds": "seeds",
    "steps": "steps",
    "expert": "expert",
}
"""The options of a `Grid`, and what they are called here."""


def plan_of(command: Reproduce) -> Plan:
    """Check the command and return it as a plan."""
    names = tuple(dict.fromkeys(command.environments))
    for name in names:
        envs.make(name)
    options = {name: getattr(command, field) for name, field in OPTIONS.items()}
    models = tuple(dict.fromkeys(command.noise_model)) or envs.make(names[0]).noise_models[:1]
    plan = Plan(catalog.choose(command.experiments), Grid(names, tuple(options.items())), models, explain=True)
    check_specs(plan.specs)
    return plan


def departures(command: Reproduce, plan: Plan) -> list[str]:
    """Return a sentence for every experiment whose own options differ from the command's.

    Example:
        >>> command = Reproduce(("gridworld-4",), experiments=("all-alphas", "alpha-study"), alphas=(1.0, 0.7))
        >>> departures(command, plan_of(command))
        ['alpha-study is defined by α = 1, 0.95, 0.9, and does not follow --alphas.']
    """
    usual = {field.name: field.default for field in dataclasses.fields(command)}
    asked = {
        name: getattr(command, field) for name, field in OPTIONS.items() if getattr(command, field) != usual[field]
    }
    lines = []
    for item in plan.experiments:
        apart = [name for name, value in item.kept.items() if name in asked and asked[name] != value]
        if apart:
            own = " and ".join(f"{_SHOWN[name]}{_values(item.kept[name])}" for name in apart)
            options = " or ".join(f"--{OPTIONS[name].replace('_', '-')}" for name in apart)
            lines.append(f"{item.name} is defined by {own}, and does not follow {options}.")
    return lines


_SHOWN = {"alphas": "α = ", "learner_noises": "the learner's noise ", "seeds": "", "expert": "its expert, "}


def _values(kept: object) -> str:
    if kept is None:
        return "the environment's usual layout"
    return ", ".join(f"{value:g}" for value in kept) if isinstance(kept, tuple) else str(kept)


def run_reproduce(command: Reproduce) -> int:
    """Run the `reproduce` command."""
    plan = plan_of(command)
    engine = engine_of(command.where)
    with reserved_folder(command.out, empty=False):
        return _reproduce(command, plan, engine)


def _reproduce(command: Reproduce, plan: Plan, engine: Engine | None) -> int:
    for line in departures(command, plan):
        console.print(line)
    outcome = run_with_progress(
        lambda progress: reproduce(
            plan, command.out, redraw=command.redraw, progress=progress, engine=engine, workers=command.where.workers
        ),
        len(plan.specs),
    )
    if not outcome.complete:
        return 130
    for model in plan.noise_models:
        main = catalog.main_records(plan.grid, model, outcome.records)
        if len(plan.grid.environments) == 1:
            _print_returns(plan.grid.environments[0], model, main)
        if model == PUBLISHED:
            print_agreement(main)
    return 0


def _print_returns(name: str, model: str, records: list[Record]) -> None:
    noises = sorted({record.spec.expert_noise for record in records})
    layouts = len({record.spec.seed for record in records})
    title = f"{name} ({model}): return in the learner's world, by the expert's noise"
    table = Table(title=title + (f"; means of {layouts} layouts" if layouts > 1 else ""), title_justify="left")
    table.add_column("learner's noise", justify="right")
    table.add_column("α", justify="right")
    for noise in noises:
        table.add_column(f"{noise:g}", justify="right")
    table.add_column("optimal", justify="right")
    cells: dict[tuple[float, float, float], list[Record]] = {}
    for r in records:
        cells.setdefault((r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise), []).append(r)
    for learner, alpha in dict.fromkeys((r.spec.learner_noise, r.spec.alpha) for r in records):
        row = [cells[learner, alpha, noise] for noise in noises]
        returns = (f"{np.mean([r.total_return for r in cell]):.1f}" for cell in row)
        optimal = np.mean([r.optimal_return for r in row[0]])
        table.add_row(f"{learner:g}", f"{alpha:g}", *returns, f"{optimal:.1f}")
    console.print(table)


def print_agreement(records: list[Record]) -> None:
    """Return one line on how far the records are from the published numbers."""
    cells = compare(records)
    if not cells:
        console.print("none of these cells has a published number.")
        return
    found = np.array([cell.relative_error for cell in cells])
    console.print(
        f"against the published numbers, {len(cells)} cells: median relative error {np.median(found):.2%},"
        f" {np.mean(found <= 0.05):.1%} of the cells within 5 %, worst {found.max():.1%}.",
    )
