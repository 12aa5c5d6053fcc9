"""The studies behind the pages: one file a study, run as `python -m experiments study NAME`.

A study is a documented dataclass `Study` in a module of this package. Its fields are the options, and `run(out, where)`
computes through the runner and writes tables and figures.
"""

import importlib
import pkgutil
from typing import Any


def names() -> list[str]:
    """Return the names of all studies.

    Example:
        >>> "existence" in names()
        True
    """
    return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__))


def find(name: str) -> Any:
    """Return the dataclass of a study."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").Study
