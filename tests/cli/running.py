"""Running a command whose computation is a stand-in."""

from robustirl.cli.console import take_answers
from robustirl.sweeps import Outcome
from robustirl.sweeps.batches import Timing
from tests.cli.test_cli_printed import printed


def finished(records, *, complete=True):
    return Outcome(list(records), complete, len(records), Timing(), [])


def run_and_answer(command, request):
    """The exit status of a command, what it printed, and what it answers in JSON."""
    take_answers()  # Of an earlier command that nobody asked.
    status = []
    said = printed(lambda: status.append(command(request)))
    return status[0], said, take_answers()


def run(command, request):
    """The exit status of a command, and what it printed."""
    return run_and_answer(command, request)[:2]
