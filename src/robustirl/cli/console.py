"""What the commands share: where they print, and how long work shows its progress."""

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robustirl.experiments.reproduce import Outcome, check_specs, reproduce
from robustirl.experiments.specs import RunSpec

console = Console(width=None if sys.stdout.isatty() else 120)
errors = Console(stderr=True)


def run_with_progress(specs: tuple[RunSpec, ...], out: Path) -> Outcome:
    """Run specs into a folder, with a bar, and say what was done and written."""
    check_specs(specs)
    with progress_bar() as progress:
        task = progress.add_task("learning (the first batch compiles)", total=len(specs))
        outcome = reproduce(specs, out, progress=lambda done: progress.advance(task, done))
    if not outcome.complete:
        kept = f"; they are in {outcome.files[0]}, and the same command goes on from there" if outcome.files else ""
        errors.print(f"robustirl: interrupted after {len(outcome.records)} of {len(specs)} runs{kept}.", soft_wrap=True)
        return outcome
    timing = outcome.timing
    console.print(
        f"{len(outcome.records)} runs in {timing.computation:.1f} s, after {timing.compilation:.1f} s of compilation.",
        highlight=False,
    )
    for path in outcome.files:
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    return outcome


def progress_bar() -> Progress:
    """A bar with counts, the time taken and an estimate of the time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=errors,
    )
