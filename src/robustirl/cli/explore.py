"""`robustirl explore`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from robustirl._runtime import is_file
from robustirl.cli.console import answer, console, progress_bar
from robustirl.errors import InvalidInputError
from robustirl.explorer import write_explorer, write_fit_page
from robustirl.reports import is_fit_folder

PAGES = (b"<title>robustirl explorer: ", b"<title>robustirl fit: ")
"""What a page of ours holds near its beginning."""
HEAD_BYTES = 4096


@dataclasses.dataclass(frozen=True)
class Explore:
    """Make one self-contained HTML page: about a single fit, or to browse a store of runs.

    As in

        robustirl explore found                          what `robustirl fit --out found` has learned, in found/fit.html
        robustirl explore out                            all runs of `robustirl reproduce --out out`
        robustirl explore out --out page.html --no-certificates

    The page needs no network. In a store it shows whatever runs are finished, finite and continuous ones: choose a
    world and noises, drag α.
    """

    store: Annotated[Path, tyro.conf.Positional]
    """The folder of results, the --out of fit, reproduce, layouts or continuous."""
    certificates: bool = True
    """Compute what every finite player is sure to achieve, some 15 ms a run; for stores only."""
    out: Path | None = None
    """The file to write; fit.html or explorer.html in that folder if omitted."""


def run_explore(command: Explore) -> int:
    """Run the `explore` command."""
    if command.out is not None:
        _require_page_or_nothing(command.out)
    if is_fit_folder(command.store):
        return _say(write_fit_page(command.store, command.out))
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
    return _say(path)


def _require_page_or_nothing(out: Path) -> None:
    """Refuse to overwrite a file that is not a page of ours, such as the user's data."""
    if not is_file(out) or out.is_symlink():  # In this order: of a name that is too long the second is an error.
        return  # A link is replaced, and what it leads to left alone.
    try:
        with out.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise InvalidInputError(f"{out} cannot be read ({error.strerror}); choose another --out.") from None
    if head and not any(title in head for title in PAGES):
        raise InvalidInputError(
            f"{out} exists and is not a page of robustirl explore; remove it, or choose another --out."
        )


def _say(path: Path) -> int:
    size = path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    console.print(f"wrote {path} ({shown})")
    answer(files=[str(path)])
    return 0
