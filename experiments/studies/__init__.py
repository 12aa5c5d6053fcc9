"""The studies behind the pages: one file a study, run as `python -m experiments study NAME`.

A study is a documented dataclass `Study` in a module of this package. Its fields are the options, and `run(out, where)`
computes through the runner and writes tables and figures.
"""

import importlib
import pkgutil
from typing import Any


def studies() -> dict[str, Any]:
    """Return the dataclasses of all studies by name.

    Example:
        >>> "existence" in studies()
        True
    """
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): importlib.import_module(f"{__name__}.{name}").Study for name in names}
