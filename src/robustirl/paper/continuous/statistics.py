"""What runs of several seeds say together: means, medians and interquartile means with 95 % bootstrap intervals.

A seed is a sample. One run in many never arrives and loses thousands, so means say little alone; the interquartile
mean is that of the seeds without the lower and the upper quarter (Agarwal et al., 2021).
"""

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.paper.continuous.specs import ContinuousRecord
from robustirl.paper.statistics import CONFIDENCE, interquartile_mean

RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A statistic over seeds and its 95 % interval, which a single seed leaves infinite."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class CellStatistics:
    """The runs of all seeds of one cell.

    Attributes:
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α.
        seeds: How many.
        goal: The mean over seeds of the share of episodes that reach the goal.
        mean: The mean return.
        median: The median over seeds of the mean return.
        interquartile: Its interquartile mean over seeds.
    """

    learner_noise: float
    expert_noise: float
    alpha: float
    seeds: int
    goal: Estimate
    mean: Estimate
    median: Estimate
    interquartile: Estimate


STATISTICS = tuple(field.name for field in dataclasses.fields(CellStatistics) if field.type is Estimate)


def bootstrap(values: Sequence[float], statistic: Callable[..., np.ndarray] = np.mean) -> Estimate:
    """Return a statistic of a sample with its percentile bootstrap interval.

    The same sample gives the same interval.

    Args:
        values: The sample, one value a seed.
        statistic: A function of an array and its `axis`, such as `np.mean`.

    Example:
        >>> found = bootstrap([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> found.value, found.low < 2.2 < 3.8 < found.high
        (3.0, True)
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or not sample.size:
        raise InvalidInputError(
            f"the sample has the shape {sample.shape}, but one axis with at least one value is needed."
        )
    value = float(statistic(sample, axis=-1))
    if len(sample) < 2:
        return Estimate(value, -np.inf, np.inf)
    from scipy import stats  # Here, since it takes a second to import.

    found = stats.bootstrap(
        (sample,),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return Estimate(value, float(found.confidence_interval.low), float(found.confidence_interval.high))


def cell_statistics(records: Sequence[ContinuousRecord]) -> list[CellStatistics]:
    """Return the statistics of every cell (ε_L, ε_E, α), in the order of the records."""
    cells: dict[tuple[float, float, float], list[ContinuousRecord]] = {}
    for r in records:
        cells.setdefault((r.spec.learner_noise, r.spec.expert_noise, r.spec.alpha), []).append(r)
    found = []
    for key, own in cells.items():
        returns = [r.mean_return for r in own]
        found.append(
            CellStatistics(
                *key,
                len(own),
                goal=bootstrap([r.goal_share for r in own]),
                mean=bootstrap(returns),
                median=bootstrap(returns, np.median),
                interquartile=bootstrap(returns, interquartile_mean),
            )
        )
    return found


def best_robust_alpha(cells: Sequence[CellStatistics]) -> float | None:
    """Return the α below one with the largest interquartile mean, on average over these cells."""
    alphas = sorted({cell.alpha for cell in cells if cell.alpha < 1}, reverse=True)
    if not alphas:
        return None
    return max(alphas, key=lambda a: np.mean([cell.interquartile.value for cell in cells if cell.alpha == a]))


def statistics_csv(cells: Sequence[CellStatistics]) -> str:
    """Return the statistics as a table, one row a cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    ends = ("", "_low", "_high")
    writer.writerow(
        ("learner_noise", "expert_noise", "alpha", "seeds", *(name + end for name in STATISTICS for end in ends))
    )
    for cell in cells:
        estimates = [getattr(cell, name) for name in STATISTICS]
        numbers = [repr(number) for item in estimates for number in (item.value, item.low, item.high)]
        writer.writerow((cell.learner_noise, cell.expert_noise, cell.alpha, cell.seeds, *numbers))
    return buffer.getvalue()
