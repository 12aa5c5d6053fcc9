"""Refuse options of tables that are no columns, names or numbers to begin with."""

from collections.abc import Mapping, Sequence

import numpy as np

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError


def require_columns(columns: object, known: Sequence[str]) -> None:
    """Refuse a choice of columns that is none, or that takes one for two things."""
    if columns is None:
        return
    if not isinstance(columns, Mapping) or not all(isinstance(own, str) for own in columns.values()):
        raise InvalidInputError(
            f"columns is {short_repr(columns)}, but a mapping from our names of columns to the table's is needed, such"
            ' as {"episode": "trip", "state": "link"}.'
        )
    taken: dict[str, str] = {}
    for name, own in columns.items():
        if name not in known:
            raise InvalidInputError(
                f"columns names {short_repr(name)}, which means nothing here; {', '.join(known)} do."
            )
        if own in taken:
            raise InvalidInputError(
                f"columns takes {short_repr(own)} for both {taken[own]!r} and {name!r}; each needs one of its own."
            )
        taken[own] = name


def require_names_given(option: str, names: object) -> None:
    """Refuse names of states or actions that are no words, or no list of them."""
    if names is None:
        return
    several = isinstance(names, Sequence | Mapping) and not isinstance(names, str | bytes)
    several |= isinstance(names, np.ndarray) and names.ndim == 1
    if not several or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportGeneralTypeIssues]
        raise InvalidInputError(f"{option} is {short_repr(names)}, but a list of words is needed, one for each number.")
    if isinstance(names, Mapping):
        numbers = [] if any(isinstance(number, bool) for number in names.values()) else list(names.values())
        whole = all(isinstance(number, int | np.integer) for number in numbers)
        if not whole or sorted(numbers) != list(range(len(names))):
            raise InvalidInputError(
                f"{option} maps names to {short_repr(list(names.values()))}, but each whole number from 0 to"
                f" {len(names) - 1} is needed once; give a list, or correct the mapping."
            )


def require_first(name: str, value: object) -> None:
    """Refuse the number of a first state or action that is neither 0 nor 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and (not whole or value not in (0, 1)):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but 0 or 1 is needed.")


def require_one_each(columns: Mapping[str, str], chosen: Mapping[str, str]) -> None:
    """Refuse a choice of columns that takes one for two things, as `{"episode": "state"}` does.

    Args:
        columns: What was asked for.
        chosen: The table's column for each of ours that is read.
    """
    asked = {own: name for name, own in columns.items()}
    for name, own in chosen.items():
        if asked.get(own, name) != name:
            raise InvalidInputError(
                f"columns takes {short_repr(own)} for {asked[own]!r}, but it is needed for {name!r}; say which column"
                f" is {name!r}, too."
            )
