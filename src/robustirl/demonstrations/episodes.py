"""Hold demonstrations: recorded episodes τ = (s_0, a_0, s_1, …, s_n), with or without their actions.

An episode of n transitions has n+1 states; n = 0 is a start state alone. It is *terminated* if it was over when the
recording stopped, and *truncated* if it would have gone on. If the recording does not say which, the ends are unknown,
and `Demonstrations.in_world` reads them off a world. In a log of decisions an action may be recorded in the last state
too: the *final action*, whose outcome was not recorded. All episodes lie one after another in flat arrays, so nothing
here loops over steps.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from jaxtyping import Bool, Int

from robustirl._check import as_list, one_line, require_unmasked, shape_of, short_repr
from robustirl._show import draw, joined, short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.types import ArrayLike

NO_EPISODES = "there are no episodes; give at least one, of at least one state."


class Episode(NamedTuple):
    """Hold one episode: n+1 states, n actions (or None), and whether it terminated (None if that was not recorded)."""

    states: Int[np.ndarray, " N"]
    actions: Int[np.ndarray, " M"] | None
    terminated: bool | None

    def __repr__(self) -> str:
        return joined("Episode", [f"{name}={short_value(value)}" for name, value in self._asdict().items()])


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class Demonstrations:
    """Hold a set of checked, immutable episodes.

    Most data enter through `from_arrays`, `from_frame` or `load`.

    Args:
        states: `[N]`, the states of all episodes, one episode after another; whole numbers of at least 0.
        actions: `[N - E]`, the actions, one fewer per episode than states; None if only states were recorded.
        lengths: `[E]`, the number of states n+1 of each episode.
        terminated: `[E]`, whether each episode was over when the recording stopped; None if that was not recorded, and
            then the array is all False and `ends_known` is False.
        final_actions: `[E]`, the action in the last state of each episode, -1 where none was recorded; None if none
            was recorded anywhere.
        state_names: The name of each state, by its number; None if states have numbers only.
        action_names: The name of each action, likewise.

    Example:
        >>> demos = Demonstrations.from_arrays([[0, 1, 2], [1]], terminated=[True, False])
        >>> demos
        Demonstrations(2 episodes, 2 transitions, states only, 1 terminated)
        >>> demos[0].states.tolist(), len(demos + demos), [e.terminated for e in demos]
        ([0, 1, 2], 4, [True, False])
        >>> demos[[1, 1]].states.tolist(), len(demos[demos.lengths > 1])
        ([1, 1], 1)
    """

    states: Int[np.ndarray, " N"]
    actions: Int[np.ndarray, " M"] | None
    lengths: Int[np.ndarray, " E"]
    terminated: Bool[np.ndarray, " E"]
    final_actions: Int[np.ndarray, " E"] | None
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    ends_known: bool

    def __init__(
        self,
        states: ArrayLike,
        actions: ArrayLike | None,
        lengths: ArrayLike,
        terminated: ArrayLike | None = None,
        *,
        final_actions: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ):
        places = as_whole_numbers("the array of states", states)
        counts = as_whole_numbers("the array of episode lengths", lengths)
        if counts.size == 0:
            raise InvalidInputError(NO_EPISODES)
        if (counts == 0).any():
            raise InvalidInputError(
                f"episode {int(np.argmin(counts))} is empty; an episode has at least its start state, so leave it out."
            )
        if sum(counts.tolist()) != places.size:
            raise InvalidInputError(
                f"there are {places.size} states, but the episodes' lengths add up to {sum(counts.tolist())};"
                " both must count every state, the last ones included."
            )
        taken = None if actions is None else as_whole_numbers("the array of actions", actions)
        if taken is not None and taken.size != places.size - counts.size:
            raise InvalidInputError(
                f"there are {taken.size} actions, but {places.size} states in {counts.size} episodes need"
                f" {places.size - counts.size}: one fewer an episode than states."
            )
        final = None
        if final_actions is not None and (np.asarray(final_actions) >= 0).any():
            final = as_whole_numbers("the array of final actions", final_actions, least=-1)
            if taken is None or final.size != counts.size:
                raise InvalidInputError(
                    f"there are {final.size} final actions for {counts.size} episodes"
                    f" {'without' if taken is None else 'with'} actions; give one an episode, and all other actions."
                )
        every = taken if final is None or taken is None else np.append(taken, final)
        fields = {
            "states": places,
            "actions": taken,
            "lengths": counts,
            "terminated": _as_flags(False if terminated is None else terminated, counts.size),
            "final_actions": final,
            "state_names": _as_names("state", state_names, places),
            "action_names": _as_names("action", action_names, every),
            "ends_known": terminated is not None,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_arrays(
        cls,
        states: Sequence[ArrayLike] | np.ndarray,
        actions: Sequence[ArrayLike] | np.ndarray | None = None,
        *,
        terminated: ArrayLike | None = None,
    ) -> "Demonstrations":
        """Build demonstrations from an array of states, and one of actions if any, per episode.

        Args:
            states: An array of n+1 whole numbers for each episode; lengths may differ.
            actions: An array of n whole numbers for each episode, or of n+1 where an action was recorded in the last
                state too; None if only states were recorded.
            terminated: One answer for all episodes or one for each: was it over when the recording stopped? If
                omitted, the answer is read off the learner's world where one is given (see `in_world`).

        Example:
            >>> Demonstrations.from_arrays([[3, 4], [4, 4, 5]], [[0], [1, 0]], terminated=True).num_transitions
            3
        """
        each = "a list with an array of whole numbers for each episode"
        given = as_list("the list of states", states, each)
        arrays = [as_whole_numbers(f"the array of states of episode {e}", array) for e, array in enumerate(given)]
        if not arrays:
            raise InvalidInputError(NO_EPISODES)
        lengths = np.array([array.size for array in arrays])
        if actions is None:
            return cls(np.concatenate(arrays), None, lengths, terminated)
        taken = as_list("the list of actions", actions, each)
        moves = [as_whole_numbers(f"the array of actions of episode {e}", array) for e, array in enumerate(taken)]
        if len(moves) != lengths.size:
            raise InvalidInputError(
                f"there are states of {lengths.size} episodes, but actions of {len(moves)};"
                " give one array of actions for each episode, or none at all."
            )
        for e, (length, array) in enumerate(zip(lengths, moves, strict=True)):
            if array.size not in (length - 1, length) and length > 0:
                raise InvalidInputError(
                    f"episode {e} has {length} states and {array.size} actions, but {length} states go with"
                    f" {length - 1} actions, or {length} where one was recorded in the last state too."
                )
        final = [array[-1] if array.size == length else -1 for length, array in zip(lengths, moves, strict=True)]
        inner = np.concatenate([array[: max(length - 1, 0)] for length, array in zip(lengths, moves, strict=True)])
        return cls(np.concatenate(arrays), inner, lengths, terminated, final_actions=final)

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> "Demonstrations":
        """Build demonstrations from a table with one row per state.

        Args:
            frame: A pandas or polars frame, a pyarrow table, or a mapping of columns; its columns are those of a CSV
                file (see `robustirl.demonstrations.load`).
            options: Those of `load`: `columns`, `state_names`, `action_names`.

        Example:
            >>> log = {"trip": [7, 7, 9], "link": ["A", "B", "A"]}
            >>> walks = Demonstrations.from_frame(log, columns={"episode": "trip", "state": "link"})
            >>> walks.states.tolist(), walks.state_names
            ([0, 1, 0], ('A', 'B'))
        """
        from robustirl.demonstrations.tables import TableOptions, read_frame  # That file is built on this one.

        return read_frame(frame, TableOptions(**options))[0]

    @classmethod
    def concatenate(cls, parts: Sequence["Demonstrations"]) -> "Demonstrations":
        """Join all episodes of the parts, in order.

        All parts have actions, known ends and the same names, or none has.
        """
        parts = as_list("the list to concatenate", parts, "a list of Demonstrations")
        if not parts:
            raise InvalidInputError("there are no demonstrations to concatenate; give at least one set.")
        first = require_demonstrations(parts[0], "set 0 of the demonstrations")
        for i, part in enumerate(parts[1:], 1):
            require_demonstrations(part, f"set {i} of the demonstrations")
            for what, remedy in (
                ("has_actions", "drop them with .without_actions()"),
                ("ends_known", "call .in_world(world) first"),
                ("names", "read both with the same state_names and action_names"),
            ):
                if getattr(first, what) != getattr(part, what):
                    raise InvalidInputError(f"sets 0 and {i} of the demonstrations differ in {what}; {remedy}.")
        actions = final = None
        if first.has_actions:
            actions = np.concatenate([part.actions for part in parts])
            final = np.concatenate([part._final() for part in parts])
        names = ("states", "lengths", "terminated")
        states, lengths, ends = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        ends = ends if first.ends_known else None
        return cls(states, actions, lengths, ends, final_actions=final, **first.names)

    @property
    def has_actions(self) -> bool:
        """Return whether actions were recorded."""
        return self.actions is not None

    @property
    def num_transitions(self) -> int:
        """Return the number of recorded moves, N - E."""
        return self.states.size - self.lengths.size

    @functools.cached_property
    def offsets(self) -> Int[np.ndarray, " B"]:
        """Return where each episode begins among `states`, and the end."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @functools.cached_property
    def episodes(self) -> Int[np.ndarray, " N"]:
        """Return the episode that each state belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @functools.cached_property
    def steps(self) -> Int[np.ndarray, " N"]:
        """Return the step t at which each state was visited."""
        return np.arange(self.states.size) - np.repeat(self.offsets[:-1], self.lengths)

    @functools.cached_property
    def moves(self) -> Int[np.ndarray, " M"]:
        """Return where among `states` each transition starts; its successor lies one place further."""
        return np.delete(np.arange(self.states.size), self.offsets[1:] - 1)

    @property
    def last_states(self) -> Int[np.ndarray, " E"]:
        """Return s_n of each episode."""
        return self.states[self.offsets[1:] - 1]

    @property
    def names(self) -> dict[str, Any]:
        """Return the names of states and actions by the keywords that take them."""
        return {"state_names": self.state_names, "action_names": self.action_names}

    def _final(self) -> Int[np.ndarray, " E"]:
        return np.full(len(self), -1) if self.final_actions is None else self.final_actions

    def replace(self, **changes: Any) -> "Demonstrations":
        """Return the same episodes with other fields, by the names of the arguments.

        Example:
            >>> Demonstrations.from_arrays([[0, 1]]).replace(terminated=True)
            Demonstrations(1 episodes, 1 transitions, states only, 1 terminated)
        """
        fields = {name: getattr(self, name) for name in ("states", "actions", "lengths", "final_actions")}
        ends = self.terminated if self.ends_known else None
        return Demonstrations(**{**fields, "terminated": ends, **self.names, **changes})

    def __len__(self) -> int:
        return self.lengths.size

    def __iter__(self) -> Iterator[Episode]:
        return (self._episode(e) for e in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer) -> Episode: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | np.ndarray) -> "Demonstrations": ...

    def __getitem__(self, index: Any) -> "Episode | Demonstrations":
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        if shape_of("the index", index) != ():
            return self.subset(index)
        place = np.asarray(index)
        if place.dtype.kind not in "iu":
            raise InvalidInputError(
                f"the index is {index!r}, but a whole number, a slice, a list of numbers or a mask is needed."
            )
        if not -len(self) <= place < len(self):
            # An IndexError lets Python's own protocols work.
            raise IndexError(f"episode {index} was asked for, but there are {len(self)}, numbered from 0.")
        return self._episode(int(place) % len(self))

    def _episode(self, e: int) -> Episode:
        begin, end = int(self.offsets[e]), int(self.offsets[e + 1])
        actions = None if self.actions is None else self.actions[begin - e : end - e - 1]
        return Episode(self.states[begin:end], actions, bool(self.terminated[e]) if self.ends_known else None)

    def subset(self, indices: ArrayLike) -> "Demonstrations":
        """Return the episodes at these places, in this order, or those where a mask is True.

        Negative numbers count from the end. Repetitions are allowed, because a bootstrap needs them.

        Example:
            >>> Demonstrations.from_arrays([[0, 1], [2], [3, 4]]).subset([2, 0, -1]).states.tolist()
            [3, 4, 0, 1, 3, 4]
        """
        given, count = _as_array("the list of episodes to keep", indices), len(self)
        if given.dtype == bool and given.shape != (count,):
            raise InvalidInputError(
                f"the mask has shape {given.shape}, but one answer for each of the {count} episodes is needed."
            )
        chosen = np.flatnonzero(given) if given.dtype == bool else given
        chosen = as_whole_numbers("the list of episodes to keep", chosen, least=-count)
        if chosen.size == 0:
            raise InvalidInputError(f"no episode of the {count} is left; choose at least one.")
        if chosen.max() >= count:
            raise InvalidInputError(
                f"episode {int(chosen.max())} was asked for, but there are {count}, numbered from 0."
            )
        chosen = np.where(chosen < 0, chosen + count, chosen)
        lengths, starts = self.lengths[chosen], self.offsets[chosen]
        return self.replace(
            states=self.states[ranges(starts, lengths)],
            actions=None if self.actions is None else self.actions[ranges(starts - chosen, lengths - 1)],
            lengths=lengths,
            terminated=self.terminated[chosen] if self.ends_known else None,
            final_actions=None if self.final_actions is None else self.final_actions[chosen],
        )

    def without_actions(self) -> "Demonstrations":
        """Return the same episodes as a learner sees them that observes states only."""
        return self.replace(actions=None, final_actions=None, action_names=None)

    def renumber(
        self, *, state_names: Sequence[str] | None = None, action_names: Sequence[str] | None = None
    ) -> "Demonstrations":
        """Return the same episodes with states and actions numbered by other lists of their names.

        Example:
            >>> walks = Demonstrations.from_frame({"episode": [0, 0], "state": ["north", "east"]})
            >>> walks.states.tolist(), walks.renumber(state_names=["north", "east", "west"]).states.tolist()
            ([1, 0], [0, 1])
        """
        changes: dict[str, Any] = {}
        if state_names is not None:
            order = _new_numbers("state", self.state_names, state_names)
            changes |= {"states": order[self.states], "state_names": state_names}
        if action_names is not None:
            order = _new_numbers("action", self.action_names, action_names)
            changes["action_names"] = action_names
            if self.actions is not None:
                final = self._final()
                changes |= {"actions": order[self.actions], "final_actions": np.where(final < 0, -1, order[final])}
        return self.replace(**changes)

    def in_world(self, mdp: MDP) -> "Demonstrations":
        """Return the episodes as episodes of a world, whose ends are ends of that world.

        Ends that were not recorded are read off the world: an episode terminated if its last state is absorbing. An
        episode that terminated in a state that the world can leave is led to the absorbing state that the world has
        for it, as the worlds of `envs.from_gymnasium` have one (see `worlds.py`).

        Example:
            >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
            >>> Demonstrations.from_arrays([[0, 1], [0, 0]]).in_world(walk).terminated.tolist()
            [True, False]
        """
        from robustirl.demonstrations.worlds import in_world

        return in_world(self, mdp)

    def check_against(self, mdp: MDP) -> None:
        """Refuse states that the world lacks, and actions that it lacks or does not offer there."""
        from robustirl.demonstrations.worlds import require_of_world

        require_of_world(self, mdp)

    def check_possible(self, *worlds: MDP) -> None:
        """Refuse moves that no given world allows, and ends in states that every one can leave.

        The learner's world may forbid what the expert did: give the expert's, or all that are in question.
        """
        from robustirl.demonstrations.worlds import require_possible

        require_possible(self, *worlds)

    def __add__(self, other: "Demonstrations") -> "Demonstrations":
        if not isinstance(other, Demonstrations):
            return NotImplemented
        return Demonstrations.concatenate([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Demonstrations):
            return NotImplemented
        flags = ("ends_known", "names", "has_actions")
        arrays = ("states", "actions", "lengths", "terminated", "final_actions")
        return all(getattr(self, name) == getattr(other, name) for name in flags) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        kind = "with actions" if self.has_actions else "states only"
        ends = f"{int(self.terminated.sum())} terminated" if self.ends_known else "ends unknown"
        return f"Demonstrations({len(self)} episodes, {self.num_transitions} transitions, {kind}, {ends})"

    def plot(self, world: Any = None, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of visits, some episodes, and how long episodes are.

        Args:
            world: A world of these states, or its environment. A grid is recognized by its moves, a small world is
                drawn as a graph; if omitted, states are drawn in a row.
            shape: Rows and columns, if the first states are the cells of a grid.
        """
        return draw("plot_demonstrations", self, world, shape=shape)

    def describe(self) -> str:
        """Return a sentence that says what there is.

        Example:
            >>> print(Demonstrations.from_arrays([[0, 1, 2], [1]], terminated=[True, False]).describe())
            2 episodes of 1 to 3 states (median 2), 2 transitions, states only; 1 terminated, 1 truncated;
            3 different states, the largest 2.
        """
        ended, kind = int(self.terminated.sum()), "with actions" if self.has_actions else "states only"
        ends = f"{ended} terminated, {len(self) - ended} truncated" if self.ends_known else "ends not recorded"
        return (
            f"{len(self)} episodes of {self.lengths.min()} to {self.lengths.max()} states"
            f" (median {np.median(self.lengths):g}), {self.num_transitions} transitions, {kind};"
            f" {ends}; {np.unique(self.states).size} different states, the largest {self.states.max()}."
        )


def require_demonstrations(given: object, what: str = "the demonstrations") -> Demonstrations:
    """Return demonstrations, or refuse what is none.

    Example:
        >>> require_demonstrations(None)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the demonstrations are of the type NoneType, but Demonstrations are needed;
        make them with Demonstrations.from_arrays(states), or read a file with load(path).
    """
    if not isinstance(given, Demonstrations):
        raise InvalidInputError(
            f"{what} are of the type {type(given).__name__}, but Demonstrations are needed; make them with"
            " Demonstrations.from_arrays(states), or read a file with load(path)."
        )
    return given


def ranges(starts: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """Return the whole numbers from each start on, `lengths` many each, one run after another.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1])) + np.repeat(starts - ends + lengths, lengths)


def as_whole_numbers(name: str, values: ArrayLike, least: int = 0) -> Int[np.ndarray, " n"]:
    """Return `values` as an immutable int64 vector; refuse all but whole numbers of at least `least`."""
    array = _as_array(name, values)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has shape {array.shape}, but a list of whole numbers, (n,), is needed.")
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{name} holds {array.dtype}, as {short_repr(array.tolist()[0])}, but whole numbers are needed; states and"
            " actions are numbered from 0 (numbers that merely became floats go back with .astype(int))."
        )
    frozen = array.astype(np.int64)  # A copy, always: what is validated must not change afterwards.
    if (frozen < least).any():
        bad = int(np.argmax(frozen < least))
        raise InvalidInputError(
            f"{name} holds {array[bad]} at place {bad}, but numbers from {least} to 2^63 - 1 are needed."
        )
    frozen.setflags(write=False)
    return frozen


def _as_array(name: str, values: object) -> np.ndarray:
    require_unmasked(name, values)
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # Lists of several lengths, and whatever objects that claim to be arrays raise.
        raise InvalidInputError(f"{name} cannot be read as numbers ({one_line(error)}).") from None


def _as_flags(terminated: ArrayLike, episodes: int) -> Bool[np.ndarray, " E"]:
    """Return one immutable answer for each episode, from one for all of them or one for each."""
    array = _as_array("`terminated`", terminated)
    if array.dtype != bool or array.shape not in ((), (episodes,)):
        raise InvalidInputError(
            f"`terminated` holds {array.dtype} and has shape {array.shape}, but True or False for each of {episodes}"
            " episodes is needed, or one answer for all."
        )
    array = np.broadcast_to(array, (episodes,)).copy()
    array.setflags(write=False)
    return array


def _as_names(kind: str, names: Any, numbers: Int[np.ndarray, " n"] | None) -> tuple[str, ...] | None:
    """Return names of states or actions, one for each number that occurs, or None if there are none."""
    if names is None:
        return None
    given = as_list(f"the {kind} names", names, "a list of words")
    if not all(isinstance(name, str) for name in given):
        raise InvalidInputError(f"the {kind} names are {short_repr(names, 80)}, but a list of words is needed.")
    if len(set(given)) < len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise InvalidInputError(
            f"the {kind} name {short_repr(twice)} occurs more than once; give each {kind} its own name."
        )
    if numbers is not None and numbers.size and numbers.max() >= len(given):
        raise InvalidInputError(
            f"{kind} {int(numbers.max())} occurs, but there are {len(given)} {kind} names; name every {kind}."
        )
    return tuple(map(str, given))


def _new_numbers(kind: str, names: Sequence[str] | None, new_names: Sequence[str]) -> Int[np.ndarray, " n"]:
    """Return the new number of each old one."""
    if names is None:
        raise InvalidInputError(f"the demonstrations have no {kind} names to renumber by; read them with names.")
    places = {name: i for i, name in enumerate(new_names)}
    missing = [name for name in names if name not in places]
    if missing:
        raise InvalidInputError(
            f"the demonstrations name a {kind} {missing[0]!r}, which is not among the {len(places)} names given;"
            " correct the names."
        )
    return np.array([places[name] for name in names], dtype=np.int64)
