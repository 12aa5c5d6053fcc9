r"""Worlds that come with what somebody did in them: Rust's buses, and mice in a labyrinth.

They are made by name as others are, but have a list of their own (`recorded_names`): the true reward is not known, so
that there is no expert to plan for and no return to measure. `demonstrations.recorded` reads their episodes.

**Buses.** When did Harold Zurcher replace the engine (Rust, Econometrica 55, 1987)? Every month the superintendent of
the Madison Metropolitan Bus Company decided for each bus whether to keep its engine (action 0) or to replace it (action
1). The state is the mileage since the last replacement, in bins of 5,000 miles. It grows by j = 0, 1, 2, ... bins a
month with probabilities p_j that differ between groups of buses; a replacement puts it back to zero first. His cost of
a month is .001 θ₁ x in bin x, or RC for a replacement: a reward with two features,

    R(x, keep) = -.001 θ₁ x,        R(x, replace) = -RC.

The groups are one decision-maker with one reward in several worlds. Odometer readings of 162 buses, December 1974 to
May 1985, come from the repository OpenSourceEconomics/zurcher-data (MIT; `data/buses-LICENSE.txt`).

**Labyrinth.** 238 bouts of 500 steps in a binary tree of corridors of depth 6 (Rosenberg et al., eLife 10, 2021). State
0 is the entrance; the children of node n are 2n+1 and 2n+2, and the 64 end nodes 63 to 126 are dead ends. One of them,
node 116, has a water port. Four actions lead from a node to its neighbors, and an action without a corridor does not
exist. At the entrance action 3 stays put: the mouse has gone home. The recordings were prepared in the repository
BRAINML-GT/SWIRL (MIT; `data/labyrinth-LICENSE.txt`).
"""

import dataclasses
import importlib.resources
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from robustirl._check import as_count, as_floats, as_list, short_repr
from robustirl._files import read_arrays
from robustirl.envs.registry import register
from robustirl.envs.tables import Outcomes, TabularEnvironment
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike

GROUPS = tuple(range(1, 9))
BINS, MILES, MOST_BINS = 90, 450_000, 10_000
KEEP, REPLACE = 0, 1
WATER, ENTRANCE, HOME, DEPTH = 116, 0, 3, 6


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedEnvironment(TabularEnvironment):
    """A table with recorded episodes; its reward is unknown.

    Args:
        episodes: The states and actions of each episode, n+1 and n of them.
    """

    # Episodes differ in length: their axes have no name.
    episodes: tuple[tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]], ...] = ()


def read_data(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file that the package brings along."""
    source = importlib.resources.files("robustirl.envs") / "data" / name
    return read_arrays(source.read_bytes())


class Bus(NamedTuple):
    """One bus as Rust prepared it: bins x_t and decisions d_t for every reading, and increments between them."""

    states: Int[np.ndarray, " n"]
    decisions: Int[np.ndarray, " n"]
    increments: Int[np.ndarray, " n-1"]


@dataclasses.dataclass(frozen=True, eq=False)
class Buses(RecordedEnvironment):
    """The world of a group of buses, and what was decided in it.

    `episodes` are the readings of each bus with the decisions between them. Rust's own sample, `choice_states` and
    `choice_actions`, leaves the first month of every bus out and counts the last one as a decision to keep.

    Attributes:
        increments: `[N]`, by how many bins each month's mileage grew. Rust numbers bins from 1, so that after a
            replacement the increment is the number of the bin: a bus that is still in its first bin counts as 1.
        choice_states, choice_actions, choice_groups: `[N]`, Rust's sample, with the place of the bus in the group.
    """

    increments: Int[np.ndarray, " N"] = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    choice_states: Int[np.ndarray, " N"] = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    choice_actions: Int[np.ndarray, " N"] = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    choice_groups: Int[np.ndarray, " N"] = dataclasses.field(default_factory=lambda: np.zeros(0, int))

    @property
    def increment_shares(self) -> Float[np.ndarray, " J"]:
        """How often mileage grew by 0, 1, 2, ... bins."""
        return np.bincount(self.increments) / self.increments.size

    @property
    def increment_kernels(self) -> Float[np.ndarray, "J S A S"]:
        """Return the kernel of the world in which mileage always grows by j bins, for every j.

        `irl.MixtureDynamics` mixes them.
        """
        size = len(self.outcomes.next_states)
        return np.stack([_bus_outcomes(np.eye(j + 1)[j], size).dense() for j in range(self.increment_shares.size)])


def bus_features(bins: int = BINS) -> Float[np.ndarray, "S 2 2"]:
    """Return features of the linear cost model: -.001 x for keeping in bin x, -1 for replacing.

    Example:
        >>> bus_features(3)[:, 0, 0].tolist(), bus_features(3)[0, 1].tolist()
        ([-0.0, -0.001, -0.002], [0.0, -1.0])
    """
    features = np.zeros((bins, 2, 2))
    features[:, KEEP, 0] = -0.001 * np.arange(bins)
    features[:, REPLACE, 1] = -1.0
    return features


def buses(group: int | Sequence[int] = 4, *, bins: int = BINS, discount: float = 0.9999) -> Buses:
    """Return the world of one or several of Rust's groups, with their readings.

    Args:
        group: From 1 to 8, or several of them: their increments are then pooled.
        bins: Into how many bins 450,000 miles are divided.
        discount: γ for a month.

    Example:
        >>> env = buses(4)
        >>> env.choice_states.size, int(env.choice_actions.sum()), env.increment_shares.round(4).tolist()
        (4292, 33, [0.3919, 0.5953, 0.0128])
    """
    single = isinstance(group, int | np.integer) and not isinstance(group, bool)
    wanted: list[Any] = [group] if single else as_list("the group", group, "one or several of 1 to 8")
    if not wanted or any(not isinstance(g, int | np.integer) or g not in GROUPS for g in wanted):
        raise InvalidInputError(f"the group is {short_repr(group)}, but one or several of 1 to 8 are needed.")
    bins = as_count("bins", bins, 2, MOST_BINS)
    data = read_data("buses.npz")
    odometers = np.split(data["odometers"], np.cumsum(data["lengths"].astype(int))[:-1])
    prepared = [
        prepare_bus(odometers[i], data["replacements"][i], bins=bins, name=f"bus {int(data['numbers'][i])}")
        for i in np.flatnonzero(np.isin(data["groups"], wanted))
    ]
    return buses_from(prepared, name="buses-" + "-".join(map(str, wanted)), bins=bins, discount=discount)


def buses_from(prepared: Sequence[Bus], *, name: str = "buses", bins: int = BINS, discount: float = 0.9999) -> Buses:
    """Return the world of prepared buses, with increments as often as they occurred."""
    increments = np.concatenate([bus.increments for bus in prepared])
    return Buses(
        name,
        outcomes=_bus_outcomes(np.bincount(increments) / increments.size, bins),
        rewards=None,
        initial=np.eye(bins)[0],
        discount=discount,
        episodes=tuple((bus.states, bus.decisions[:-1]) for bus in prepared),
        words={"feature_names": ("theta1", "RC"), "action_names": ("keep", "replace")},
        phi=bus_features(bins),
        increments=increments,
        choice_states=np.concatenate([bus.states[1:] for bus in prepared]),
        choice_actions=np.concatenate([bus.decisions[1:] for bus in prepared]),
        choice_groups=np.repeat(np.arange(len(prepared)), [bus.states.size - 1 for bus in prepared]),
    )


def prepare_bus(
    odometer: ArrayLike, replacements: ArrayLike, *, bins: int = BINS, miles: int = MILES, name: str = "the bus"
) -> Bus:
    """Return bins, decisions and increments of one bus, as Rust prepared them.

    Args:
        odometer: Monthly readings.
        replacements: The readings at which the engine was replaced, in order; zeros stand for none.
        bins: Into how many bins the miles are divided.
        miles: The largest mileage since a replacement.
        name: What errors call the bus.

    Example:
        >>> bus = prepare_bus([4000, 8000, 12000], [9000])
        >>> bus.states.tolist(), bus.decisions.tolist()
        ([0, 1, 0], [0, 1, 0])
        >>> prepare_bus([8000, 4000], [])
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the readings of the bus are [8000, 4000], but at least two numbers of miles
        are needed, from 0 and none smaller than the one before.
    """
    readings = as_floats(f"the readings of {name}", odometer)
    if readings.ndim != 1 or readings.size < 2 or not (np.diff(readings, prepend=0.0) >= 0).all():
        raise InvalidInputError(
            f"the readings of {name} are {short_repr(np.asarray(odometer).tolist())}, but at least two numbers of miles"
            " are needed, from 0 and none smaller than the one before."
        )
    at = np.array([r for r in np.asarray(replacements, dtype=np.int64) if r > 0], dtype=np.int64)
    count = (readings[:, None] >= at).sum(-1)
    if (np.diff(at) < 0).any() or np.diff(count).max() > 1:
        raise InvalidInputError(
            f"{name} had its engine replaced at {', '.join(map(str, at))} miles, but at most one replacement a month is"
            " needed, in the order of mileage."
        )
    since = readings.astype(np.int64) - np.concatenate([[0], at])[count]
    states = np.maximum(np.ceil(bins * since / miles).astype(int) - 1, 0)
    if states.max() >= bins:
        raise InvalidInputError(
            f"{name} has run {since.max()} miles since its last replacement, but the bins end at {miles}; give more"
            " miles and bins."
        )
    decisions = np.append(np.diff(count), 0)
    # Rust numbers bins from 1: after a replacement the increment is the number of the bin.
    return Bus(states, decisions, np.where(decisions[:-1] == 1, states[1:] + 1, np.diff(states)))


def _bus_outcomes(shares: Float[np.ndarray, " J"], bins: int) -> Outcomes:
    """Return where keeping and replacing lead; mileage stays in the last bin."""
    base = np.stack([np.arange(bins), np.zeros(bins, int)], -1)
    places = np.minimum(base[..., None] + np.arange(len(shares)), bins - 1)
    return Outcomes(places, np.broadcast_to(shares, (bins, 2, len(shares))).copy())


@dataclasses.dataclass(frozen=True, eq=False)
class Labyrinth(RecordedEnvironment):
    """The labyrinth, and the bouts that were recorded in it."""

    @property
    def positions(self) -> Float[np.ndarray, "S 2"]:
        """Return where to draw each node: the arms of an H, which halve in turns, as the maze is built.

        Example:
            >>> labyrinth().positions[[0, 1, 2]].tolist()
            [[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]
        """
        places = np.zeros((2 ** (DEPTH + 1) - 1, 2))
        for node in range(2**DEPTH - 1):
            depth = int(np.log2(node + 1))
            for child, sign in ((2 * node + 1, -1), (2 * node + 2, 1)):
                places[child] = places[node]
                places[child, depth % 2] += sign * 0.5 ** (depth // 2)
        return places


def labyrinth(*, discount: float = 0.95) -> Labyrinth:
    """Return the labyrinth with its 238 bouts.

    Args:
        discount: γ for a step.

    Example:
        >>> env = labyrinth()
        >>> len(env.episodes), env.mdp().num_states, env.episodes[0][0].size
        (238, 127, 500)
    """
    data = read_data("labyrinth.npz")
    states, actions = data["states"].astype(int), data["actions"].astype(int)
    successors = data["successors"].astype(int)
    exists = successors != np.arange(len(successors))[:, None]
    exists[ENTRANCE, HOME] = True
    starts = np.bincount(states[:, 0], minlength=len(successors))
    kinds = np.full(len(successors), "corridor", dtype=object)
    kinds[2**DEPTH - 1 :], kinds[WATER], kinds[ENTRANCE] = "dead end", "water", "entrance"
    return Labyrinth(
        "labyrinth",
        outcomes=Outcomes(successors[..., None], exists[..., None].astype(float)),
        rewards=None,
        initial=starts / starts.sum(),
        discount=discount,
        words={"classes": tuple(kinds.tolist())},
        # The last action's successor was not recorded.
        episodes=tuple((bout, moves[:-1]) for bout, moves in zip(states, actions, strict=True)),
    )


register("buses", buses, recorded=True)
register("labyrinth", labyrinth, recorded=True)
