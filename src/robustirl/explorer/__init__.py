"""Self-contained pages: to look around in a store, and about a single fit."""

from robustirl.explorer.arrays import Pool as Pool
from robustirl.explorer.fit_page import write_fit_page as write_fit_page
from robustirl.explorer.page import RowMaker as RowMaker
from robustirl.explorer.page import RunView as RunView
from robustirl.explorer.page import register_view as register_view
from robustirl.explorer.page import write_explorer as write_explorer

__all__ = [
    "write_explorer",
    "write_fit_page",
]
