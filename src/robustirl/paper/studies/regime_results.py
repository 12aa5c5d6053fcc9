"""The fits of the study of regimes as specs and records, and what they say together: intervals, verdicts, a table."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.paper.finite.layouts import Interval, interval
from robustirl.paper.studies.regime_conditions import find_condition
from robustirl.sweeps import Spec


@dataclasses.dataclass(frozen=True)
class RegimeSpec(Spec):
    """One fit of the study.

    Attributes:
        group: The question it belongs to, a key of `GROUPS`.
        condition: The name of the condition in that group.
        alpha: α.
        seed: Which demonstrations and which first policies, counted from 0.
        seeds: How many seeds the study has.
    """

    group: str
    condition: str
    alpha: float
    seed: int
    seeds: int

    def check(self) -> None:
        """Refuse a condition that is not there."""
        find_condition(self.group, self.condition)


@dataclasses.dataclass(frozen=True)
class RegimeRecord:
    """What a fit came to.

    Attributes:
        spec: What was run.
        mean_return: The mean return in the learner's world, mean actions.
        goal_share: The share of episodes that reached the goal.
        feature_gap: The feature gap of the fit.
        expert_return: The expert's return in its own world.
        copied_return: The return of the expert's policy, unchanged, in the learner's world.
        verdict: How the fit ended.
        seconds: Time of the run.
    """

    spec: RegimeSpec
    mean_return: float
    goal_share: float
    feature_gap: float
    expert_return: float
    copied_return: float
    verdict: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class ConditionResult:
    """What the seeds of one condition and one α say together.

    Attributes:
        returns: Mean return and its 95 % interval over seeds.
        gain: The difference to α = 1 over the same seeds, with its interval.
        goal_share: The share of episodes that reached the goal.
        worst: The return of the worst seed.
        verdict: `pays` or `hurts` where the intervals of α and of one do not overlap; otherwise `open`.
    """

    group: str
    name: str
    alpha: float
    returns: Interval
    gain: Interval
    goal_share: float
    worst: float
    verdict: str


def condition_results(records: Sequence[RegimeRecord]) -> list[ConditionResult]:
    """Return one result per condition and α, in the order of the records.

    Example:
        >>> rows = [RegimeRecord(RegimeSpec("g", "n", a, s, 2), r, 1.0, 0.1, 0.0, 0.0, "budget", 0.0) for a, s, r in
        ...         [(1.0, 0, -10.0), (1.0, 1, -11.0), (0.9, 0, -2.0), (0.9, 1, -2.1)]]
        >>> [(f.alpha, round(f.gain.mean, 2), f.verdict) for f in condition_results(rows)]
        [(1.0, 0.0, 'open'), (0.9, 8.45, 'pays')]
    """
    cells: dict[tuple[str, str, float], list[RegimeRecord]] = {}
    for record in records:
        cells.setdefault((record.spec.group, record.spec.condition, record.spec.alpha), []).append(record)
    found = []
    for (group, name, alpha), own in cells.items():
        standard = cells.get((group, name, 1.0))
        if standard is None:
            raise InvalidInputError(f"{group}, {name} has no runs with α = 1 to compare with; add 1 to its alphas.")
        rows, beside = (sorted(part, key=lambda record: record.spec.seed) for part in (own, standard))
        ours, theirs = (interval([row.mean_return for row in part]) for part in (rows, beside))
        gain = interval([a.mean_return - b.mean_return for a, b in zip(rows, beside, strict=True)])
        verdict = "pays" if ours.low > theirs.high else "hurts" if ours.high < theirs.low else "open"
        goal = float(np.mean([row.goal_share for row in rows]))
        worst = min(row.mean_return for row in rows)
        found.append(ConditionResult(group, name, alpha, ours, gain, goal, worst, verdict))
    return found


COLUMNS = (
    "question",
    "condition",
    "expert in its world",
    "expert's policy here",
    "α",
    "mean return",
    "gain over α = 1",
    "worst seed",
    "at the goal",
    "",
)


def rows_of(records: Sequence[RegimeRecord]) -> list[tuple[str, ...]]:
    """Return the entries under `COLUMNS`, a row per condition and α."""
    endless = not any(record.goal_share for record in records)  # A world without an end has no goal to reach.
    beside = {(record.spec.group, record.spec.condition): record for record in records}
    rows = []
    for f in condition_results(records):
        record, robust = beside[f.group, f.name], f.alpha != 1
        rows.append(
            (
                f.group,
                f.name,
                f"{record.expert_return:.0f}",
                f"{record.copied_return:.0f}",
                f"{f.alpha:g}",
                f"{f.returns.mean:.1f} ± {f.returns.high - f.returns.mean:.1f}",
                f"{f.gain.mean:+.1f} ± {f.gain.high - f.gain.mean:.1f}" if robust else "",
                f"{f.worst:.0f}",
                "" if endless else f"{100 * f.goal_share:.0f} %",
                f.verdict if robust else "",
            )
        )
    return rows
