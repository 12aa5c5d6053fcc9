"""`robustirl explore`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from robustirl.cli.console import console, progress_bar
from robustirl.explorer import write_explorer


@dataclasses.dataclass(frozen=True)
class Explore:
    """Make one self-contained HTML page to look around in a store: choose a world and noises, drag α.

    The page needs no network and shows whatever runs are finished, finite and continuous ones.
    """

    store: Annotated[Path, tyro.conf.Positional]
    """The folder of results, the --out of reproduce, layouts or continuous."""
    certificates: bool = True
    """Work out what every finite player is sure to achieve, some 15 ms a run."""
    out: Path | None = None
    """The file to write; explorer.html in that folder when left out."""


def run_explore(command: Explore) -> int:
    """Run the `explore` command."""
    progress = progress_bar()
    tasks = []

    def report(done: int, of: int) -> None:
        if not tasks:
            progress.start()  # Not before there is work: a refused request shows no bar.
            tasks.append(progress.add_task("collecting", total=of))
        progress.update(tasks[0], completed=done)

    try:
        path = write_explorer(command.store, command.out, certificates=command.certificates, progress=report)
    finally:
        if tasks:
            progress.stop()
    console.print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", highlight=False, soft_wrap=True)
    return 0
