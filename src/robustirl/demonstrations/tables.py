"""Read demonstrations from a table of one row per state, and write them as one; pandas reads, here it is understood.

    episode      any number or word; rows of an episode stand together, or have a step to order them by
    step         what orders the rows of an episode; if it counts, without gaps; if there is no such column, rows are
                 in order
    state        s_t, a number or a name
    action       a_t; in the last row of an episode it may be empty, or else its outcome was not recorded; empty
                 everywhere if there are no actions
    terminated   true or false in the last row of an episode, empty or false in all others; if there is no such
                 column, or it is empty, the ends are unknown and are read off the world

Columns may have other names (`columns={"episode": "trip"}`); further columns are ignored. A column of whole numbers
holds numbers of states. Any other holds names, which are numbered by the names given or, if there are none, in
alphabetical order.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from robustirl._check import one_line, short_repr
from robustirl.demonstrations.episodes import Demonstrations
from robustirl.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

COLUMNS = ("episode", "step", "state", "action", "terminated")
NEEDED = ("episode", "state")
Names = Sequence[str] | Mapping[str, int] | None
TRUE, FALSE = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no")


def _in_order(kind: str, names: Names) -> tuple[str, ...] | None:
    """Return names in the order of their numbers.

    Example:
        >>> _in_order("state", {"attic": 1, "hall": 0})
        ('hall', 'attic')
    """
    if names is None:
        return None
    if isinstance(names, Mapping):
        if sorted(names.values()) != list(range(len(names))):
            raise InvalidInputError(
                f"{kind}_names maps to {short_repr(list(names.values()))}, but each whole number from 0 to"
                f" {len(names) - 1} is needed once."
            )
        return tuple(sorted(names, key=names.__getitem__))
    if isinstance(names, str | bytes) or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"{kind}_names is {short_repr(names)}, but a list of words is needed, one for each number."
        )
    return tuple(str(name) for name in names)


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Say how a table is to be read.

    Attributes:
        columns: The table's own names of columns, by ours: `{"episode": "trip", "state": "link"}`.
        state_names: The name of each state in order, or a number for each name; found in the table if omitted.
        action_names: The same for actions.
        world: What the world is called that the table belongs to, if there is one: then names that it does not know are
            refused, because nobody has numbered them.
    """

    columns: Mapping[str, str] | None = None
    state_names: Any = None
    action_names: Any = None
    world: str | None = None

    def __post_init__(self) -> None:
        for name in self.columns or {}:
            if name not in COLUMNS:
                raise InvalidInputError(
                    f"columns names {short_repr(name)}, which means nothing here; {', '.join(COLUMNS)} do."
                )
        for kind in ("state", "action"):
            object.__setattr__(self, f"{kind}_names", _in_order(kind, getattr(self, f"{kind}_names")))

    def require_none(self, path: str) -> None:
        """Refuse options that only tables have a use for, because the file is none."""
        names = ("columns",) if self.world else ("columns", "state_names", "action_names")
        used = [name for name in names if getattr(self, name) is not None]
        if used:
            raise InvalidInputError(
                f"{used[0]} is for tables (.csv, .parquet, frames), but {path} is none; leave it out."
            )


def pandas_module() -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
        import pyarrow  # noqa: F401 (pandas needs it for Parquet and for frames of other libraries)
    except ImportError as error:
        raise InvalidInputError(
            f"tables need {error.name}, which is not installed; run `pip install 'robustirl[tables]'`."
        ) from None
    return pandas


def is_frame(given: Any) -> bool:
    """Return whether an object is a frame of pandas or polars, or a pyarrow table.

    Example:
        >>> is_frame([[0, 1, 2]])
        False
    """
    return hasattr(given, "to_pandas") or hasattr(given, "collect_schema") or hasattr(given, "iloc")


def read_frame(frame: Any, options: TableOptions = TableOptions()) -> tuple[Demonstrations, str]:
    """Return the demonstrations in a data frame or a mapping of columns, and a line on what was understood."""
    return read_table(_as_pandas(frame), "the frame", options)


def _as_pandas(frame: Any) -> "pandas.DataFrame":
    library = pandas_module()
    try:
        if isinstance(frame, library.DataFrame):
            return frame
        if isinstance(frame, Mapping):
            return library.DataFrame(dict(frame))
        if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # polars, and not computed yet.
            frame = frame.collect()
        if hasattr(frame, "to_pandas"):
            return frame.to_pandas()
    except Exception as error:  # Each library has errors of its own.
        raise InvalidInputError(f"the frame cannot be read ({one_line(error)}); correct what makes it.") from None
    raise InvalidInputError(
        f"a frame is needed, but {type(frame).__name__} was given; give a pandas or polars frame, a pyarrow table, or a"
        " mapping from names of columns to lists."
    )


def read_table(
    frame: "pandas.DataFrame",
    source: str,
    options: TableOptions,
    *,
    has_actions: bool | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Demonstrations, str]:
    """Return the demonstrations in a table, and a line on what was understood.

    Args:
        frame: The table.
        source: What messages call it.
        options: How to read it.
        has_actions: Whether there are actions, if we saved the file; then it holds numbers, and not names.
        names: `state_names` and `action_names`, if the file holds them beside a table of numbers.
    """
    table = _Table(frame, source, _find_columns(source, frame.columns.tolist(), options))
    if not len(frame):
        raise InvalidInputError(f"{source} has no rows; there must be at least one episode.")
    order, begins = table.ordered()
    last = np.append(begins[1:], True)
    ends = table.ends(order, last)
    if has_actions is not None:
        options = TableOptions(options.columns)
    states, state_names = table.numbers("state", options.state_names, options.world)
    if (states < 0).any():
        raise InvalidInputError(f"the column 'state' is empty in {table.row(int(np.argmax(states < 0)))}; fill it.")
    actions = final = action_names = None
    if "action" in table.chosen or has_actions:
        actions, action_names = table.numbers("action", options.action_names, options.world)
        actions = actions[order]
        missing = (actions < 0) & ~last
        if has_actions is False or ((actions < 0).all() and not has_actions):
            actions = action_names = None
        elif missing.any():
            raise InvalidInputError(
                f"the column 'action' is empty in {table.row(int(order[np.argmax(missing)]))}, but only the last row of"
                " an episode may have none; fill it, or empty the whole column."
            )
        else:
            actions, final = actions[~last], actions[last]
    held = dict(names or {})
    demonstrations = Demonstrations(
        states[order],
        actions,
        np.diff(np.append(np.flatnonzero(begins), begins.size)),
        ends,
        final_actions=final,
        state_names=state_names or held.get("state_names"),
        action_names=action_names or (held.get("action_names") if actions is not None else None),
    )
    parts = [f"{name} from {own!r}" for name, own in table.chosen.items() if own != name]
    for kind, named in (("states", state_names), ("actions", action_names)):
        if named is not None:
            few = ", ".join(f"{name} = {number}" for number, name in enumerate(named[:4]))
            parts.append(f"{len(named)} {kind} by name ({few}{', ...' if len(named) > 4 else ''})")
    if "step" not in table.chosen:
        parts.append("steps by the order of rows")
    return demonstrations, f"{source}: {'; '.join([demonstrations.describe().rstrip('.'), *parts])}."


def table_of(demonstrations: Demonstrations) -> "pandas.DataFrame":
    """Return demonstrations as a table; what is empty is missing."""
    library = pandas_module()
    last = demonstrations.offsets[1:] - 1
    actions = np.full(demonstrations.states.size, -1)
    if demonstrations.actions is not None:
        actions[demonstrations.moves] = demonstrations.actions
    if demonstrations.final_actions is not None:
        actions[last] = demonstrations.final_actions
    known = np.zeros(actions.size, dtype=bool)
    known[last] = demonstrations.ends_known
    ends = np.zeros(actions.size, dtype=bool)
    ends[last] = demonstrations.terminated
    return library.DataFrame(
        {
            "episode": demonstrations.episodes,
            "step": demonstrations.steps,
            "state": demonstrations.states,
            "action": library.Series(actions, dtype="Int64").mask(actions < 0),
            "terminated": library.Series(ends, dtype="boolean").mask(~known),
        }
    )


def _find_columns(source: str, found: list[Any], options: TableOptions) -> dict[str, str]:
    """Return the table's column for each of ours that it has; refuse a table that lacks one, or has one twice."""
    asked = dict(options.columns or {})
    chosen = {name: asked.get(name, name) for name in COLUMNS}
    for name, own in list(chosen.items()):
        if own not in found:
            if name in asked or name in NEEDED:
                few = ", ".join(map(str, found[:12])) + (f" and {len(found) - 12} more" if len(found) > 12 else "")
                hint = "correct the name" if name in asked else f'say which one it is with columns={{"{name}": ...}}'
                raise InvalidInputError(f"{source} has no column {short_repr(own)}, only {few}; {hint}.")
            del chosen[name]
        elif name not in asked and name not in NEEDED and own in asked.values():
            del chosen[name]  # A column that was named for something else is not ours by its name alone.
    for name, own in chosen.items():
        if list(chosen.values()).count(own) > 1 or found.count(own) > 1:
            raise InvalidInputError(
                f"the column {short_repr(own)} of {source} is taken for {name} and stands for something else too; give"
                " each a column of its own."
            )
    return chosen


@dataclasses.dataclass(frozen=True)
class _Table:
    """Hold a table, and the names of its columns by ours."""

    frame: "pandas.DataFrame"
    source: str
    chosen: Mapping[str, str]

    def row(self, i: int) -> str:
        """Return what messages call a row."""
        return f"row {i} of {self.source} (counted from 0)"

    def codes(self, name: str) -> tuple[Int[np.ndarray, " N"], np.ndarray]:
        """Return the number of each cell's value among the different ones (-1 where it is empty), and these."""
        codes, values = pandas_module().factorize(self.frame[self.chosen[name]])
        blank = [i for i, value in enumerate(values) if isinstance(value, str) and not value.strip()]
        return (np.where(np.isin(codes, blank), -1, codes) if blank else codes), np.asarray(values)

    def ordered(self) -> tuple[Int[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
        """Return the rows in order of episode and step, and which of these begin an episode."""
        episodes, names = self.codes("episode")
        if (episodes < 0).any():
            raise InvalidInputError(f"the column 'episode' is empty in {self.row(int(np.argmax(episodes < 0)))}.")
        if "step" not in self.chosen:
            begins = np.diff(episodes, prepend=-1) != 0
            again = begins & (episodes <= np.maximum.accumulate(np.append(-1, episodes[:-1])))
            if again.any():
                i = int(np.argmax(again))
                raise InvalidInputError(
                    f"{self.row(i)} returns to episode {short_repr(_word(names[episodes[i]]))} after rows of others,"
                    " and no column 'step' tells the order; add one, or keep the rows of an episode together."
                )
            return np.arange(episodes.size), begins
        steps = self.frame[self.chosen["step"]]
        empty = np.asarray(steps.isna())
        if empty.any():
            raise InvalidInputError(f"the column 'step' is empty in {self.row(int(np.argmax(empty)))}.")
        rank = pandas_module().factorize(steps, sort=True)[0]
        order = np.lexsort((rank, episodes))
        begins = np.diff(episodes[order], prepend=-1) != 0
        values = steps.to_numpy()[order]
        wrong = ~begins[1:] & (np.diff(rank[order]) == 0)
        if values.dtype.kind in "iu":  # It counts, so that a gap is a row that is missing.
            wrong = ~begins[1:] & (np.diff(values) != 1)
        if wrong.any():
            i = int(np.argmax(wrong)) + 1
            raise InvalidInputError(
                f"{self.row(int(order[i]))} is step {values[i]} of episode"
                f" {short_repr(_word(names[episodes[order[i]]]))} after step {values[i - 1]}; number the steps of an"
                " episode without gaps, or leave the column out if the rows are in order."
            )
        return order, begins

    def ends(self, order: Int[np.ndarray, " N"], last: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " E"] | None:
        """Return whether each episode terminated, or None if the table does not say."""
        if "terminated" not in self.chosen:
            return None
        codes, values = self.codes("terminated")
        words = [str(value).strip().lower() for value in values]
        for value, word in zip(values, words, strict=True):
            if word not in (*TRUE, *FALSE, ""):
                raise InvalidInputError(
                    f"the column 'terminated' holds {short_repr(value)}, but true or false is needed, or nothing."
                )
        told, codes = codes[order] >= 0, codes[order]
        if not told.any():
            return None
        ended = told & np.array([word in TRUE for word in words])[codes]
        wrong = np.where(last, ~told, ended)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InvalidInputError(
                f"the column 'terminated' says {'nothing' if last[i] else 'true'} in {self.row(int(order[i]))}; it must"
                " be true or false in the last row of every episode, and empty or false in all others."
            )
        return ended[last]

    def numbers(
        self, kind: str, names: Sequence[str] | None, world: str | None
    ) -> tuple[Int[np.ndarray, " N"], tuple[str, ...] | None]:
        """Return a column as numbers, -1 where it is empty, and the names they stand for if there are any."""
        if kind not in self.chosen:
            return np.full(len(self.frame), -1), None
        codes, values = self.codes(kind)
        used = np.unique(codes[codes >= 0])
        if not used.size:
            return codes, None
        if names is None and values.dtype.kind in "iu" and values.min() >= 0:
            return np.append(values.astype(np.int64), -1)[codes], None
        words = [_word(value) for value in values]
        whole = _whole(words)
        bad = None
        if names is not None:
            places = {name: i for i, name in enumerate(names)}
            bad = next((i for i in used if words[i] not in places), None)
            if bad is None:
                return np.append([places.get(word, -1) for word in words], -1)[codes], tuple(names)
            if (whole[used] >= 0).all():
                bad = used[np.argmax(whole[used])]
            what = f"which is not among the {len(names)} {kind} names"
        elif all(_NUMBER.fullmatch(words[i]) is None for i in used):
            if world is None:
                order = sorted({words[i] for i in used})
                places = {name: i for i, name in enumerate(order)}
                return np.append([places.get(word, -1) for word in words], -1)[codes], tuple(order)
            bad, what = used[0], f"but {world} has no names for its {kind}s; give {kind}_names in the world's order"
        else:
            what = "but whole numbers from 0 are needed, or names"
        if (whole[used] >= 0).all() and (names is None or whole[used].max() < len(names)):
            return np.append(whole, -1)[codes], None if names is None else tuple(names)
        if bad is None:
            bad = used[np.argmax(whole[used] < 0)]
        row = self.row(int(np.argmax(codes == bad)))
        raise InvalidInputError(
            f"the column {kind!r} holds {short_repr(words[bad])} in {row}, {what}; correct the table."
        )


_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


def _word(value: Any) -> str:
    """Return a cell as a word; a float that is a whole number as one."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(int(value) if isinstance(value, bool | np.bool_) else value).strip()


def _whole(words: Sequence[str]) -> Int[np.ndarray, " n"]:
    """Return the words that are whole numbers of at least 0 as numbers, and -1 for all others."""
    return np.array([int(word) if word.isdecimal() and len(word) < 19 else -1 for word in words], dtype=np.int64)
