"""A bar for long work, on standard error: in terminals and notebooks it moves, elsewhere only its end is printed."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

STEADY_SECONDS = 60.0  # Over which the speed for the estimate is averaged.

Report = Callable[[float, str], None]
"""A function of how much is done and a note on how it stands."""


def ignore_progress(done: int | float, note: str = "") -> None:
    """Do nothing with a report."""


@contextlib.contextmanager
def progress_bar(title: str, total: int | float | None, *, show: bool = True) -> Iterator[Report]:
    """Show a bar while the context lasts; call what it gives with how much is done and a note.

    Args:
        title: What is being done.
        total: How much there is to do; None if that is not known, and then only time is shown.
        show: Whether to show anything.

    Example:
        >>> with progress_bar("learning", 3, show=False) as report:
        ...     report(1, "gap 0.1")
    """
    if not show:
        yield ignore_progress
        return
    from rich import progress  # Here, so that importing the library stays fast.

    columns: list[Any] = [progress.TextColumn("{task.description}"), progress.BarColumn()]
    if total is not None:
        columns += [progress.TaskProgressColumn(), progress.TimeRemainingColumn()]
    columns += [progress.TimeElapsedColumn(), progress.TextColumn("{task.fields[note]}")]
    with progress.Progress(*columns, console=_console(), speed_estimate_period=STEADY_SECONDS) as shown:
        task = shown.add_task(title, total=total, note="compiling first")

        def report(done: int | float, note: str = "") -> None:
            shown.update(task, completed=done, note=note)

        yield report
        if total is not None:
            shown.update(task, completed=total)


def _console() -> Any:
    from rich.console import Console

    # Without ipywidgets rich warns in notebooks and shows nothing that moves.
    widgets = importlib.util.find_spec("ipywidgets") is not None
    return Console(stderr=True) if widgets else Console(stderr=True, force_jupyter=False)
