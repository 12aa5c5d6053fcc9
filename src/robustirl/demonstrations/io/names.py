"""Read a column of states or actions: numbers, or names.

A column is one of names if names were given for it. If it belongs to a world with names, it may be numbers or the
names of that world. Otherwise it is one of names if none of its cells looks like a number; they are then numbered in
alphabetical order.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import Row, as_whole, as_word, of_each, spelled, whole_numbers
from robustirl.errors import InvalidInputError

Names = Sequence[str] | Mapping[str, int] | None
_WHOLE_WITH_COMMA = re.compile(r"\s*\+?\d+,0+\s*")


def option_name(name: str, command_line: bool) -> str:
    """Return what an option is called in Python or on a command line.

    Example:
        >>> option_name("first_state", False), option_name("first_state", True)
        ('first_state', '--first-state')
    """
    return f"--{name.replace('_', '-')}" if command_line else name


@dataclasses.dataclass(frozen=True)
class WorldNames:
    """Hold the names that a world has for its states and actions, which tables may use.

    Attributes:
        world: What the world is called.
        state_names: The name of each state in order, or None if it has none.
        action_names: The same for actions.
    """

    world: str
    state_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True)
class Numbering:
    """Say which number a cell stands for.

    Attributes:
        kind: `state` or `action`.
        first: The number of the first state in the table; None if it was not said, which means 0.
        given: The name of each state in order, or a number for each name.
        known: The names that the world has, if there is one and it has names.
        world: What that world is called.
        sort: Whether names that nobody has numbered are numbered in alphabetical order.
        command_line: Whether messages name options as a command line has them.
    """

    kind: str
    first: int | None = None
    given: Names = None
    known: Sequence[str] | None = None
    world: str = ""
    sort: bool = True
    command_line: bool = False

    def option(self, name: str) -> str:
        """Return what an option is called, as `first_state` or `--first-state`."""
        full = f"{name}_{self.kind}" if name == "first" else f"{self.kind}_{name}"
        return option_name(full, self.command_line)


def names_or_numbers(
    column: np.ma.MaskedArray, row: Row, numbering: Numbering
) -> tuple[np.ma.MaskedArray, tuple[str, ...] | None]:
    """Return a column as numbers, and the names they stand for if the table uses names.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> found, names = names_or_numbers(as_column(["north", "east", "north"]), str, Numbering("state"))
        >>> found.tolist(), names
        ([1, 0, 1], ('east', 'north'))
    """
    if numbering.given is not None:
        return _by_name(column, row, numbering, in_order(numbering.given), "given")
    filled = np.flatnonzero(~np.ma.getmaskarray(column)).tolist()
    cells = np.ma.getdata(column)[filled].tolist()
    if numbering.known is not None and cells and _uses_names(cells, lambda i: row(filled[i]), numbering):
        return _by_name(column, row, numbering, tuple(numbering.known), f"in {numbering.world}")
    if not _are_words(cells):
        return whole_numbers(numbering.kind, column, row, numbering.first or 0), None
    _require_numbering(cells[0], row(filled[0]), numbering)
    return _by_name(column, row, numbering, tuple(sorted({str(cell).strip() for cell in cells})), "given")


def _are_words(cells: Sequence[Any]) -> bool:
    """Return whether a column holds names: words, none of which looks like a number."""
    # 3,4 may be a place in a grid; 18,0 is a number if all cells are like that.
    if not cells or not all(isinstance(cell, str) for cell in cells):
        return False
    different = set(cells)
    commas = all(_WHOLE_WITH_COMMA.fullmatch(cell) for cell in different)
    return not commas and not any(_looks_numeric(cell) for cell in different)


def _uses_names(cells: Sequence[Any], row: Row, numbering: Numbering) -> bool:
    """Return whether a column uses the names of the world.

    Refuse one that means something else as numbers.
    """
    assert numbering.known is not None
    if numbering.first is not None and not _are_words(cells):  # Somebody said that these are numbers.
        return False
    named, whole = _numbers_of(cells, numbering.known), of_each(as_whole, cells)
    if all(number is not None and number < len(numbering.known) for number in whole):
        if None in named:
            return False
        wrong = next((i for i, (a, b) in enumerate(zip(named, whole, strict=True)) if a != b), None)
        if wrong is not None:
            kind, first, names = numbering.kind, numbering.option("first"), numbering.option("names")
            first, names = (f"{first} 0", f"{names} FILE") if numbering.command_line else (f"{first}=0", f"{names}=...")
            raise InvalidInputError(
                f"the column {kind!r} holds {short_repr(cells[wrong])} in {row(wrong)}, which is {kind} {whole[wrong]}"
                f" by number, but {kind} {named[wrong]} by its name in {numbering.world}; give {first} if the column"
                f" holds numbers, or {names} if it holds names."
            )
    return None not in named or _are_words(cells) or (any(i is not None for i in named) and None in whole)


def _require_numbering(cell: Any, place: str, numbering: Numbering) -> None:
    """Refuse names where numbers were announced, or where nothing may be guessed."""
    kind, first, names = numbering.kind, numbering.option("first"), numbering.option("names")
    if numbering.first:
        raise InvalidInputError(
            f"the column {kind!r} holds names, as {short_repr(cell)} in {place}, but {first} is for numbers; leave it"
            f" out, or give {names}."
        )
    if not numbering.sort:
        raise InvalidInputError(
            f"the column {kind!r} holds names, as {short_repr(cell)} in {place}, but {numbering.world} has no names for"
            f" its {kind}s; read the table with {names}, in the order of its {kind}s, or number them from 0."
        )


def _by_name(
    column: np.ma.MaskedArray, row: Row, numbering: Numbering, names: tuple[str, ...], origin: str
) -> tuple[np.ma.MaskedArray, tuple[str, ...]]:
    """Return a column of names as numbers; `origin` says in a message where the names are from."""
    empty, cells = np.ma.getmaskarray(column), np.ma.getdata(column).tolist()
    numbers = _numbers_of(cells, names)
    for i, number in enumerate(numbers):
        if number is None and not empty[i]:
            raise InvalidInputError(
                f"the column {numbering.kind!r} holds {short_repr(as_word(cells[i]))} in {row(i)}, which is not among"
                f" the {len(names)} {numbering.kind} names {origin}; add it to them, or correct the table."
            )
    return np.ma.array(np.array([number or 0 for number in numbers], dtype=np.int64), mask=empty), names


def _numbers_of(cells: Sequence[Any], names: Sequence[str]) -> list[int | None]:
    """Return the number of each cell's name, or None where it is no name."""
    places = _places(names)

    def number(cell: Any) -> int | None:
        exact = places.get(as_word(cell))
        return places.get(spelled(cell)) if exact is None else exact

    return of_each(number, cells)


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the number of each name, and of each number that is a name, however it is spelled.

    A spelling that two names share, as `1` of `1.0` and `1.00`, is neither.
    """
    exact = {word: i for i, word in enumerate(names)}
    others: dict[str, int | None] = {}
    for i, word in enumerate(names):
        own = spelled(word)
        others[own] = None if own in others else i
    return {word: i for word, i in others.items() if i is not None} | exact


def in_order(names: Sequence[str] | Mapping[str, int]) -> tuple[str, ...]:
    """Return names in the order of their numbers.

    Example:
        >>> in_order({"attic": 1, "hall": 0})
        ('hall', 'attic')
    """
    if isinstance(names, Mapping):
        return tuple(sorted(names, key=names.__getitem__))
    return tuple(str(word) for word in names)


def _looks_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
