"""`robustirl version`."""

import dataclasses

from robustirl import __version__
from robustirl.cli.console import answer, console


@dataclasses.dataclass(frozen=True)
class Version:
    """Print the version.

    As in

        robustirl version
    """


def run_version(_: Version) -> int:
    """Run the `version` command."""
    answer(version=__version__)
    console.print(f"robustirl {__version__}")
    return 0
