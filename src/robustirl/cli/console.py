"""What the commands share: where they print, and how long work shows its progress."""

import sys
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robustirl.sweeps import Outcome

console: Console = Console(width=None if sys.stdout.isatty() else 120)
errors: Console = Console(stderr=True)

MOST_NAMED = 8  # More files than this are counted, not listed.
STEADY = 600.0  # Seconds over which speed is averaged: some runs take ten times as long as others.


def run_with_progress(work: Callable[[Callable[[str, int, int], object]], Outcome], total: int) -> Outcome:
    """Do long work with a bar for each of its phases, and say what was done and written."""
    progress = progress_bar()
    tasks: dict[str, object] = {}

    def report(phase: str, done: int, of: int) -> None:
        if phase not in tasks:
            progress.start()  # Not before there is work: a refused request shows no bar.
            slow = phase != "drawing" and phase != "explaining" and done < of
            note = f"{phase} (compiling first)" if slow else phase
            tasks[phase] = progress.add_task(note, total=of, completed=done)
        progress.update(tasks[phase], completed=done, description=phase if done else None)  # pyright: ignore[reportArgumentType]

    try:
        outcome = work(report)
    finally:
        if tasks:
            progress.stop()
    for notice in outcome.notices:
        errors.print(f"robustirl: {notice}", markup=False, highlight=False, soft_wrap=True)
    if not outcome.complete:
        kept = f"; they are in {outcome.files[0]}, and the same command goes on from there" if outcome.files else ""
        errors.print(f"robustirl: interrupted after {len(outcome.records)} of {total} runs{kept}.", soft_wrap=True)
        return outcome
    timing = outcome.timing
    known = len(outcome.records) - outcome.new
    console.print(
        f"{outcome.new} runs in {timing.computation:.1f} s, after {timing.compilation:.1f} s of compilation"
        + (f"; {known} were there already." if known else "."),
        highlight=False,
    )
    failed = sum(record.verdict == "failed" for record in outcome.records)
    if failed:
        console.print(f"{failed} runs failed: they could not vouch for their numbers; see the column verdict.")
    named = outcome.files if len(outcome.files) <= MOST_NAMED else [*outcome.files[:2], *outcome.files[-1:]]
    for path in named:
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    if len(named) < len(outcome.files):
        console.print(
            f"and {len(outcome.files) - len(named)} more there and in {named[-1].parent / 'figures'}", soft_wrap=True
        )
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
        speed_estimate_period=STEADY,
    )
