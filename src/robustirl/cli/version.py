"""`robustirl version`."""

import dataclasses

from robustirl import __version__


@dataclasses.dataclass(frozen=True)
class Version:
    """Print the version.

    As in

        robustirl version
    """


def run_version(_: Version) -> int:
    """Run the `version` command."""
    print(f"robustirl {__version__}")
    return 0
