"""How sure it is that transfer differs from pretending: both are learned again from resampled buses.

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from robustirl.demonstrations import Choices
from robustirl.irl import fit
from robustirl.paper.studies.buses_groups import Group, cost_model, log_probabilities, read_group
from robustirl.planning import solve
from robustirl.rewards import LinearReward
from robustirl.sweeps import Kind, RunResult, Spec, register

HEADINGS = ("from", "to", "gain of transfer over standard, likelihood", "95 % interval", "resamples")


@dataclasses.dataclass(frozen=True)
class ResampleSpec(Spec):
    """One draw of the buses of two groups.

    Attributes:
        source: The group whose choices are learned from.
        target: The group to act in.
        discount: That of a month.
        resample: Which draw, counted from 0.
    """

    source: int
    target: int
    discount: float
    resample: int


@dataclasses.dataclass(frozen=True)
class ResampleRecord:
    """The gain of transfer over standard on one draw, in mean log-probability of a choice."""

    spec: ResampleSpec
    gain: float
    seconds: float


def resample_specs(groups: Sequence[Group], discount: float, resamples: int) -> list[ResampleSpec]:
    """Return the runs of all ordered pairs of groups with replacements."""
    replaced = [group.number for group in groups if group.choices.actions.any()]
    return [
        ResampleSpec(source, target, discount, resample)
        for source in replaced
        for target in replaced
        if source != target
        for resample in range(resamples)
    ]


def take_buses(choices: Choices, buses: Int[np.ndarray, " B"]) -> Int[np.ndarray, " n"]:
    """Return the rows of these buses, once for every time that a bus occurs.

    Example:
        >>> take_buses(Choices([5, 6, 7], [0, 0, 1], [0, 0, 1]), np.array([1, 0, 1])).tolist()
        [2, 0, 1, 2]
    """
    return np.concatenate([np.flatnonzero(choices.groups == bus) for bus in buses])


def draw_buses(
    source: Group, target: Group, count: int, seed: int = 0
) -> list[tuple[Int[np.ndarray, " B"], Int[np.ndarray, " C"]]]:
    """Return draws of the buses of two groups, with replacement.

    A larger count begins with the same draws.
    """
    rng = np.random.default_rng(seed)
    theirs, ours = (np.unique(group.choices.groups) for group in (source, target))
    return [(rng.choice(theirs, theirs.size), rng.choice(ours, ours.size)) for _ in range(count)]


def resampled_gains(
    source: Group, target: Group, costs: LinearReward, resamples: Sequence[int]
) -> Float[np.ndarray, " R"]:
    """Return the gain of transfer over standard in mean log-probability on draws of the buses.

    The buses of both groups are drawn.
    """
    drawn = draw_buses(source, target, max(resamples) + 1)
    gains = []
    for theirs, ours in (drawn[resample] for resample in resamples):
        part = take_buses(source.choices, theirs)
        rows = Choices(source.choices.states[part], source.choices.actions[part])
        standard = fit(target.world, rows, alpha=1.0, reward=costs, objective="likelihood").player
        cost = fit(source.world, rows, alpha=1.0, reward=costs, objective="likelihood").reward
        transfer = solve(target.world, cost).player
        judged = take_buses(target.choices, ours)
        one, two = (log_probabilities(np.asarray(policy), target.choices)[judged] for policy in (transfer, standard))
        gains.append((one - two).mean())
    return np.array(gains)


def resampled_rows(records: Sequence[ResampleRecord]) -> list[tuple[str, ...]]:
    """Return the table of all pairs: mean gain, its 95 % interval, and the number of draws.

    Example:
        >>> resampled_rows([ResampleRecord(ResampleSpec(3, 4, 0.9, i), i / 100, 0.0) for i in range(3)])
        [('3', '4', '+0.01000', '+0.00050 to +0.01950', '3')]
    """
    found: dict[tuple[int, int], list[float]] = {}
    for record in records:
        found.setdefault((record.spec.source, record.spec.target), []).append(record.gain)
    rows = []
    for (source, target), gains in found.items():
        low, high = np.quantile(gains, [0.025, 0.975])
        shown = (f"{np.mean(gains):+.5f}", f"{low:+.5f} to {high:+.5f}", str(len(gains)))
        rows.append((str(source), str(target), *shown))
    return rows


class ResampleContext:
    """Learn again from resampled buses; groups are kept."""

    def __init__(self, discount: float):
        self._costs = cost_model()
        self._group = functools.cache(lambda number: read_group(number, discount, discount))

    def results(self, specs: Sequence[ResampleSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Return the gains on some draws of one pair of groups."""
        source, target = self._group(specs[0].source), self._group(specs[0].target)
        gains = resampled_gains(source, target, self._costs, [spec.resample for spec in specs])
        return [RunResult(ResampleRecord(spec, float(gain), 0.0), {}) for spec, gain in zip(specs, gains, strict=True)]


RESAMPLED = register(
    Kind(
        "buses-resampled",
        ResampleSpec,
        ResampleRecord,
        table="resamples",
        activity="resamples",
        cpu_batch=10,
        gpu_batch=10,
        min_batches_for_pool=8,
        warm_up=False,
        batch_key=lambda spec: (spec.source, spec.target, spec.discount),
        program_key=lambda _: None,
        context_key=lambda spec: spec.discount,
        make_context=lambda spec, _: ResampleContext(spec.discount),
    )
)
