"""Read the table of `tables.py` from a data frame: pandas, polars, pyarrow, or a mapping of columns.

A frame is recognized by what it can do, so none of those libraries is imported here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robustirl._runtime import one_line, require_memory, short_repr
from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.names import Names
from robustirl.demonstrations.io.table_options import TableOptions
from robustirl.demonstrations.io.tables import Source, find_columns, from_table
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError

CELL_BYTES = 60
"""A cell, as a value of Python and in a column."""
FEW = 10**5
"""Cells up to this number are not looked at: they fit."""


def is_frame(given: Any) -> bool:
    """Return whether an object is a frame of pandas or polars, or a pyarrow table.

    Example:
        >>> is_frame([[0, 1, 2]])
        False
    """
    return _is_lazy(given) or (hasattr(given, "columns") and hasattr(given, "shape"))


def _is_lazy(frame: Any) -> bool:
    """Return whether a frame is one of polars that is yet to be computed."""
    # Before anything else is asked of it: to know its columns, it may read files.
    return hasattr(type(frame), "collect_schema") and hasattr(frame, "lazy") and hasattr(type(frame), "collect")


def read_frame(
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    state_names: Names = None,
    action_names: Names = None,
    first_state: int | None = None,
    first_action: int | None = None,
    time_step: float | None = None,
    separator: str | None = None,
) -> Demonstrations:
    """Return the demonstrations in a frame; see `Demonstrations.from_frame`."""
    options = TableOptions(columns, state_names, action_names, first_state, first_action, time_step, separator)
    return read_frame_with_note(frame, options)[0]


def read_frame_with_note(frame: Any, options: TableOptions) -> tuple[Demonstrations, str]:
    """Return what `read_frame` reads, and the line that says what was understood."""
    return read_columns(frame, options, Source("the frame", lambda i: f"row {i} of the frame"))


def read_columns(frame: Any, options: TableOptions, source: Source) -> tuple[Demonstrations, str]:
    """Return the demonstrations in a frame, and a line on what was understood."""
    name = source.name
    options.require_no_separator(name)
    if _is_lazy(frame):
        frame = _collected(frame, name)
    chosen = find_columns(name, _column_names(frame, name), options)
    columns = {ours: as_column(_cells(own, _column(frame, own))) for ours, own in chosen.items()}
    sizes = {ours: len(column) for ours, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError(f"the columns of {name} differ in length ({sizes}); give each as many rows.")
    if not sizes["state"]:
        raise InvalidInputError(f"{name} has no rows; there must be at least one episode.")
    return from_table(columns, source, options)


def _collected(frame: Any, name: str) -> Any:
    """Return a frame of polars that was yet to be computed."""
    try:
        return frame.collect()
    except Exception as error:  # Whatever a plan reads and computes may fail.
        raise InvalidInputError(
            f"{name} cannot be computed ({one_line(error)}); correct what makes it, and try frame.collect()."
        ) from None


def _column_names(frame: Any, name: str) -> list[str]:
    for attribute in ("column_names", "columns"):  # pyarrow; pandas and polars.
        found = getattr(frame, attribute, None)
        if isinstance(found, Iterable) and hasattr(frame, "__getitem__"):
            return _words(list(found), name)
    if isinstance(frame, Mapping):
        return _words(list(frame), name)
    raise InvalidInputError(
        f"a frame is needed, but {type(frame).__name__} was given; give a pandas or polars frame, a pyarrow table, or a"
        " mapping from names of columns to lists."
    )


def _words(found: list[Any], name: str) -> list[str]:
    """Return the names of columns that are words; refuse a frame without any."""
    if found and not any(isinstance(column, str) for column in found):
        raise InvalidInputError(
            f"the columns of {name} are named {short_repr(found[0])} and the like, but words are needed; name them"
            " 'episode' and 'state', or rename them to words and say which ones these are."
        )
    return [column for column in found if isinstance(column, str)]


def _column(frame: Any, name: str) -> Any:
    try:
        return frame[name]
    except Exception as error:  # Whatever the object is, it is no table.
        raise InvalidInputError(
            f"the column {short_repr(name)} of a {type(frame).__name__} cannot be read ({one_line(error)}); give a"
            " pandas or polars frame, a pyarrow table, or a mapping from names of columns to lists."
        ) from None


def _cells(name: str, column: Any) -> Sequence[Any]:
    """Return the values of a column as Python has them; refuse more than memory holds.

    In its library a column may take nothing however long it is: nulls, runs of one value, ranges.
    """
    try:
        count = len(column) if hasattr(column, "__len__") else 0
        if count > FEW:
            require_memory(float(CELL_BYTES) * count, f"the column {short_repr(name)} of {count} rows", "give fewer")
        column = _values(column)
    except InvalidInputError:
        raise
    except UnicodeDecodeError:  # pyarrow keeps words as bytes, and looks at them only now.
        raise InvalidInputError(
            f"the column {short_repr(name)} has a word that is not UTF-8; write the words as UTF-8."
        ) from None
    except Exception as error:  # Each library has its own errors for values that Python has none for.
        raise InvalidInputError(
            f"the values of the column {short_repr(name)} cannot be read ({one_line(error)}); give numbers, words or"
            " dates that Python has."
        ) from None
    if not isinstance(column, Sequence) or isinstance(column, str | bytes):
        raise InvalidInputError(
            f"the column {short_repr(name)} is of type {type(column).__name__}, but a list with a value for each row is"
            " needed."
        )
    return column


def _values(column: Any) -> Any:
    if getattr(getattr(column, "dtype", None), "time_unit", None) == "ns":
        column = column.to_numpy()  # Python's dates, which polars would give, end at microseconds.
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        # NumPy's own list of them holds plain numbers if they have nanoseconds.
        return [None if hidden else cell for cell, hidden in zip(column, np.ma.getmaskarray(column), strict=True)]
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy.
        if hasattr(column, method):
            return getattr(column, method)()
    return column
