"""`robustirl page`."""

import dataclasses
from pathlib import Path

import tyro

from robustirl.cli.console import answer, console
from robustirl.errors import InvalidInputError
from robustirl.reports import is_fit_folder


@dataclasses.dataclass(frozen=True)
class Page:
    """Make one self-contained HTML page about a fit, which needs no network.

    As in

        robustirl page found
    """

    fit: tyro.conf.Positional[Path]
    """The folder that `robustirl fit --out` made."""
    out: Path | None = None
    """The file to write; fit.html in that folder if omitted."""


def run_page(command: Page) -> int:
    """Run the `page` command."""
    from robustirl.reports.fit_page import write_fit_page  # Here, so that no other command loads it.

    if not is_fit_folder(command.fit):
        raise InvalidInputError(f"there is no fit in {command.fit}; give the --out of robustirl fit.")
    if command.out is not None and command.out.exists():
        raise InvalidInputError(f"{command.out} exists; remove it, or choose another --out.")
    path = write_fit_page(command.fit, command.out)
    console.print(f"wrote {path}")
    answer(files=[str(path)])
    return 0
