"""`robustirl study NAME`: a subcommand for every registered study."""

import dataclasses
import functools
import inspect
import operator
from pathlib import Path
from typing import Annotated, Any

import tyro

from robustirl._runtime import reserved_folder
from robustirl.cli.console import PhaseBars, console, errors, say_files, say_outcome
from robustirl.cli.engines import HERE, Where, engine_of

HELP = """Run a study beyond the paper's figures. If it keeps its runs, the same command continues where it was stopped.

As in

    robustirl study existence --steps 20"""

EXTEND = (
    "Accept an --out folder of the same study with other options: its finished runs are kept, and those that these"
    " options ask for are added."
)


@dataclasses.dataclass(frozen=True)
class Study:
    """Run a study beyond the paper's figures; `robustirl study --help` lists them.

    As in

        robustirl study existence --steps 20
    """


@dataclasses.dataclass(frozen=True)
class StudyRequest:
    """A study, its options, those that all studies share, and the earlier name it was asked by."""

    name: str
    options: Any
    out: Path
    where: Where
    extend: bool = False
    former: str | None = None


def parse_study(arguments: list[str]) -> StudyRequest:
    """Return the study that these words ask for; raise SystemExit if they ask for none.

    Example:
        >>> parse_study(["existence", "--steps", "20"]).options.steps
        20
    """
    from robustirl.paper.studies import studies, study_aliases  # Here, so that no other command imports all studies.

    asked = arguments[0] if arguments else ""
    arguments = [study_aliases().get(asked, asked), *arguments[1:]] if arguments else []
    commands = [_command(name, options) for name, options in studies().items()]
    found = tyro.cli(functools.reduce(operator.or_, commands), args=arguments, prog="robustirl study", description=HELP)
    former = asked if asked in study_aliases() else None
    return StudyRequest(type(found).__name__, found.options, found.out, found.where, found.extend, former)  # pyright: ignore


def _command(name: str, options: Any) -> Any:
    """Return the options of a study together with those of all studies, as a subcommand."""
    fields = [
        ("options", tyro.conf.OmitArgPrefixes[options], dataclasses.field(default=options())),
        ("out", Annotated[Path, tyro.conf.arg(help="The folder to write to.")], Path("out") / name),
        ("extend", Annotated[bool, tyro.conf.arg(help=EXTEND)], False),
        ("where", tyro.conf.OmitArgPrefixes[Where], HERE),
    ]
    command = dataclasses.make_dataclass(name.replace("-", "_"), fields, frozen=True)
    command.__doc__ = (
        f"{inspect.cleandoc(options.__doc__ or '')}\n\nAs in\n\n    robustirl study {name} --out out/{name}"
    )
    return Annotated[command, tyro.conf.subcommand(name)]


def run_study(request: StudyRequest) -> int:
    """Run the `study` command."""
    from robustirl.paper.studies import require_options

    require_options(request.options)
    with reserved_folder(request.out, empty=False):
        return _study(request)


def _study(request: StudyRequest) -> int:
    from robustirl.paper.studies import Frame, StudyInterrupted

    if request.former is not None:
        now = request.name.replace("_", "-")
        errors.print(f"robustirl: the study {request.former} is now called {now}.")
    bars = PhaseBars()

    def say(text: str) -> None:
        bars.stop()
        console.print(text)

    frame = Frame(request.out, bars.report, say, engine_of(request.where), request.where.workers, request.extend)
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
            errors.print(f"robustirl: {notice}")
    say_files(frame.files)
    return 0
