"""Print, show progress, and say what became of a request: what the commands share."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from robustirl._runtime import printable


class PlainConsole(Console):
    """A console on which text is data, without markup in names.

    No control character of a file reaches the terminal.
    """

    def __init__(self, **options: Any):
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def print(self, *things: Any, **options: Any) -> None:
        """Print; the terminal breaks lines of text, while tables are fitted into its width."""
        options.setdefault("soft_wrap", all(isinstance(thing, str) for thing in things))
        super().print(*things, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def text_width(stream: Any) -> int | None:
    """Return the width of tables in a stream: 120 columns, or None for a terminal.

    Tables are as wide as a terminal, which reports its width itself.
    """
    return None if stream is not None and stream.isatty() else 120


console: Console = PlainConsole(width=text_width(sys.stdout))
errors: Console = PlainConsole(stderr=True)

_answers: dict[str, Any] = {}


def answer(**fields: Any) -> None:
    """Add to what `--json` prints at the end of a command."""
    _answers.update(fields)


def take_answers() -> dict[str, Any]:
    """Return what a command has answered, and forget it."""
    found = dict(_answers)
    _answers.clear()
    return found


INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells count."""
MOST_NAMED = 8  # More files than this are counted, not listed.
STEADY = 600.0  # Seconds over which speed is averaged: some runs take ten times as long as others.


class PhaseBars:
    """Show a bar for each phase of long work, from its first report on.

    A refused request shows no bar, since nothing is reported before there is work.
    """

    def __init__(self):
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def report(self, phase: str, done: int, of: int) -> None:
        """Show how much of a phase is finished."""
        if self._progress is None:
            self._progress = progress_bar()
            self._progress.start()
        if phase not in self._tasks:
            slow = phase not in _WITHOUT_COMPILATION and done < of
            note = f"{phase} (compiling first)" if slow else phase
            self._tasks[phase] = self._progress.add_task(note, total=of, completed=done)
        self._progress.update(self._tasks[phase], completed=done, total=of, description=phase if done else None)

    def stop(self) -> None:
        """Leave the bars as they are, so that text can be printed; the next report shows new ones."""
        if self._progress is not None:
            self._progress.stop()
        self._progress, self._tasks = None, {}


_WITHOUT_COMPILATION = ("drawing", "explaining")


def say_files(files: Sequence[Path]) -> None:
    """Name the files that were written, or count them where they are many."""
    answer(files=[str(path) for path in files])
    named = files if len(files) <= MOST_NAMED else [*files[:2], *files[-1:]]
    for path in named:
        console.print(f"wrote {path}")
    if len(named) < len(files):
        folders = dict.fromkeys(str(path.parent) for path in files if path not in named)
        console.print(f"and {len(files) - len(named)} more in {' and '.join(folders)}")


def progress_bar() -> Progress:
    """Return a bar with counts, the time taken and an estimate of the time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=errors,
        speed_estimate_period=STEADY,
        disable=console.quiet,
    )
