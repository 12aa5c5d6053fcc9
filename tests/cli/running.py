"""What a command prints, and running one whose computation is a stand-in."""

from robustirl.cli.console import console, errors, take_answers


def printed(call, *given, width=120):
    """What a function prints, to a terminal of so many columns."""
    widths = console.width, errors.width
    console.width = errors.width = width
    try:
        with console.capture() as out, errors.capture() as err:
            call(*given)
    finally:
        console.width, errors.width = widths
    said = err.get()
    return out.get() + (f"standard error:\n{said}" if said else "")


def run_and_answer(command, request):
    """The exit status of a command, what it printed, and what it answers in JSON."""
    take_answers()  # Of an earlier command that nobody asked.
    status = []
    said = printed(lambda: status.append(command(request)))
    return status[0], said, take_answers()


def run(command, request):
    """The exit status of a command, and what it printed."""
    return run_and_answer(command, request)[:2]
