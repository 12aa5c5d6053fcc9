"""Draw an object when its `plot` method is called, without importing matplotlib before."""

import importlib
from typing import Any


def draw(function: str, *args: Any, **options: Any) -> Any:
    """Call a function of `robustirl.plotting` by its name and return its figure.

    Objects are below plotting in the order of imports, so that they look up its functions by name.
    """
    return getattr(importlib.import_module("robustirl.plotting"), function)(*args, **options)
