"""`explorer.html`: one self-contained page to look around in a store, made from its runs alone.

The page holds all numbers of the store's finished runs, and its arrays to the digits shown; it loads nothing, and a
content policy in it forbids that it could. Its style and its scripts are files beside the template, put into it here.
"""

import dataclasses
import importlib.metadata
import importlib.resources
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import markupsafe

from robustirl._runtime import reserved_file, write_atomically
from robustirl.errors import InvalidInputError
from robustirl.explorer.arrays import DIGITS, NONE, TEN_THOUSANDTHS, THOUSANDTHS, Pool
from robustirl.explorer.embedding import embedded_json
from robustirl.reports import render
from robustirl.sweeps import RunResult, Store, kind_of

NAME = "explorer.html"
SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        "data",
        "colors",
        "maps",
        "surface",
        "charts",
        "tables",
        "choices",
        "opening",
        "returns",
        "views",
        "page",
    )
)
Progress = Callable[[int, int], object]


def write_explorer(
    folder: Path, path: Path | None = None, *, certificates: bool = True, progress: Progress = lambda *_: None
) -> Path:
    """Write the explorer of a store, whole or not at all, and say where.

    Args:
        folder: The store, finished or not: what is there is shown.
        path: The file; `explorer.html` in the store if omitted.
        certificates: Work out a certificate for every finite run, some 15 ms each.
        progress: Called with the number of runs done and of all runs.

    Example:
        >>> write_explorer(Path("nowhere"))
        Traceback (most recent call last):
            ...
        robustirl.errors.InvalidInputError: there is neither a store of runs nor a fit in nowhere; give what --out named
            in robustirl fit, reproduce, layouts or continuous.
    """
    _require_results(Path(folder))
    store = Store.read(Path(folder))
    path = store.folder / NAME if path is None else Path(path)
    with reserved_file(path):
        data, arrays = payload(store, certificates=certificates, progress=progress)
        try:
            write_atomically(path, page(data, arrays))
        except OSError as error:
            raise InvalidInputError(
                f"{path} cannot be written ({error.strerror}); make room, or choose another --out."
            ) from None
    return path


def _require_results(folder: Path) -> None:
    """Refuse a folder that no command has written results to."""
    try:
        (folder / "store.json").lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # The last for a name that no file can have.
        raise InvalidInputError(
            f"there is neither a store of runs nor a fit in {folder}; give what --out named in robustirl fit,"
            " reproduce, layouts or continuous."
        ) from None
    except OSError:
        return  # Reading it tells what is wrong.


RowMaker = Callable[[RunResult], dict[str, Any]]
"""Makes a row of the page of one finished run."""


@dataclasses.dataclass(frozen=True)
class RunView:
    """How the runs of one kind are shown.

    Attributes:
        kind: The name of the kind.
        rows: Makes the maker of rows, given where arrays go, whether certificates are wanted, and the store.
        extra: What else the page needs to know of such runs, once all rows are made, by key.
    """

    kind: str
    rows: Callable[[Pool, bool, Store], RowMaker]
    extra: Callable[[RowMaker], dict[str, Any]]


_VIEWS: dict[str, RunView] = {}


def register_view(view: RunView) -> RunView:
    """Have the explorer show the runs of a kind."""
    _VIEWS[view.kind] = view
    return view


def _views() -> dict[str, RunView]:
    """Load the views of packages (entry-point group `robustirl.exhibits`), and return all views.

    The group has an old name for a view, because installed packages give it.
    """
    for entry in importlib.metadata.entry_points(group="robustirl.exhibits"):
        entry.load()
    return _VIEWS


def payload(
    store: Store, *, certificates: bool = True, progress: Progress = lambda *_: None
) -> tuple[dict[str, Any], str]:
    """Return the page's data: a JSON object, and the arrays it points into as compressed text."""
    views = _views()
    runs = [spec for spec in store.specs if spec in store and kind_of(spec).name in views]
    if not runs:
        raise InvalidInputError(f"{store.folder} holds no finished run yet; finish the command that made it first.")
    pool = Pool()
    makers = {name: view.rows(pool, certificates, store) for name, view in views.items()}
    rows = {}
    for result in store.results(*views):
        progress(len(rows), len(runs))
        spec = result.record.spec
        rows[spec] = makers[kind_of(spec).name](result)
    progress(len(runs), len(runs))
    ordered = [{name: _plain(value) for name, value in rows[spec].items()} for spec in runs]
    extra = [view.extra(makers[name]) for name, view in views.items()]
    data = {
        "store": store.folder.resolve().name,
        "configuration": store.configuration,
        "asked": sum(kind_of(spec).name in views for spec in store.specs),
        **{key: value for entries in extra for key, value in entries.items()},
        "rows": ordered,
        "arrays": {
            **pool.sizes, "digits": DIGITS, "thousandths": THOUSANDTHS, "places": TEN_THOUSANDTHS, "none": NONE,
        },
    }  # fmt: skip
    return data, pool.packed()


def page(data: dict[str, Any], arrays: str) -> str:
    """Return the page that shows a payload."""
    folder = importlib.resources.files("robustirl.explorer") / "data"
    script = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return render(
        "robustirl.explorer",
        "data/explorer.html.jinja",
        store=data["store"],
        look=markupsafe.Markup((folder / "explorer.css").read_text(encoding="utf-8")),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(embedded_json(data)),
        arrays=arrays,
    )


def _plain(value: Any) -> Any:
    """Return None for a number that JSON cannot hold, and the number otherwise.

    Example:
        >>> [_plain(value) for value in (1.5, float("inf"), "budget")]
        [1.5, None, 'budget']
    """
    return None if isinstance(value, float) and not math.isfinite(value) else value
