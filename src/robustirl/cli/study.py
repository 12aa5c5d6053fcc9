"""`robustirl study NAME`: a subcommand for every registered study."""

import dataclasses
import functools
import operator
from pathlib import Path
from typing import Annotated, Any

import tyro

from robustirl._runtime import require_output_folder
from robustirl.cli.console import PhaseBars, console, errors, say_files, say_outcome
from robustirl.cli.engines import HERE, Where, engine_of

HELP = "Run a study beyond the paper's figures. The same command continues where an interrupt or a kill left it."


@dataclasses.dataclass(frozen=True)
class Study:
    """Run a study beyond the paper's figures; `robustirl study --help` lists them."""


@dataclasses.dataclass(frozen=True)
class StudyRequest:
    """Hold a study with its options, and the options that all studies share."""

    name: str
    options: Any
    out: Path
    where: Where


def parse_study(arguments: list[str]) -> StudyRequest:
    """Return the study that these words ask for; raise SystemExit if they ask for none.

    Example:
        >>> parse_study(["existence", "--steps", "20"]).options.steps
        20
    """
    from robustirl.paper.studies import studies  # Here, so that no other command imports all studies.

    commands = [_command(name, options) for name, options in studies().items()]
    found = tyro.cli(functools.reduce(operator.or_, commands), args=arguments, prog="robustirl study", description=HELP)
    return StudyRequest(type(found).__name__, found.options, found.out, found.where)  # pyright: ignore


def _command(name: str, options: Any) -> Any:
    """Return the options of a study together with those of all studies, as a subcommand."""
    fields = [
        ("options", tyro.conf.OmitArgPrefixes[options], dataclasses.field(default=options())),
        ("out", Annotated[Path, tyro.conf.arg(help="The folder to write to.")], Path("out") / name),
        ("where", tyro.conf.OmitArgPrefixes[Where], HERE),
    ]
    command = dataclasses.make_dataclass(name.replace("-", "_"), fields, frozen=True)
    command.__doc__ = options.__doc__
    return Annotated[command, tyro.conf.subcommand(name)]


def run_study(request: StudyRequest) -> int:
    """Run the `study` command."""
    from robustirl.paper.studies import Frame, StudyInterrupted

    require_output_folder(request.out, empty=False)
    bars = PhaseBars()

    def say(text: str) -> None:
        bars.stop()
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    frame = Frame(request.out, bars.report, say, engine_of(request.where), request.where.workers)
    try:
        request.options.run(frame)
    except StudyInterrupted as interrupted:
        bars.stop()
        say_outcome(interrupted.outcome, interrupted.total)
        return 130
    finally:
        bars.stop()
    for outcome in frame.outcomes:
        for notice in outcome.notices:
            errors.print(f"robustirl: {notice}", markup=False, highlight=False, soft_wrap=True)
    say_files(frame.files)
    return 0
