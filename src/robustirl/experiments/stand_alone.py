"""Modules that are commands of their own (`python -m robustirl.experiments.NAME`) end as `robustirl` does."""

import sys
from collections.abc import Callable
from typing import NoReturn

from robustirl.errors import RobustIRLError


def stand_alone(main: Callable[[], int | None]) -> NoReturn:
    """Run a module's main function; what cannot be done ends in its one sentence, not in a traceback.

    Example:
        >>> def main():
        ...     raise RobustIRLError("there is nothing to do.")
        >>> stand_alone(main)
        Traceback (most recent call last):
        SystemExit: there is nothing to do.
    """
    try:
        sys.exit(main())
    except RobustIRLError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
