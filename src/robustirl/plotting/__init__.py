"""Draw the library's objects. Drawing needs matplotlib (`pip install 'robustirl[plots]'`); finding places does not."""

import importlib
from typing import TYPE_CHECKING, Any

from robustirl.errors import InvalidInputError
from robustirl.plotting.layout import layout_of as layout_of

if TYPE_CHECKING:
    from robustirl.plotting.figures import plot_alpha as plot_alpha
    from robustirl.plotting.figures import plot_certificate as plot_certificate
    from robustirl.plotting.figures import plot_demonstrations as plot_demonstrations
    from robustirl.plotting.figures import plot_fit as plot_fit
    from robustirl.plotting.states import draw_states as draw_states
    from robustirl.plotting.style import save_figure as save_figure

_MODULES = {"draw_states": "states", "save_figure": "style"}

__all__ = [
    "draw_states",
    "layout_of",
    "plot_alpha",
    "plot_certificate",
    "plot_demonstrations",
    "plot_fit",
    "save_figure",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'figures')}")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise InvalidInputError("figures need matplotlib; pip install 'robustirl[plots]'.") from None
    return getattr(module, name)
