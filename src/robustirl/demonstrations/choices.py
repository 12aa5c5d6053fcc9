"""Hold choices: which action was taken in which state, without what came of it."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from robustirl.demonstrations.episodes import Demonstrations, as_whole_numbers, require_demonstrations
from robustirl.demonstrations.worlds import all_choices
from robustirl.envs.recorded import Buses, RecordedEnvironment
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import as_world
from robustirl.types import ArrayLike


@dataclasses.dataclass(frozen=True, eq=False)
class Choices:
    """Hold recorded choices, a row each: what a likelihood is about.

    Demonstrations with actions are choices, too; `Choices` is for data in which what follows a choice was not recorded,
    or was recorded elsewhere.

    Args:
        states: `[N]`, where a choice was made.
        actions: `[N]`, what was chosen.
        groups: `[N]`, who or which episode it belongs to; standard errors allow for dependence within a group. If
            omitted, all choices are independent.

    Example:
        >>> Choices([0, 0, 1], [1, 1, 0]).counts(MDP([[[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2], discount=0.9)).tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """

    states: Int[np.ndarray, " N"]
    actions: Int[np.ndarray, " N"]
    groups: Int[np.ndarray, " N"]

    def __init__(self, states: ArrayLike, actions: ArrayLike, groups: ArrayLike | None = None):
        places = as_whole_numbers("the array of states", states)
        taken = as_whole_numbers("the array of actions", actions)
        owners = np.arange(places.size) if groups is None else as_whole_numbers("the array of groups", groups)
        if not places.size == taken.size == owners.size > 0:
            raise InvalidInputError(
                f"there are {places.size} states, {taken.size} actions and {owners.size} groups, but one of each is"
                " needed for every choice, and at least one choice."
            )
        for name, value in (("states", places), ("actions", taken), ("groups", owners)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, demonstrations: Demonstrations) -> "Choices":
        """Return the choices in demonstrations, final actions included; each episode is a group.

        Example:
            >>> walks = Demonstrations.from_arrays([[0, 1], [0, 0, 1]], [[1, 0], [0, 1]])
            >>> choices = Choices.of(walks)
            >>> choices.groups.tolist(), choices.actions.tolist()
            ([0, 1, 1, 0], [1, 0, 1, 0])
        """
        if require_demonstrations(demonstrations).actions is None:
            raise InvalidInputError(
                "the demonstrations have no actions, so that there are no choices to be made likely; record actions,"
                " or use objective='occupancy'."
            )
        places, taken = all_choices(demonstrations)
        return cls(demonstrations.states[places], taken, demonstrations.episodes[places])

    def __len__(self) -> int:
        return self.states.size

    def __repr__(self) -> str:
        return f"Choices({len(self)} choices in {np.unique(self.groups).size} groups)"

    def check_against(self, mdp: MDP) -> None:
        """Refuse a choice that the world does not have or does not offer there, with its row."""
        mask = np.asarray(as_world(mdp).mask)
        for name, values, count in (("state", self.states, mask.shape[0]), ("action", self.actions, mask.shape[1])):
            if (values >= count).any():
                row = int(np.argmax(values >= count))
                raise InvalidInputError(
                    f"row {row} of the choices has {name} {values[row]}, but the world has {count} {name}s, numbered"
                    " from 0; correct the row, or give the world it belongs to."
                )
        missing = ~mask[self.states, self.actions]
        if missing.any():
            row = int(np.argmax(missing))
            raise InvalidInputError(
                f"row {row} of the choices takes action {self.actions[row]} in state {self.states[row]}, which the"
                " world does not offer there; correct the row or the mask."
            )

    def counts(self, mdp: MDP) -> Float[np.ndarray, "S A"]:
        """Return how often each action was taken in each state of a world."""
        self.check_against(mdp)
        size, width = mdp.num_states, mdp.num_actions
        result = np.bincount(self.states * width + self.actions, minlength=size * width)
        return result.reshape(size, width).astype(np.float64)


def as_choices(given: object) -> Choices:
    """Return choices as they are, or those in demonstrations."""
    if isinstance(given, Choices):
        return given
    if isinstance(given, Demonstrations):
        return Choices.of(given)
    raise InvalidInputError(
        f"a likelihood needs recorded choices, but {type(given).__name__} was given; give Demonstrations with actions,"
        " or Choices(states, actions)."
    )


def pair_occupancy(
    demonstrations: Demonstrations, mdp: MDP, occupancy: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S A"]:
    """Return ρ(s,a) = ρ(s) n(a|s) with the recorded frequencies of actions.

    Where none was recorded, all available actions have the same share.

    Example:
        >>> world = MDP([[[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2], discount=0.9)
        >>> walks = Demonstrations.from_arrays([[0, 0, 0, 0, 1]], [[1, 0, 0, 0]])
        >>> pair_occupancy(walks, world, np.array([0.8, 0.2])).round(3).tolist()
        [[0.6, 0.2], [0.1, 0.1]]
    """
    if require_demonstrations(demonstrations).actions is None:
        raise InvalidInputError(
            "the reward is one of states and actions, but the demonstrations have no actions; record them, or learn a"
            " reward of states."
        )
    counts = Choices.of(demonstrations).counts(mdp)
    totals, mask = counts.sum(-1, keepdims=True), np.asarray(mdp.mask)
    shares = np.where(totals > 0, counts / np.maximum(totals, 1), mask / mask.sum(-1, keepdims=True))
    return np.asarray(occupancy)[:, None] * shares


def recorded(environment: RecordedEnvironment) -> Demonstrations:
    """Return the episodes of an environment that comes with data; the end of recording cut all of them off.

    Example:
        >>> from robustirl import envs
        >>> recorded(envs.make("labyrinth"))
        Demonstrations(238 episodes, 118762 transitions, with actions, 0 terminated)
    """
    if not isinstance(environment, RecordedEnvironment):
        raise InvalidInputError(
            f"{getattr(environment, 'name', environment)!r} comes without recorded episodes; sample some"
            " (`sample_demonstrations`), or load a file."
        )
    states, actions = zip(*environment.episodes, strict=True)
    return Demonstrations.from_arrays(states, actions, terminated=False)


def recorded_choices(environment: RecordedEnvironment) -> Choices:
    """Return the choices of an environment that comes with data; of buses, Rust's own sample.

    Example:
        >>> from robustirl import envs
        >>> recorded_choices(envs.make("buses", group=4))
        Choices(4292 choices in 37 groups)
    """
    if isinstance(environment, Buses):
        return Choices(environment.choice_states, environment.choice_actions, environment.choice_groups)
    return Choices.of(recorded(environment))
