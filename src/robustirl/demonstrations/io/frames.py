"""Read the table of `tables.py` from a data frame: pandas, polars, pyarrow, or a mapping of columns.

A frame is recognized by what it can do, so none of those libraries is imported here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from robustirl._runtime import one_line, short_repr
from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.tables import Source, TableOptions, find_columns, from_table
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def read_frame(frame: Any, **options: Any) -> Demonstrations:
    """Return the demonstrations in a frame; see `Demonstrations.from_frame`."""
    return read_columns(frame, "the frame", TableOptions(**options))[0]


def read_columns(
    frame: Any, name: str, options: TableOptions, *, has_actions: bool | None = None, names: Mapping[str, Any] = {}
) -> tuple[Demonstrations, str]:
    """Return the demonstrations in a frame called `name`, and a line on what was understood."""
    if hasattr(frame, "collect_schema") and hasattr(frame, "lazy") and callable(getattr(frame, "collect", None)):
        frame = frame.collect()  # A frame of polars that is yet to be computed.
    chosen = find_columns(name, _column_names(frame), options)
    columns = {ours: as_column(_cells(own, _column(frame, own))) for ours, own in chosen.items()}
    sizes = {ours: len(column) for ours, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError(f"the columns of {name} differ in length ({sizes}); give each as many rows.")
    if not sizes["state"]:
        raise InvalidInputError(f"{name} has no rows; there must be at least one episode.")

    def row(i: int) -> str:
        return f"row {i} of {name}"

    return from_table(columns, Source(name, row, has_actions, names), options)


def _column_names(frame: Any) -> list[str]:
    for attribute in ("column_names", "columns"):  # pyarrow; pandas and polars.
        found = getattr(frame, attribute, None)
        if isinstance(found, Iterable) and hasattr(frame, "__getitem__"):
            return [str(name) for name in found if isinstance(name, str)]
    if isinstance(frame, Mapping):
        return [name for name in frame if isinstance(name, str)]
    raise InvalidInputError(
        f"a frame is needed, but {type(frame).__name__} was given; give a pandas or polars frame, a pyarrow table, or a"
        " mapping from names of columns to lists."
    )


def _column(frame: Any, name: str) -> Any:
    try:
        return frame[name]
    except Exception as error:  # Whatever the object is, it is no table.
        raise InvalidInputError(
            f"the column {short_repr(name)} of a {type(frame).__name__} cannot be read ({one_line(error)}); give a"
            " pandas or polars frame, a pyarrow table, or a mapping from names of columns to lists."
        ) from None


def _cells(name: str, column: Any) -> Sequence[Any]:
    """Return the values of a column as Python has them."""
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy.
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    if not isinstance(column, Sequence) or isinstance(column, str | bytes):
        raise InvalidInputError(
            f"the column {short_repr(name)} is of type {type(column).__name__}, but a list with a value for each row is"
            " needed."
        )
    return column
