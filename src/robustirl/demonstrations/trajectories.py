"""Demonstrations: recorded episodes τ = (s_0, a_0, s_1, …, s_n), with or without their actions.

An episode of n transitions has n+1 states; n = 0 is a start state alone. It is *terminated* when its last state is
one that is never left again (it stays there forever), and *truncated* when the recording merely stopped.
All episodes lie one after another in flat arrays, so that nothing here loops over steps.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from jaxtyping import Bool, Int

from robustirl.demonstrations.arrays import as_flags, as_whole_numbers, ranges
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.types import ArrayLike


class Episode(NamedTuple):
    """One episode: n+1 states, n actions (or none recorded), and whether its last state is never left again."""

    states: Int[np.ndarray, " N"]
    actions: Int[np.ndarray, " M"] | None
    terminated: bool


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Demonstrations:
    """A set of episodes, checked and frozen. `Demonstrations.from_arrays` is the way in for most data.

    Args:
        states: `[N]`, the states of all episodes, one episode after another; whole numbers of at least 0.
        actions: `[N - E]`, the actions, one fewer an episode than states; None when only states were recorded.
        lengths: `[E]`, the number of states n+1 of each episode.
        terminated: `[E]`, whether each episode's last state is never left again.

    Example:
        >>> demos = Demonstrations.from_arrays([[0, 1, 2], [1]], terminated=[True, False])
        >>> demos
        Demonstrations(2 episodes, 2 transitions, states only, 1 terminated)
        >>> demos[0].states.tolist(), len(demos + demos), [e.terminated for e in demos]
        ([0, 1, 2], 4, [True, False])
    """

    states: Int[np.ndarray, " N"]
    actions: Int[np.ndarray, " M"] | None
    lengths: Int[np.ndarray, " E"]
    terminated: Bool[np.ndarray, " E"]

    def __post_init__(self) -> None:
        states = as_whole_numbers("the array of states", self.states)
        lengths = as_whole_numbers("the array of episode lengths", self.lengths)
        if lengths.size == 0:
            raise InvalidInputError("there are no episodes; give at least one, of at least one state.")
        if (lengths == 0).any():
            raise InvalidInputError(
                f"episode {int(np.argmin(lengths))} is empty; an episode has at least its start state, so leave it out."
            )
        if lengths.max() > states.size or lengths.sum() != states.size:  # The sum alone may overflow to any number.
            raise InvalidInputError(
                f"there are {states.size} states, but the episodes' lengths add up to {sum(lengths.tolist())};"
                " both must count every state, the last ones included."
            )
        actions = None
        if self.actions is not None:
            actions = as_whole_numbers("the array of actions", self.actions)
            if actions.size != states.size - lengths.size:
                raise InvalidInputError(
                    f"there are {actions.size} actions, but {states.size} states in {lengths.size} episodes need"
                    f" {states.size - lengths.size}: one fewer an episode than states."
                )
        terminated = as_flags(self.terminated, lengths.size)
        fields = {"states": states, "actions": actions, "lengths": lengths, "terminated": terminated}
        for name, array in fields.items():
            object.__setattr__(self, name, array)

    @classmethod
    def from_arrays(
        cls,
        states: Sequence[ArrayLike] | np.ndarray,
        actions: Sequence[ArrayLike] | np.ndarray | None = None,
        *,
        terminated: ArrayLike = False,
    ) -> "Demonstrations":
        """Demonstrations from one array of states an episode, and one of actions if there are any.

        Args:
            states: An array of n+1 whole numbers for each episode; lengths may differ.
            actions: An array of n whole numbers for each episode; None when only states were recorded.
            terminated: One answer for all episodes or one for each: is the last state never left again?

        Example:
            >>> Demonstrations.from_arrays([[3, 4], [4, 4, 5]], [[0], [1, 0]], terminated=True).num_transitions
            3
        """
        arrays = [as_whole_numbers(f"the array of states of episode {e}", array) for e, array in enumerate(states)]
        if not arrays:
            raise InvalidInputError("there are no episodes; give at least one, of at least one state.")
        lengths = np.array([array.size for array in arrays])
        moves = None
        if actions is not None:
            moves = [as_whole_numbers(f"the array of actions of episode {e}", array) for e, array in enumerate(actions)]
            if len(moves) != len(arrays):
                raise InvalidInputError(
                    f"there are states of {len(arrays)} episodes, but actions of {len(moves)};"
                    " give one array of actions for each episode, or none at all."
                )
            counts = np.array([array.size for array in moves])
            if ((lengths > 0) & (counts != lengths - 1)).any():
                e = int(np.argmax(counts != lengths - 1))
                raise InvalidInputError(
                    f"episode {e} has {lengths[e]} states and {counts[e]} actions, but {lengths[e]} states go with"
                    f" {lengths[e] - 1} actions; the state reached by the last action belongs to the episode."
                )
        flags = as_flags(terminated, lengths.size)
        return cls(np.concatenate(arrays), None if moves is None else np.concatenate(moves), lengths, flags)

    @classmethod
    def concatenate(cls, parts: Sequence["Demonstrations"]) -> "Demonstrations":
        """All episodes of the parts, in order; either all parts have actions or none."""
        if len(parts) == 0:
            raise InvalidInputError("there are no demonstrations to concatenate; give at least one set.")
        with_actions = [part.has_actions for part in parts]
        if any(with_actions) and not all(with_actions):
            raise InvalidInputError(
                f"set {with_actions.index(True)} of the demonstrations has actions and set {with_actions.index(False)}"
                " has none; drop them with .without_actions()."
            )
        actions = (
            np.concatenate([part.actions for part in parts if part.actions is not None]) if any(with_actions) else None
        )
        states, lengths, terminated = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("states", "lengths", "terminated")
        )
        return cls(states, actions, lengths, terminated)

    @property
    def has_actions(self) -> bool:
        """Whether actions were recorded."""
        return self.actions is not None

    @property
    def num_transitions(self) -> int:
        """The number of recorded moves, N - E."""
        return self.states.size - self.lengths.size

    @functools.cached_property
    def offsets(self) -> Int[np.ndarray, " B"]:
        """Where each episode begins among `states`, and the end."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @functools.cached_property
    def episodes(self) -> Int[np.ndarray, " N"]:
        """The episode that each state belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @functools.cached_property
    def steps(self) -> Int[np.ndarray, " N"]:
        """The step t at which each state was visited."""
        return np.arange(self.states.size) - np.repeat(self.offsets[:-1], self.lengths)

    @functools.cached_property
    def moves(self) -> Int[np.ndarray, " M"]:
        """Where among `states` each transition starts: its successor lies one place further."""
        return np.delete(np.arange(self.states.size), self.offsets[1:] - 1)

    @property
    def last_states(self) -> Int[np.ndarray, " E"]:
        """s_n of each episode."""
        return self.states[self.offsets[1:] - 1]

    def __len__(self) -> int:
        return self.lengths.size

    def __iter__(self) -> Iterator[Episode]:
        return (self._episode(e) for e in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> "Demonstrations": ...

    def __getitem__(self, index: int | np.integer | slice) -> "Episode | Demonstrations":
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"episode {index} of {len(self)}")  # So that Python's own protocols work.
        return self._episode(int(index) % len(self))

    def _episode(self, e: int) -> Episode:
        begin, end = int(self.offsets[e]), int(self.offsets[e + 1])
        actions = None if self.actions is None else self.actions[begin - e : end - e - 1]
        return Episode(self.states[begin:end], actions, bool(self.terminated[e]))

    def subset(self, indices: ArrayLike) -> "Demonstrations":
        """The episodes at these places, in this order; repetitions are allowed, as a bootstrap needs them.

        Example:
            >>> Demonstrations.from_arrays([[0, 1], [2], [3, 4]]).subset([2, 0, 2]).states.tolist()
            [3, 4, 0, 1, 3, 4]
        """
        chosen = np.asarray(indices)
        if chosen.dtype == bool and chosen.shape == self.lengths.shape:
            chosen = np.flatnonzero(chosen)
        chosen = as_whole_numbers("the list of episodes to keep", chosen)
        if chosen.size == 0:
            raise InvalidInputError(f"no episode of the {len(self)} is left; choose at least one.")
        if chosen.max() >= len(self):
            raise InvalidInputError(
                f"episode {int(chosen.max())} was asked for, but there are {len(self)}, numbered from 0."
            )
        lengths, starts = self.lengths[chosen], self.offsets[chosen]
        actions = None if self.actions is None else self.actions[ranges(starts - chosen, lengths - 1)]
        return Demonstrations(self.states[ranges(starts, lengths)], actions, lengths, self.terminated[chosen])

    def without_actions(self) -> "Demonstrations":
        """The same episodes as a learner sees them that observes states only."""
        return dataclasses.replace(self, actions=None)

    def __add__(self, other: "Demonstrations") -> "Demonstrations":
        if not isinstance(other, Demonstrations):
            return NotImplemented
        return Demonstrations.concatenate([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Demonstrations):
            return NotImplemented
        return self.has_actions == other.has_actions and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("states", "lengths", "terminated", *(["actions"] if self.has_actions else []))
        )

    def __hash__(self) -> int:
        return hash((self.states.tobytes(), self.lengths.tobytes(), self.terminated.tobytes()))

    def __repr__(self) -> str:
        kind = "with actions" if self.has_actions else "states only"
        return (
            f"Demonstrations({len(self)} episodes, {self.num_transitions} transitions, {kind},"
            f" {int(self.terminated.sum())} terminated)"
        )

    def describe(self) -> str:
        """What there is, in a sentence.

        Example:
            >>> print(Demonstrations.from_arrays([[0, 1, 2], [1]], terminated=[True, False]).describe())
            2 episodes of 1 to 3 states (median 2), 2 transitions, states only; 1 terminated, 1 truncated;
            3 different states, the largest 2.
        """
        ended, kind = int(self.terminated.sum()), "with actions" if self.has_actions else "states only"
        return (
            f"{len(self)} episodes of {self.lengths.min()} to {self.lengths.max()} states"
            f" (median {np.median(self.lengths):g}), {self.num_transitions} transitions, {kind};"
            f" {ended} terminated, {len(self) - ended} truncated;"
            f" {np.unique(self.states).size} different states, the largest {self.states.max()}."
        )

    def check_against(self, mdp: MDP) -> None:
        """Refuse states that the world does not have, and actions that it does not have or offer there."""
        from robustirl.demonstrations.checks import require_of_world  # That file is built on this one.

        require_of_world(self, mdp)

    def check_possible(self, *worlds: MDP) -> None:
        """Refuse a move that is impossible in every world given, and an end where no world given stays for ever.

        The learner's world may legitimately forbid what the expert did: give the expert's, or all that are in question.
        """
        from robustirl.demonstrations.checks import require_possible

        require_possible(self, *worlds)
