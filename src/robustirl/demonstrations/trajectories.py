"""Demonstrations: recorded episodes τ = (s_0, a_0, s_1, …, s_n), with or without their actions.

An episode of n transitions has n+1 states; n = 0 is a start state alone. It is *terminated* if its last state is
never left again, and *truncated* if the recording stopped earlier. If the recording does not say which, the ends are
unknown: `infer_terminated` reads them off a world, and everything that is given a world does so by itself.
All episodes lie one after another in flat arrays, so nothing here loops over steps.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from jaxtyping import Bool, Int

from robustirl._runtime import draw, html_table, joined, short_value
from robustirl.demonstrations._episodes import as_episodes, renumbered, require_actions_match, require_alike
from robustirl.demonstrations.arrays import as_flags, as_names, as_whole_numbers, ranges
from robustirl.demonstrations.checks import judge_ends, require_of_world, require_possible
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_list, shape_of
from robustirl.types import ArrayLike


class Episode(NamedTuple):
    """Hold one episode: n+1 states, n actions (or None), and whether it terminated.

    It terminated if its last state is never left again; None if that was not recorded.
    """

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
        terminated: `[E]`, whether each episode's last state is never left again; None if that was not recorded, and
            then the array is all False and `ends_known` is False.
        state_names: The name of each state, by its number; None if states have numbers only.
        action_names: The name of each action, likewise.
        ends_known: Whether `terminated` was recorded; if omitted, whether it is given.

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
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    ends_known: bool = True

    def __init__(
        self,
        states: ArrayLike,
        actions: ArrayLike | None,
        lengths: ArrayLike,
        terminated: ArrayLike | None = None,
        *,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        ends_known: bool | None = None,
    ):
        places, counts = (
            as_whole_numbers("the array of states", states),
            as_whole_numbers("the array of episode lengths", lengths),
        )
        if counts.size == 0:
            raise InvalidInputError("there are no episodes; give at least one, of at least one state.")
        if (counts == 0).any():
            raise InvalidInputError(
                f"episode {int(np.argmin(counts))} is empty; an episode has at least its start state, so leave it out."
            )
        if counts.max() > places.size or counts.sum() != places.size:  # The sum alone may overflow to any number.
            raise InvalidInputError(
                f"there are {places.size} states, but the episodes' lengths add up to {sum(counts.tolist())};"
                " both must count every state, the last ones included."
            )
        taken = None
        if actions is not None:
            taken = as_whole_numbers("the array of actions", actions)
            if taken.size != places.size - counts.size:
                raise InvalidInputError(
                    f"there are {taken.size} actions, but {places.size} states in {counts.size} episodes need"
                    f" {places.size - counts.size}: one fewer an episode than states."
                )
        fields = {
            "states": places,
            "actions": taken,
            "lengths": counts,
            "terminated": as_flags(False if terminated is None else terminated, counts.size),
            "state_names": as_names("state", state_names, places),
            "action_names": as_names("action", action_names, taken),
            "ends_known": terminated is not None and ends_known is not False,
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
            actions: An array of n whole numbers for each episode; None if only states were recorded.
            terminated: One answer for all episodes or one for each: is the last state never left again? If omitted,
                the answer is read off the learner's world where one is given (see `infer_terminated`).

        Example:
            >>> Demonstrations.from_arrays([[3, 4], [4, 4, 5]], [[0], [1, 0]], terminated=True).num_transitions
            3
        """
        each = "a list with an array of whole numbers for each episode"
        given = as_list("the list of states", states, each)
        arrays = [as_whole_numbers(f"the array of states of episode {e}", array) for e, array in enumerate(given)]
        if not arrays:
            raise InvalidInputError("there are no episodes; give at least one, of at least one state.")
        lengths = np.array([array.size for array in arrays])
        moves = None
        if actions is not None:
            taken = as_list("the list of actions", actions, each)
            moves = [as_whole_numbers(f"the array of actions of episode {e}", array) for e, array in enumerate(taken)]
            require_actions_match(lengths, [array.size for array in moves])
        return cls(np.concatenate(arrays), None if moves is None else np.concatenate(moves), lengths, terminated)

    @classmethod
    def from_frame(cls, frame: Any, **options: Any) -> "Demonstrations":
        """Build demonstrations from a table with one row per state.

        The table is a pandas or polars frame, a pyarrow table or a mapping.

        Args:
            frame: The table; its columns are those of a CSV file (see `robustirl.demonstrations.load`).
            options: Those of `load`: `columns`, `state_names`, `action_names`, `first_state`, `first_action`,
                `time_step`.

        Example:
            >>> log = {"trip": [7, 7, 9], "link": ["A", "B", "A"]}
            >>> walks = Demonstrations.from_frame(log, columns={"episode": "trip", "state": "link"})
            >>> walks.states.tolist(), walks.state_names
            ([0, 1, 0], ('A', 'B'))
        """
        from robustirl.demonstrations.io.frames import read_frame  # That file is built on this one.

        return read_frame(frame, **options)

    @classmethod
    def concatenate(cls, parts: Sequence["Demonstrations"]) -> "Demonstrations":
        """Join all episodes of the parts, in order.

        All parts have actions, known ends and names, or none has.
        """
        parts = as_list("the list to concatenate", parts, "a list of Demonstrations")
        if len(parts) == 0:
            raise InvalidInputError("there are no demonstrations to concatenate; give at least one set.")
        for i, part in enumerate(parts):
            if not isinstance(part, Demonstrations):
                kind = type(part).__name__
                raise InvalidInputError(f"set {i} of the demonstrations is a {kind}, but Demonstrations are needed.")
        first = parts[0]
        for i, part in enumerate(parts):
            require_alike(first, part, i)
        actions = None
        if first.has_actions:
            actions = np.concatenate([part.actions for part in parts if part.actions is not None])
        states, lengths, terminated = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("states", "lengths", "terminated")
        )
        return cls(states, actions, lengths, terminated if first.ends_known else None, **first.names)

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
        chosen = as_episodes(indices, len(self))
        lengths, starts = self.lengths[chosen], self.offsets[chosen]
        actions = None if self.actions is None else self.actions[ranges(starts - chosen, lengths - 1)]
        ends = self.terminated[chosen] if self.ends_known else None
        return Demonstrations(self.states[ranges(starts, lengths)], actions, lengths, ends, **self.names)

    def without_actions(self) -> "Demonstrations":
        """Return the same episodes as a learner sees them that observes states only."""
        ends = self.terminated if self.ends_known else None
        return Demonstrations(self.states, None, self.lengths, ends, state_names=self.state_names)

    def renumber(
        self, *, state_names: Sequence[str] | None = None, action_names: Sequence[str] | None = None
    ) -> "Demonstrations":
        """Return the same episodes with states and actions numbered by other lists of their names.

        Example:
            >>> walks = Demonstrations.from_frame({"episode": [0, 0], "state": ["north", "east"]})
            >>> walks.states.tolist(), walks.renumber(state_names=["north", "east", "west"]).states.tolist()
            ([1, 0], [0, 1])
        """
        states, state_names = renumbered("state", self.states, self.state_names, state_names)
        actions, action_names = renumbered("action", self.actions, self.action_names, action_names)
        ends = self.terminated if self.ends_known else None
        return Demonstrations(
            np.asarray(states), actions, self.lengths, ends, state_names=state_names, action_names=action_names
        )

    def infer_terminated(self, mdp: MDP) -> "Demonstrations":
        """Return the episodes with their ends known.

        Episodes that end in an absorbing state of `mdp` are terminated. Ends that were recorded stay as they are.

        Example:
            >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
            >>> Demonstrations.from_arrays([[0, 1], [0, 0]]).infer_terminated(walk).terminated.tolist()
            [True, False]
        """
        if self.ends_known:
            return self
        return Demonstrations(self.states, self.actions, self.lengths, judge_ends(self, mdp), **self.names)

    def __add__(self, other: "Demonstrations") -> "Demonstrations":
        if not isinstance(other, Demonstrations):
            return NotImplemented
        return Demonstrations.concatenate([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Demonstrations):
            return NotImplemented
        alike = (self.ends_known, self.names) == (other.ends_known, other.names)
        arrays = ("states", "lengths", "terminated", *(["actions"] if self.has_actions else []))
        return (
            alike
            and self.has_actions == other.has_actions
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        )

    def __hash__(self) -> int:
        return hash((self.states.tobytes(), self.lengths.tobytes(), self.terminated.tobytes()))

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

    def _repr_html_(self) -> str:
        lengths, visits = self.lengths, np.unique(self.states)
        rows = [
            ("episodes", f"{len(self)} of {lengths.min()} to {lengths.max()} states (median {np.median(lengths):g})"),
            ("transitions", f"{self.num_transitions}, {'with actions' if self.has_actions else 'states only'}"),
            ("ends", f"{int(self.terminated.sum())} terminated" if self.ends_known else "not recorded"),
            ("different states", f"{visits.size}, the largest {visits.max()}"),
        ]
        if self.state_names is not None:
            rows.append(("state names", short_value(self.state_names)))
        return html_table("Demonstrations", rows)

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

    def check_against(self, mdp: MDP) -> None:
        """Refuse states that the world lacks, and actions that it lacks or does not offer there."""
        require_of_world(self, mdp)

    def check_possible(self, *worlds: MDP) -> None:
        """Refuse moves that no given world allows, and ends in states that every one can leave.

        The learner's world may forbid what the expert did: give the expert's, or all that are in question.
        """
        require_possible(self, *worlds)

    @property
    def names(self) -> dict[str, Any]:
        """Return the names of states and actions by the keywords that take them."""
        return {"state_names": self.state_names, "action_names": self.action_names}
