"""`robustirl layouts`."""

import dataclasses
from pathlib import Path

import tyro
from rich.table import Table

from robustirl._runtime import reserved_folder
from robustirl.cli.console import console
from robustirl.cli.engines import HERE, Where, run_specs
from robustirl.envs.noise import UNIFORM_STATE
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER_STEPS
from robustirl.mdp import as_count
from robustirl.paper.finite.layouts import Interval, Shape, settled_layouts, shapes
from robustirl.paper.finite.layouts_report import MEASURES, draw_layouts, write_layout_tables
from robustirl.paper.finite.specs import PAPER_ALPHAS, PAPER_EXPERT_NOISES, PAPER_LEARNER_NOISES, grid_of_specs
from robustirl.sweeps import writing_to


@dataclasses.dataclass(frozen=True)
class Layouts:
    """Run ObjectWorld over many random layouts, and say whether the paper's shape holds.

    Results are means with 95 % intervals.

    As in

        robustirl layouts --layouts 10 --alphas 1 0.9 --out out/layouts
    """

    layouts: int = 40
    """How many layouts, drawn with the seeds 0, 1, …"""
    noise_model: str = UNIFORM_STATE
    """Which kernel the noise means."""
    alphas: tuple[float, ...] = PAPER_ALPHAS
    """The player's chances of control; 1 is standard."""
    learner_noise: tuple[float, ...] = PAPER_LEARNER_NOISES
    """The learner's noises."""
    expert_noise: tuple[float, ...] = PAPER_EXPERT_NOISES
    """The expert's noises."""
    steps: int = PAPER_STEPS
    """Parameter updates per run."""
    out: Path = Path("out/layouts")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""


def run_layouts(command: Layouts) -> int:
    """Run the `layouts` command."""
    if 1.0 not in command.alphas or len(command.alphas) < 2:
        raise InvalidInputError(
            f"--alphas are {command.alphas}, but standard (1) and at least one robust α are needed, to compare them."
        )
    specs = grid_of_specs(
        "objectworld",
        command.noise_model,
        alphas=command.alphas,
        learner_noises=command.learner_noise,
        expert_noises=command.expert_noise,
        seeds=range(as_count("--layouts", command.layouts, 4)),
        steps=command.steps,
    )
    with reserved_folder(command.out, empty=False):
        outcome = run_specs(specs, command.out, command.where)
        if not outcome.complete:
            return 130
        records = outcome.records
        settled = settled_layouts(records)
        with writing_to(command.out):
            written = write_layout_tables(records, command.out)
            written += draw_layouts(records, command.noise_model, command.out)
    for path in written:
        console.print(f"wrote {path}")
    console.print(
        f"{len(settled)} of {command.layouts} layouts are settled: their optimal policy ends in cells"
        " that pay nothing.",
    )
    for measure in MEASURES:
        chosen = [r for r in records if not measure.settled_only or r.spec.seed in settled]
        _print_shapes(measure.title, shapes(chosen, measure.of))
    return 0


def _print_shapes(title: str, found: list[Shape]) -> None:
    table = Table(title=title, title_justify="left")
    for heading in ("ε_L", "robust α", "standard: change", "robust: change", "robust - standard"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("the paper's shape")
    for shape in found:
        table.add_row(
            f"{shape.learner_noise:g}",
            f"{shape.alpha:g}",
            *(_text(item) for item in (shape.standard_change, shape.robust_change, shape.advantage)),
            shape.verdict,
        )
    console.print(table)


def _text(item: Interval) -> str:
    return f"{item.mean:+.2f} [{item.low:+.2f}, {item.high:+.2f}]"
