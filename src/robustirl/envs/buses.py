r"""Rust's buses: when did Harold Zurcher replace the engine? (Rust, Econometrica 55, 1987)

Every month the superintendent of the Madison Metropolitan Bus Company decided for each bus whether to keep its engine
(action 0) or to replace it (action 1). The state is the mileage since the last replacement, in bins of 5,000 miles. It
grows by j = 0, 1, 2, ... bins a month with probabilities p_j that differ between groups of buses; a replacement puts it
back to zero first. His cost of a month is .001 θ₁ x in bin x, or RC for a replacement: a reward with two features,

    R(x, keep) = -.001 θ₁ x,        R(x, replace) = -RC.

The groups are one decision-maker with one reward in several worlds. Odometer readings of 162 buses, December 1974 to
May 1985, come from the repository OpenSourceEconomics/zurcher-data (MIT; `data/buses-LICENSE.txt`).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import short_repr
from robustirl.envs.recorded import RecordedEnvironment, read_data
from robustirl.envs.registry import register_recorded
from robustirl.envs.tabular import Outcomes
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_list
from robustirl.types import ArrayLike

GROUPS = tuple(range(1, 9))
BINS, MILES = 90, 450_000
MOST_BINS = 10_000  # Which is 45 miles a bin.
DISCOUNT = 0.9999
KEEP, REPLACE = 0, 1


class Bus(NamedTuple):
    """One bus as Rust prepared it: the bins x_t and decisions d_t for every reading.

    The increments are those between the readings.
    """

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
        return np.stack([_outcomes(np.eye(j + 1)[j], size).dense() for j in range(self.increment_shares.size)])

    @property
    def features(self) -> np.ndarray:
        return bus_features(len(self.outcomes.next_states))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("theta1", "RC")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("keep", "replace")


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


def buses(group: int | Sequence[int] = 4, *, bins: int = BINS, discount: float = DISCOUNT) -> Buses:
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
    ends = np.cumsum(data["lengths"].astype(int))
    rows = [i for i in range(len(data["groups"])) if int(data["groups"][i]) in wanted]
    prepared = [
        prepare_bus(
            data["odometers"][ends[i] - int(data["lengths"][i]) : ends[i]],
            data["replacements"][i],
            bins=bins,
            name=f"bus {int(data['numbers'][i])}",
        )
        for i in rows
    ]
    label = "buses-" + "-".join(str(int(g)) for g in wanted)
    return buses_from(prepared, name=label, bins=bins, discount=discount)


def buses_from(prepared: Sequence[Bus], *, name: str = "buses", bins: int = BINS, discount: float = DISCOUNT) -> Buses:
    """Return the world of prepared buses, with increments as often as they occurred."""
    increments = np.concatenate([bus.increments for bus in prepared])
    shares = np.bincount(increments) / increments.size
    return Buses(
        name,
        outcomes=_outcomes(shares, bins),
        rewards=np.zeros((bins, 2)),
        initial=np.eye(bins)[0],
        discount=discount,
        episodes=tuple((bus.states, bus.decisions[:-1]) for bus in prepared),
        increments=increments,
        choice_states=np.concatenate([bus.states[1:] for bus in prepared]),
        choice_actions=np.concatenate([bus.decisions[1:] for bus in prepared]),
        choice_groups=np.repeat(np.arange(len(prepared)), [bus.states.size - 1 for bus in prepared]),
    )


def prepare_bus(
    odometer: ArrayLike,
    replacements: ArrayLike,
    *,
    bins: int = BINS,
    miles: int = MILES,
    name: str = "the bus",
) -> Bus:
    """Return bins, decisions and increments of one bus, as Rust prepared them.

    Args:
        odometer: Monthly readings.
        replacements: The readings at which the engine was replaced; zeros stand for none.
        bins: Into how many bins the miles are divided.
        miles: The largest mileage since a replacement.
        name: What errors call the bus.

    Example:
        >>> bus = prepare_bus([4000, 8000, 12000], [9000])
        >>> bus.states.tolist(), bus.decisions.tolist()
        ([0, 1, 0], [0, 1, 0])
        >>> prepare_bus([8000, 4000], [])
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the bus shows 4000 miles in month 1 after 8000 in the month before; an
            odometer does not run backwards, so correct the row.
    """
    given = np.asarray(odometer)
    if given.ndim != 1 or given.size < 2 or given.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"{name} has {given.size} readings, but at least two are needed, each a number of miles."
        )
    strange = ~np.isfinite(given) | (given < 0)
    if strange.any():
        month = int(np.argmax(strange))
        raise InvalidInputError(
            f"{name} shows {given[month]} miles in month {month}, but a number of at least 0 is needed; correct the"
            " row, or leave the bus out."
        )
    readings = given.astype(np.int64)
    backwards = np.diff(readings) < 0
    if backwards.any():
        month = int(np.argmax(backwards)) + 1
        raise InvalidInputError(
            f"{name} shows {readings[month]} miles in month {month} after {readings[month - 1]} in the month before; an"
            " odometer does not run backwards, so correct the row."
        )
    at = np.array([r for r in np.asarray(replacements, dtype=np.int64) if r > 0], dtype=np.int64)
    if (np.diff(at) < 0).any():
        raise InvalidInputError(
            f"{name} had its engine replaced at {', '.join(map(str, at))} miles, but the order of mileage is needed;"
            " correct the row."
        )
    count = (readings[:, None] >= at).sum(-1)
    since = readings - np.concatenate([[0], at])[count]
    states = np.maximum(np.ceil(bins * since / miles).astype(int) - 1, 0)
    if states.max() >= bins:
        month = int(np.argmax(states >= bins))
        raise InvalidInputError(
            f"{name} has run {since[month]} miles since its last replacement in month {month}, but the bins end at"
            f" {miles}; correct the row, or give more bins."
        )
    decisions = np.append(np.diff(count), 0)
    if decisions.max(initial=0) > 1:
        raise InvalidInputError(f"{name} has two replacements within one month, which one decision cannot explain.")
    # Rust numbers bins from 1: after a replacement the increment is the number of the bin.
    increments = np.where(decisions[:-1] == 1, states[1:] + 1, np.diff(states))
    return Bus(states, decisions, increments)


def _outcomes(shares: Float[np.ndarray, " J"], bins: int) -> Outcomes:
    """Return where keeping and replacing lead; mileage stays in the last bin."""
    base = np.stack([np.arange(bins), np.zeros(bins, int)], -1)
    steps = np.arange(len(shares))
    return Outcomes(
        np.minimum(base[..., None] + steps, bins - 1), np.broadcast_to(shares, (bins, 2, len(shares))).copy()
    )


register_recorded("buses", buses)
