"""The command line: a thin front over the other rooms.

Documented dataclasses are the commands, and their fields the options.
"""

import contextlib
import dataclasses
import io
import os
import sys
from typing import Annotated, Any, get_args

import tyro

from robustirl import __version__
from robustirl._runtime import (
    disable_compilation_cache,
    double_precision,
    one_line,
    single_threaded_xla,
    terminate_as_interrupt,
    use_compilation_cache,
)
from robustirl.cli.compare import Compare, run_compare
from robustirl.cli.console import INTERRUPTED, console, errors
from robustirl.cli.continuous import Continuous, run_continuous
from robustirl.cli.demo import WELCOME, Demo, run_demo
from robustirl.cli.demos import Convert, Demos, run_convert, run_demos
from robustirl.cli.devices import require_device
from robustirl.cli.doctor import Doctor, run_doctor
from robustirl.cli.explore import Explore, run_explore
from robustirl.cli.fit import Fit, run_fit
from robustirl.cli.imitate import Imitate, run_imitate
from robustirl.cli.layouts import Layouts, run_layouts
from robustirl.cli.output_options import HELP, OutputOptions, output, print_answers, split_options
from robustirl.cli.overview import print_overview
from robustirl.cli.parsing import parse_in_words
from robustirl.cli.reproduce import Reproduce, run_reproduce
from robustirl.cli.serve import Serve, run_serve
from robustirl.cli.stream import OutputError
from robustirl.cli.study import Study, StudyRequest, parse_study, run_study
from robustirl.cli.theory import Theory, run_theory
from robustirl.errors import RobustIRLError

TRACEBACK = "ROBUSTIRL_TRACEBACK"
"""Set in the environment, it has a failure that no check has foreseen show its traceback."""


@dataclasses.dataclass(frozen=True)
class Version:
    """Print the version.

    As in

        robustirl version
    """


Command = (
    Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Layouts, tyro.conf.subcommand("layouts")]
    | Annotated[Continuous, tyro.conf.subcommand("continuous")]
    | Annotated[Study, tyro.conf.subcommand("study")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Serve, tyro.conf.subcommand("serve")]
    | Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[Theory, tyro.conf.subcommand("theory")]
    | Annotated[Fit, tyro.conf.subcommand("fit")]
    | Annotated[Demos, tyro.conf.subcommand("demos")]
    | Annotated[Convert, tyro.conf.subcommand("convert")]
    | Annotated[Imitate, tyro.conf.subcommand("imitate")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | Annotated[Version, tyro.conf.subcommand("version")]
)


COMMANDS = tuple(argument.__metadata__[0].name for argument in get_args(Command))
"""The names of all commands."""
TERMINATED = 143
"""The exit status after SIGTERM, as shells count."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status."""
    with terminate_as_interrupt() as terminations:
        status = _main(sys.argv[1:] if arguments is None else arguments)
    return TERMINATED if status == INTERRUPTED and terminations.count else status


def _main(given: list[str]) -> int:
    try:
        options, words = split_options(given)
        with output(options, " ".join(words)):
            try:
                status, error = _answer(words, options), None
            except RobustIRLError as refusal:
                _say_error(refusal)
                status, error = 2, refusal
        if options.json and not isinstance(error, OutputError):
            print_answers(_name(words), status, None if error is None else str(error))
        return status
    except RobustIRLError as error:
        _say_error(error)
        return 2
    except KeyboardInterrupt:
        errors.print("robustirl: interrupted.", highlight=False)
        return INTERRUPTED
    except BrokenPipeError:  # Whoever read the output has left, as `head` does.
        _forget_stdout()
        return 141
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _report_defect(error)
        return 3


def _answer(words: list[str], options: OutputOptions) -> int:
    """Parse and run a command."""
    if not words:
        console.print(WELCOME, soft_wrap=True)
        return 0
    command = parse_in_words(lambda: parse(words), words, COMMANDS)
    if options.cache:
        use_compilation_cache()
    else:
        disable_compilation_cache()
    if isinstance(command, Reproduce | Compare | Layouts | Continuous | StudyRequest):
        single_threaded_xla()
    if not isinstance(command, Version):
        require_device()
    with double_precision():
        return _run(command)


def _say_error(error: RobustIRLError) -> None:
    if isinstance(error, OutputError):
        _forget_stdout()
    errors.print(f"robustirl: {error}", style="red", markup=False, highlight=False, soft_wrap=True)


def _name(words: list[str]) -> str:
    """Return the command that words begin with."""
    return next((word for word in words if not word.startswith("-")), "")


def _report_defect(error: Exception) -> None:
    """Say in one line that something went wrong which no check has foreseen, and how to see where."""
    reason = "memory ran out" if isinstance(error, MemoryError) else f"{type(error).__name__}: {one_line(error)}"
    with contextlib.suppress(OSError):  # There may be nowhere left to print to.
        errors.print(
            f"robustirl: {reason}. No check has foreseen this; {TRACEBACK}=1 in the environment shows where it"
            " happened, and `robustirl doctor` says what a report needs.",
            style="red",
            soft_wrap=True,
        )


def _forget_stdout() -> None:
    """Lead what Python still wants to write at its end to nowhere."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(command: Any) -> int:
    """Run a parsed command."""
    match command:
        case Reproduce():
            return run_reproduce(command)
        case Compare():
            return run_compare(command)
        case Layouts():
            return run_layouts(command)
        case Continuous():
            return run_continuous(command)
        case StudyRequest():
            return run_study(command)
        case Explore():
            return run_explore(command)
        case Serve():
            return run_serve(command)
        case Demo():
            return run_demo(command)
        case Theory():
            return run_theory(command)
        case Fit():
            return run_fit(command)
        case Imitate():
            return run_imitate(command)
        case Demos():
            return run_demos(command)
        case Convert():
            return run_convert(command)
        case Doctor():
            return run_doctor(command)
        case _:
            print(f"robustirl {__version__}")
            return 0


def parse(arguments: list[str]) -> Any:
    """Return the command that these words ask for; raise SystemExit if they ask for none."""
    given = ["version"] if arguments == ["--version"] else arguments
    if all(word.isprintable() for word in given):
        return _parse(given)
    # The box in which tyro explains itself quotes words as they are; a terminal would obey control characters.
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return _parse(given)
    finally:
        errors.print(said.getvalue(), end="", soft_wrap=True)


def _parse(given: list[str]) -> Any:
    if given in (["--help"], ["-h"]):
        print_overview(Command)
        raise SystemExit(0)
    if given[:1] == ["study"]:
        return parse_study(given[1:])
    return tyro.cli(
        Command,  # pyright: ignore[reportArgumentType]
        args=given,
        prog="robustirl",
        description="Inverse reinforcement learning when the expert's world and the learner's move differently."
        f" {HELP}",
    )
