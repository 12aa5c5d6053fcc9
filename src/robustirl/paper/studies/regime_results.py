"""What the fits of a study say together: intervals over seeds, verdicts, a table, and a file of all outcomes."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.paper.finite.layouts import Interval, interval


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One fit: its α, its mean return in the learner's world (mean actions), and how often the goal was reached."""

    group: str
    name: str
    alpha: float
    seed: int
    mean_return: float
    goal_share: float
    feature_gap: float
    status: str
    expert_return: float
    copied_return: float


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


def findings(outcomes: Sequence[Outcome]) -> list[ConditionResult]:
    """One finding per condition and α, in the order of the outcomes.

    Example:
        >>> rows = [Outcome("g", "n", a, s, r, 1.0, 0.1, "budget", 0.0, 0.0) for a, s, r in
        ...         [(1.0, 0, -10.0), (1.0, 1, -11.0), (0.9, 0, -2.0), (0.9, 1, -2.1)]]
        >>> [(f.alpha, round(f.gain.mean, 2), f.verdict) for f in findings(rows)]
        [(1.0, 0.0, 'open'), (0.9, 8.45, 'pays')]
    """
    cells: dict[tuple[str, str, float], list[Outcome]] = {}
    for row in outcomes:
        cells.setdefault((row.group, row.name, row.alpha), []).append(row)
    found = []
    for (group, name, alpha), rows in cells.items():
        standard = cells.get((group, name, 1.0))
        if standard is None:
            raise InvalidInputError(f"{group}, {name} has no runs with α = 1 to compare with; add 1 to its alphas.")
        rows, standard = (sorted(part, key=lambda row: row.seed) for part in (rows, standard))
        ours, theirs = (interval([row.mean_return for row in part]) for part in (rows, standard))
        gain = interval([a.mean_return - b.mean_return for a, b in zip(rows, standard, strict=True)])
        verdict = "pays" if ours.low > theirs.high else "hurts" if ours.high < theirs.low else "open"
        goal = float(np.mean([row.goal_share for row in rows]))
        worst = min(row.mean_return for row in rows)
        found.append(ConditionResult(group, name, alpha, ours, gain, goal, worst, verdict))
    return found


def to_markdown(outcomes: Sequence[Outcome]) -> str:
    """A row per condition and α."""
    lines = [
        "| question | condition | expert at home | expert's policy here | α | mean return | gain over α = 1 |"
        " worst seed | at the goal | |",
        "|" + " --- |" * 10,
    ]
    endless = not any(row.goal_share for row in outcomes)  # A world without an end has no goal to reach.
    beside = {(row.group, row.name): row for row in outcomes}
    for f in findings(outcomes):
        row = beside[f.group, f.name]
        gain = "" if f.alpha == 1 else f"{f.gain.mean:+.1f} ± {f.gain.high - f.gain.mean:.1f}"
        lines.append(
            f"| {f.group} | {f.name} | {row.expert_return:.0f} | {row.copied_return:.0f} | {f.alpha:g} |"
            f" {f.returns.mean:.1f} ± {f.returns.high - f.returns.mean:.1f} | {gain} | {f.worst:.0f} |"
            f" {'' if endless else f'{100 * f.goal_share:.0f} %'} | {'' if f.alpha == 1 else f.verdict} |"
        )
    return "\n".join(lines) + "\n"


FIELDS = tuple(field.name for field in dataclasses.fields(Outcome))


def to_csv(outcomes: Sequence[Outcome]) -> str:
    """All outcomes, a line each."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(dataclasses.astuple(row) for row in outcomes)
    return buffer.getvalue()


def from_csv(path: Path) -> list[Outcome]:
    """The inverse of `to_csv`."""
    kinds = {field.name: field.type for field in dataclasses.fields(Outcome)}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        return [Outcome(**{name: kinds[name](value) for name, value in row.items()}) for row in rows]  # pyright: ignore
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidInputError(f"{path} is not a table of this study ({error}); give another --out.") from None
