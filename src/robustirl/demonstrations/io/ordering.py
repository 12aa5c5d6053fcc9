"""Put the rows of a table in order: by episode, then by step, or as they stand."""

import dataclasses
import decimal
import re
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from robustirl._runtime import short_repr
from robustirl.demonstrations.io.columns import Row, of_each, spelled, whole_numbers
from robustirl.errors import InvalidInputError

Columns = Mapping[str, np.ma.MaskedArray]
_NUMBER = re.compile(r"[+-]?(\d{1,60}\.?\d{0,60}|\.\d{1,60})([eE][+-]?\d{1,3})?")
_EXACT = decimal.Context(prec=200)


@dataclasses.dataclass(frozen=True)
class OrderedRows:
    """Hold rows of a table in order, and name them in messages.

    Attributes:
        episodes: The name of each row's episode, in the order of the table.
        order: The place in the table of each row.
        begins: Which of these rows begin an episode.
        row: The name of each row of the table.
    """

    episodes: Sequence[str]
    order: Int[np.ndarray, " n"]
    begins: Bool[np.ndarray, " n"]
    row: Row

    @property
    def last(self) -> Bool[np.ndarray, " n"]:
        """Return which rows end an episode."""
        return np.append(self.begins[1:], True)

    @property
    def lengths(self) -> Int[np.ndarray, " e"]:
        """Return how many rows each episode has."""
        return np.diff(np.append(np.flatnonzero(self.begins), self.begins.size))

    def name(self, i: int) -> str:
        """Return the name of the row at place `i` of the order, with its step and episode."""
        step = i - int(np.flatnonzero(self.begins[: i + 1])[-1])
        here = int(self.order[i])
        episode = self.episodes[here]
        return f"{self.row(here)}, step {step} of episode {episode if len(episode) <= 40 else f'{episode[:40]}...'}"


def require_filled(name: str, column: np.ma.MaskedArray, row: Row) -> None:
    """Refuse a column with an empty cell."""
    empty = np.ma.getmaskarray(column)
    if empty.any():
        raise InvalidInputError(f"the column {name!r} is empty in {row(int(np.argmax(empty)))}; fill it.")


def number_episodes(column: np.ma.MaskedArray, row: Row) -> tuple[list[str], Int[np.ndarray, " N"]]:
    """Return the name of each row's episode, and its number.

    Episodes are in the order in which they first occur. `7`, `7.0` and `" 7 "` are one episode. A number that is
    spelled in other ways, as `07` or `1e3`, may be a name, so that two spellings of one number are refused.

    Example:
        >>> from robustirl.demonstrations.io.columns import as_column
        >>> words, numbers = number_episodes(as_column(["7", 7.0, "b", " 7 "]), str)
        >>> words, numbers.tolist()
        (['7', '7', 'b', '7'], [0, 0, 1, 0])
    """
    words = of_each(spelled, np.ma.getdata(column).tolist())
    numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
    values: dict[decimal.Decimal, str] = {}
    for word in numbers:
        if _NUMBER.fullmatch(word):
            other = values.setdefault(_EXACT.create_decimal(word).normalize(_EXACT), word)
            if other != word:
                here, there = row(words.index(word)), row(words.index(other))
                raise InvalidInputError(
                    f"{here} is of episode {short_repr(word)} and {there} of episode {short_repr(other)}, which are the"
                    " same number; write it in one way, or give the episodes names."
                )
    return words, np.array([numbers[word] for word in words], dtype=np.int64)


def order_rows(columns: Columns, row: Row) -> OrderedRows:
    """Return the rows by episode and step; without a column `step` they are in order."""
    words, episode = number_episodes(columns["episode"], row)
    if "step" not in columns:
        back = np.flatnonzero(np.diff(episode) < 0)
        if back.size:
            i = int(back[0]) + 1
            raise InvalidInputError(
                f"{row(i)} returns to episode {short_repr(words[i])} after rows of others, and no column 'step' tells"
                " the order; add one, or keep the rows of an episode together."
            )
        return OrderedRows(words, np.arange(episode.size), np.diff(episode, prepend=-1) != 0, row)
    require_filled("step", columns["step"], row)
    step = np.ma.getdata(whole_numbers("step", columns["step"], row))
    order = np.lexsort((step, episode))
    begins = np.diff(episode[order], prepend=-1) != 0
    expected = np.arange(step.size) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    first = 1 if bool(np.all(step[order][begins] == 1)) else 0
    wrong = step[order] != expected + first
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{row(int(order[i]))} is step {step[order[i]]} of episode {short_repr(words[int(order[i])])}, but step"
            f" {expected[i] + first} is due; number the steps of an episode from 0 or 1 without gaps, or leave the"
            " column out if the rows are in order."
        )
    return OrderedRows(words, order, begins, row)
