"""`python -m experiments COMMAND`: documented dataclasses are the commands, and their fields the options."""

import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from experiments import explorer, studies, tables
from experiments.paper import catalog
from experiments.paper.catalog import Grid
from experiments.paper.comparison import PAPER_GRIDS, agreement_text, compare, compare_with_paper
from experiments.paper.continuous import (
    CONTINUOUS_ALPHAS,
    CONTINUOUS_EXPERT_NOISES,
    CONTINUOUS_LEARNER_NOISES,
    ContinuousSpec,
    continuous_grid,
)
from experiments.paper.finite import (
    PAPER_ALPHAS,
    PAPER_ENVIRONMENTS,
    PAPER_EXPERT_NOISES,
    PAPER_LEARNER_NOISES,
    Record,
)
from experiments.paper.reproduce import Plan, reproduce
from experiments.runner import Where
from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.errors import InvalidInputError, RobustIRLError
from robustirl.irl.fit import PAPER_STEPS

HERE = Where()
HELP = "Run the paper's experiments; `python -m experiments study` lists the studies beside them."
INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells count."""


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Run experiments of the paper, and write results.csv, figures and report.html.

    As in

        python -m experiments reproduce --out out/reproduction
        python -m experiments reproduce gridworld-1 objectworld --noise-model uniform-action --experiments all

    What is finished is kept: the same command goes on where an interrupt or a kill left it, and does nothing twice.
    """

    environments: tyro.conf.Positional[tuple[str, ...]] = PAPER_ENVIRONMENTS
    """Which environments to run."""
    noise_model: tuple[str, ...] = ()
    """Which kernels the noise means: for grids uniform-state (the default), uniform-action, published."""
    experiments: tuple[str, ...] = catalog.MAIN
    """Which experiments: all, or some of best-alpha, all-alphas, alpha-study, gap, transfer, fixed-start,
    robust-experts, sampled, convergence. Studies among them set some of the options below themselves."""
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
    out: Path = Path("out")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""

    def plan(self) -> Plan:
        """Check the request and return it as a plan."""
        names = tuple(dict.fromkeys(self.environments))
        options = {option: getattr(self, field) for option, field in OPTIONS.items()}
        models = tuple(dict.fromkeys(self.noise_model)) or envs.make(names[0]).noise_models[:1]
        return Plan(catalog.choose(self.experiments), Grid(names, options), models)

    def run(self) -> None:
        """Run, write, and print how the numbers compare with the published ones."""
        plan = self.plan()
        records = reproduce(plan, self.out, self.where)
        for model in plan.noise_models:
            main = catalog.of(plan.grid.main(model), records)
            if len(plan.grid.environments) == 1:
                print(f"\nreturn in the learner's world, by the expert's noise ({model})\n\n{returns_table(main)}")
            if model == PUBLISHED and (cells := compare(main)):
                print(agreement_text(cells))


OPTIONS = {
    "alphas": "alphas",
    "learner_noises": "learner_noise",
    "expert_noises": "expert_noise",
    "seeds": "seeds",
    "steps": "steps",
    "expert": "expert",
}
"""The options of a `Grid`, and what they are called here."""


def returns_table(records: Sequence[Record]) -> str:
    """Return the mean returns of one environment as a table."""
    noises = sorted({record.spec.expert_noise for record in records})
    rows = []
    for (learner, alpha), own in tables.grouped(records, lambda r: (r.spec.learner_noise, r.spec.alpha)).items():
        cells = [[r.total_return for r in own if r.spec.expert_noise == noise] for noise in noises]
        rows.append((learner, alpha, *(f"{np.mean(c):.1f}" for c in cells), f"{own[0].optimal_return:.1f}"))
    return tables.as_markdown(("ε_L", "α", *(f"{noise:g}" for noise in noises), "optimal"), rows)


@dataclasses.dataclass(frozen=True)
class Compare:
    """Run environments under the published kernel and compare with the paper's numbers by cell.

    As in

        python -m experiments compare gridworld-1 --worst 3
    """

    environments: tyro.conf.Positional[tuple[str, ...]] = PAPER_GRIDS
    """Which environments to compare, of gridworld-1 to gridworld-4 and gridworld-l."""
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

    def run(self) -> None:
        """Run and print."""
        compare_with_paper(
            self.environments, self.out, steps=self.steps, worst=self.worst, draws=self.draws, where=self.where
        )


@dataclasses.dataclass(frozen=True)
class Continuous:
    """Run the paper's continuous experiment, GaussianGrid by relative-entropy IRL; write tables, figures, report.html.

    As in

        python -m experiments continuous --seeds 5 --out out/continuous
        python -m experiments continuous --algorithm discounted --alphas 1 0.9 --learner-noise 0 --expert-noise 0.2

    What is finished is kept: the same command goes on where an interrupt or a kill left it, and does nothing twice.
    """

    seeds: int = 20
    """How many seeds a cell, 0, 1, …"""
    alphas: tuple[float, ...] = CONTINUOUS_ALPHAS
    """The player's chances of control; 1 is standard RE IRL."""
    learner_noise: tuple[float, ...] = CONTINUOUS_LEARNER_NOISES
    """The learner's noises, one panel each."""
    expert_noise: tuple[float, ...] = CONTINUOUS_EXPERT_NOISES
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
    out: Path = Path("out/continuous")
    """The folder to write to."""
    where: tyro.conf.OmitArgPrefixes[Where] = HERE
    """Where to compute."""

    def run(self) -> None:
        """Run, write, and print the cells."""
        from experiments.paper.continuous_report import reproduce as reproduce_continuous

        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        out, where = given.pop("out"), given.pop("where")
        noises = {"learner_noises": given.pop("learner_noise"), "expert_noises": given.pop("expert_noise")}
        cells = reproduce_continuous(continuous_grid(**given, **noises), out, where)
        rows = [
            (c.learner_noise, c.alpha, c.expert_noise, f"{c.interquartile.value:.1f}", f"{100 * c.goal.value:.0f} %")
            for c in cells
        ]
        print(tables.as_markdown(("ε_L", "α", "ε_E", "return (interquartile mean)", "reach the goal"), rows))


@dataclasses.dataclass(frozen=True)
class Explore:
    """Write one self-contained page with all finite runs of a folder: choose a world and noises, compare α.

    As in

        python -m experiments explore out/reproduction
    """

    folder: tyro.conf.Positional[Path]
    """The --out of reproduce, whose results.csv is shown."""

    def run(self) -> None:
        """Write the page."""
        print(f"wrote {explorer.write(self.folder)}")


def run_study(words: Sequence[str]) -> None:
    """Run the study that words ask for, with its own options and --out, --engine, --address and --workers."""
    name, rest = (words[0], words[1:]) if words else ("--help", [])
    if name not in studies.names():
        lines = (f"  {one:<16} {studies.find(one).__doc__.partition(chr(10))[0]}" for one in studies.names())
        print("usage: python -m experiments study NAME [OPTIONS]; one of", *lines, sep="\n")
        raise SystemExit(0 if name in ("--help", "-h") else 2)
    study = studies.find(name)
    shared = [("out", Path, Path("out") / name), ("where", tyro.conf.OmitArgPrefixes[Where], HERE)]
    fields = [(label, kind, dataclasses.field(default=default)) for label, kind, default in shared]
    command = dataclasses.make_dataclass(name, fields, bases=(study,), frozen=True)
    command.__doc__ = study.__doc__
    asked: Any = tyro.cli(command, args=rest, prog=f"python -m experiments study {name}")
    study.run(asked, tables.Output(asked.out), asked.where)


Command = (
    Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Continuous, tyro.conf.subcommand("continuous")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    words = sys.argv[1:] if words is None else list(words)
    try:
        if words[:1] == ["study"]:
            run_study(words[1:])
        else:
            command: Any = tyro.cli(Command, args=words, prog="python -m experiments", description=HELP)  # pyright: ignore
            command.run()
    except RobustIRLError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2 if isinstance(error, InvalidInputError) else 1
    except KeyboardInterrupt:
        print("experiments: interrupted; what is finished is kept, and the same command goes on.", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    status = main()
    if status == INTERRUPTED:
        os._exit(status)  # A program that XLA was running goes on in the background.
    raise SystemExit(status)
