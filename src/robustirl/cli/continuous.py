"""`robustirl continuous`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.table import Table

from robustirl._runtime import filled_whole, reserved_folder
from robustirl.cli.console import console, run_with_progress
from robustirl.cli.engines import HERE, Where, engine_of
from robustirl.errors import InvalidInputError
from robustirl.paper.continuous.pictures import learners
from robustirl.paper.continuous.reproduce import rebuild_report, reproduce_continuous
from robustirl.paper.continuous.specs import (
    CONTINUOUS_ALPHAS,
    CONTINUOUS_EXPERT_NOISES,
    CONTINUOUS_LEARNER_NOISES,
    ContinuousRecord,
    ContinuousSpec,
    continuous_grid,
    with_experts,
)
from robustirl.paper.continuous.statistics import cell_statistics
from robustirl.sweeps import Outcome, Progress, Store, by_kind, check_specs, unpack_store


@dataclasses.dataclass(frozen=True)
class Continuous:
    """Run the paper's continuous experiment, GaussianGrid by relative-entropy IRL.

    It writes tables, figures and report.html.

    As in

        robustirl continuous --seeds 5 --out out/continuous
        robustirl continuous --algorithm discounted --alphas 1 0.9 --learner-noise 0 --expert-noise 0.2

    What is finished is kept: the same command goes on where an interrupt or a kill left it, and does nothing twice.
    """

    seeds: int = 20
    """How many seeds a cell, 0, 1, …"""
    alphas: tuple[float, ...] = CONTINUOUS_ALPHAS
    """The player's chances of control; 1 is standard RE IRL."""
    learner_noise: Annotated[tuple[float, ...], tyro.conf.arg(aliases=["--learner-noises"])] = CONTINUOUS_LEARNER_NOISES
    """The learner's noises, one panel each."""
    expert_noise: Annotated[tuple[float, ...], tyro.conf.arg(aliases=["--expert-noises"])] = CONTINUOUS_EXPERT_NOISES
    """The expert's noises, along the axis of each panel."""
    algorithm: str = ContinuousSpec.algorithm
    """How to learn: default, best-of-three, discounted (sums, best of three), discounted-once; paper, as printed."""
    noise_model: str = ContinuousSpec.noise_model
    """What noise does: towards-origin, as in the paper, or uniform-action."""
    scales: Literal["published", "printed"] = "published"
    """The scales of the features: those of the published policies, or none as in the text."""
    demonstrations: int = ContinuousSpec.demonstrations
    """How many episodes of the expert a learner has."""
    rounds: int | None = None
    """Rounds of learning per run; those of the algorithm if omitted."""
    expert_steps: int = ContinuousSpec.expert_steps
    """Policy steps in the training of an expert."""
    expert_attempts: int = ContinuousSpec.expert_attempts
    """Trainings per expert, of which the best is kept."""
    records: Path | None = None
    """Draw the runs in this file, as benchmarks/continuous.py writes it, and run nothing."""
    redraw: bool = False
    """Draw the figures and write the page again, even if no run was missing."""
    out: Path = Path("out/continuous")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""


def run_continuous(command: Continuous) -> int:
    """Run the `continuous` command."""
    if command.records is not None:
        records = command.records
        run_with_progress(lambda progress: _draw_packed(records, command.out, progress), 0)
        _print_cells(learners(Store.read(command.out)))
        return 0
    specs = continuous_grid(
        alphas=command.alphas,
        learner_noises=command.learner_noise,
        expert_noises=command.expert_noise,
        seeds=command.seeds,
        algorithm=command.algorithm,
        noise_model=command.noise_model,
        scales=command.scales,
        demonstrations=command.demonstrations,
        rounds=command.rounds,
        expert_steps=command.expert_steps,
        expert_attempts=command.expert_attempts,
    )
    everything = with_experts(specs)
    check_specs(everything)
    engine = engine_of(command.where)
    with reserved_folder(command.out, empty=False):
        outcome = run_with_progress(
            lambda progress: reproduce_continuous(
                specs,
                command.out,
                redraw=command.redraw,
                progress=progress,
                engine=engine,
                workers=command.where.workers,
            ),
            len(everything),
        )
    if not outcome.complete:
        return 130
    _print_cells([record for record in outcome.records if isinstance(record, ContinuousRecord)])
    return 0


def _draw_packed(path: Path, out: Path, progress: Progress) -> Outcome:
    """Make the store, tables, figures and page of a packed store in a folder, or nothing."""
    with filled_whole(out) as building:
        store = unpack_store(path, building)
        if not learners(store):
            kinds = ", ".join(kind.name for kind in by_kind(store.specs)) or "no"
            raise InvalidInputError(
                f"{path} holds {kinds} runs, but --records draws continuous ones; give a file that"
                " benchmarks/continuous.py wrote."
            )
        outcome = rebuild_report(building, progress)
    return dataclasses.replace(outcome, files=[out / file.relative_to(building) for file in outcome.files])


def _print_cells(records: list[ContinuousRecord]) -> None:
    cells = {(c.learner_noise, c.alpha, c.expert_noise): c for c in cell_statistics(records)}
    noises = sorted({key[2] for key in cells})
    table = Table(
        title="return in the learner's world (interquartile mean over seeds) and episodes that reach the goal,"
        " by the expert's noise",
        title_justify="left",
    )
    for heading in ("learner's noise", "α", *(f"{noise:g}" for noise in noises)):
        table.add_column(heading, justify="right")
    for learner, alpha in dict.fromkeys(key[:2] for key in cells):
        row = [cells.get((learner, alpha, noise)) for noise in noises]
        texts = (f"{c.interquartile.value:.1f} ({100 * c.goal.value:.0f} %)" if c else "" for c in row)
        table.add_row(f"{learner:g}", f"{alpha:g}", *texts)
    console.print(table)
