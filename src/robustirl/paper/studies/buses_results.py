"""The table of `robustirl study buses`, and what it says in the mean."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Z = 1.959964  # Of a 95 % interval.
OTHERS = "others"  # The source of what was learned from all groups but the target.


class Row(NamedTuple):
    """One way from a group to another, and how it does there.

    Attributes:
        source, target: The groups; the same for the group's own cost; the source may be `OTHERS`.
        way: How the policy was found.
        alpha: The α it was found with.
        fitness: Mean log-probability of the target's choices,
        fitness_error: and its standard error, buses being independent.
        gain: How much that is above standard by likelihood from the same source,
        gain_error: and its standard error.
        replacements: How many of the recorded months the policy would replace in,
        miles: and the mean mileage there.
        cost: Of a month, by the cost estimated on the target,
        cost_error: and its standard error, from that of the cost.
        excess: What the month costs more than under the best policy for that cost, both less their entropy,
        excess_error: and its standard error.
    """

    source: int | str
    target: int
    way: str
    alpha: float
    fitness: float
    fitness_error: float
    gain: float
    gain_error: float
    replacements: float
    miles: float
    cost: float
    cost_error: float
    excess: float
    excess_error: float


HEADINGS = (
    "from",
    "to",
    "way",
    "α",
    "log-probability of a choice",
    "gain over standard, likelihood",
    "replacements",
    "at miles",
    "cost of a month (95 %)",
    "excess (95 %)",
)


def mean_and_error(values: Float[np.ndarray, " N"], groups: Int[np.ndarray, " N"]) -> tuple[float, float]:
    """Return a mean and its standard error if values of one group depend on each other.

    Example:
        >>> mean_and_error(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))  # √(2² + 2²) / 4
        (2.0, 0.7071067811865476)
        >>> mean_and_error(np.array([-np.inf, 0.0]), np.array([0, 1]))
        (-inf, inf)
    """
    mean = float(values.mean())
    if not np.isfinite(mean):
        return mean, float("inf")
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], values - mean)
    return mean, float(np.sqrt((sums**2).sum()) / values.size)


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table.

    Example:
        >>> cells(Row(4, 3, "standard", 1.0, -0.04, 0.002, 0.001, 0.0005, 27.0, 2e5, 0.25, 0.05, 0.001, 0.0005))[4:7]
        ('-0.04000 ± 0.00392', '+0.00100 ± 0.00098', '27.0')
        >>> cells(Row(4, 3, "standard", 1.0, -0.04, 0.002, 0.001, 0.0005, 27.0, 2e5, 0.25, 0.05, 0.001, 0.0005))[7:]
        ('200,000', '0.250 (0.152 to 0.348)', '0.0010 (0.0000 to 0.0020)')
        >>> cells(Row(4, 1, "standard", 1.0, -0.04, 0.002, np.nan, np.nan, 27.0, *[np.nan] * 5))[5:]
        ('–', '27.0', '–', '–', '–')
    """
    blank = "–"
    # It is never negative, but for rounding.
    excess, width = row.excess if row.excess > 0 else 0.0, Z * row.excess_error
    return (
        str(row.source),
        str(row.target),
        row.way,
        f"{row.alpha:g}",
        f"{row.fitness:.5f} ± {Z * row.fitness_error:.5f}" if np.isfinite(row.fitness) else "-∞",
        blank if np.isnan(row.gain) else f"{row.gain:+.5f} ± {Z * row.gain_error:.5f}",
        f"{row.replacements:.1f}",
        blank if np.isnan(row.miles) else f"{row.miles:,.0f}",
        blank
        if np.isnan(row.cost)
        else f"{row.cost:.3f} ({row.cost - Z * row.cost_error:.3f} to {row.cost + Z * row.cost_error:.3f})",
        blank if np.isnan(row.excess) else f"{excess:.4f} ({max(0.0, excess - width):.4f} to {excess + width:.4f})",
    )


def summarize(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows of means over pairs whose source replaced engines.

    Targets with a cost and targets without one have separate columns.
    """
    ways = dict.fromkeys(row.way for row in rows if row.source != row.target)
    judged = {row.target for row in rows if row.source == row.target}
    table = []
    for way in ways:
        here = [row for row in rows if row.way == way and row.source in {*judged, OTHERS}]
        with_cost = [row for row in here if row.target in judged]
        fitness, excess = ([getattr(row, name) for row in with_cost] for name in ("fitness", "excess"))
        others = [row.fitness for row in here if row.target not in judged]
        table.append(
            (
                way,
                f"{np.mean(fitness):.5f}" if fitness else "–",
                f"{np.mean(excess):.4f}" if excess else "–",
                f"{np.mean(others):.5f}" if others else "–",
                str(sum(row.alpha < 1 for row in here)),
            )
        )
    headings = ("way", "log-probability, groups with replacements", "excess there", "log-probability, others", "α < 1")
    return headings, table
