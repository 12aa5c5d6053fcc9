"""The command line: a thin front over the other rooms.

One file a command; `commands.py` lists them. A command loads what it needs and no more.
"""

import contextlib
import io
import logging
import os
import signal
import sys
from typing import Any

from robustirl._runtime import (
    collect_rarely,
    disable_compilation_cache,
    double_precision,
    one_interrupt,
    one_line,
    terminate_as_interrupt,
    use_compilation_cache,
    usual_settings,
)
from robustirl.cli.commands import COMMANDS, load_kinds, parse_command
from robustirl.cli.console import INTERRUPTED, errors
from robustirl.cli.devices import require_device
from robustirl.cli.output_options import HELP, OutputOptions, output, print_answers, split_options
from robustirl.cli.parsing import parse_in_words
from robustirl.errors import RobustIRLError

TRACEBACK = "ROBUSTIRL_TRACEBACK"
"""Set in the environment, it has a failure that no check has foreseen show its traceback."""


SIGNALED = 128
"""The exit status after SIGTERM or SIGHUP is this and the number of the signal, as shells count."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status.

    Args:
        arguments: The words of the command. If omitted, those of this process, which is then taken to be the command's
            own: it ends here after an interrupt.
    """
    own = arguments is None
    if own:
        _prepare_process()
    with one_interrupt(), terminate_as_interrupt() as terminations, collect_rarely():
        status = _main(sys.argv[1:] if arguments is None else arguments)
    interrupted = status == INTERRUPTED
    if interrupted and terminations.count:
        status = SIGNALED + terminations.number
    if own:
        _leave(status, at_once=interrupted)
    return status


def _prepare_process() -> None:
    """Set up a process that runs one command and nothing else."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # As it is while the package is imported.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["MPLBACKEND"] = "agg"  # Figures are written to files; whatever is named here is not needed.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # A terminal may lack letters such as α.


def _leave(status: int, *, at_once: bool) -> None:
    """Let a second Ctrl-C end this process without a traceback.

    After a first one (`at_once`) end it at once. A program that XLA was running continues in the background. To clean
    up meanwhile, as Python does at its end, has ended in a segmentation fault.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if at_once:
        with contextlib.suppress(Exception):
            logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # It may be closed, or None.
                stream.flush()
        os._exit(status)


def _main(given: list[str]) -> int:
    try:
        options, words = split_options(given)
        with output(options, " ".join(words)):
            try:
                status, error = _answer(words, options), None
            except RobustIRLError as refusal:
                _say_error(refusal)
                status, error = 2, refusal
        if options.json:
            print_answers(_name(words), status, None if error is None else str(error))
        return status
    except RobustIRLError as error:
        _say_error(error)
        return 2
    except KeyboardInterrupt:
        errors.print("robustirl: interrupted.")
        return INTERRUPTED
    except BrokenPipeError:  # The reader of the output has closed it, as `head` does.
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
        from robustirl.cli.overview import print_overview  # Here, as all commands: when it is asked for.

        print_overview(load_kinds())
        return 0
    words = ["version"] if words == ["--version"] else words
    request = parse_in_words(lambda: parse(words), words, tuple(COMMANDS))
    command = COMMANDS[words[0]]
    if options.cache:
        use_compilation_cache()
    else:
        disable_compilation_cache()
    if words[0] != "version":
        require_device()
    _, run = command.load()
    with usual_settings(), double_precision():
        return run(request)


def _say_error(error: RobustIRLError) -> None:
    errors.print(f"robustirl: {error}", style="red")


def _name(words: list[str]) -> str:
    """Return the command that words begin with."""
    return next((word for word in words if not word.startswith("-")), "")


def _report_defect(error: Exception) -> None:
    """Print in one line an error that no check has foreseen, and how to see where it happened."""
    reason = "memory ran out" if isinstance(error, MemoryError) else f"{type(error).__name__}: {one_line(error)}"
    with contextlib.suppress(OSError):  # There may be nowhere left to print to.
        errors.print(
            f"robustirl: {reason}. No check has foreseen this; {TRACEBACK}=1 in the environment shows where it"
            " happened.",
            style="red",
        )


def _forget_stdout() -> None:
    """Redirect remaining output to os.devnull."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parse(arguments: list[str]) -> Any:
    """Return the command that these words ask for; raise SystemExit if they ask for none."""
    if all(word.isprintable() for word in arguments):
        return _parse(arguments)
    # The box in which tyro explains itself quotes words as they are; a terminal would obey control characters.
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return _parse(arguments)
    finally:
        errors.print(said.getvalue(), end="")


def _parse(given: list[str]) -> Any:
    if given in (["--help"], ["-h"]):
        from robustirl.cli.overview import print_overview

        print_overview(load_kinds())
        raise SystemExit(0)
    return parse_command(
        given, f"Inverse reinforcement learning when the expert's world and the learner's move differently. {HELP}"
    )
