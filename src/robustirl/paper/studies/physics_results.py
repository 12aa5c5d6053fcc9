"""Statistics of the study of physics: interquartile means with bootstrap intervals (Agarwal et al., 2021)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from robustirl.paper.studies.physics_runs import EXPERT, UNTRAINED, PhysicsRecord

COLUMNS = (
    "world",
    "parameter",
    "factor",
    "method",
    "seeds",
    "learner's world",
    "95 %",
    "worst",
    "expert's world",
    "95 %",
    "worst",
    "P(better than α = 1)",
)
BASE = "alpha=1"
JUDGED = ("learner_return", "expert_return")
Cell = tuple[str, str, float]
"""A world, a parameter and a factor."""


def interquartile_mean(values: Sequence[float] | np.ndarray) -> float:
    """Return the mean of the middle half.

    Example:
        >>> interquartile_mean([0.0, 1.0, 3.0, 100.0])
        2.0
    """
    return float(stats.trim_mean(np.asarray(values, float), 0.25))


def interval(values: np.ndarray, draws: int = 2000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean of some seeds.

    Example:
        >>> interval(np.array([2.0, 2.0, 2.0]))
        (2.0, 2.0)
    """
    rng = np.random.default_rng(0)
    chosen = values[rng.integers(0, len(values), (draws, len(values)))]
    means = stats.trim_mean(chosen, 0.25, axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def probability_of_improvement(first: np.ndarray, second: np.ndarray) -> float:
    """Return the share of pairs of seeds in which the first is larger; equal ones count half.

    Example:
        >>> probability_of_improvement(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        0.875
    """
    differences = first[:, None] - second[None, :]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def normalized(records: Iterable[PhysicsRecord]) -> dict[Cell, dict[str, dict[str, np.ndarray]]]:
    """Return by world, parameter and factor, then by method, the normalized returns of all seeds in both worlds."""
    raw: dict[Cell, dict[str, list[PhysicsRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        spec = record.spec
        raw[spec.world, spec.parameter, spec.factor][spec.method].append(record)
    usual = {}  # The expert of the expert's world is that of factor 1; its return there is the same in every cell.
    for (world, parameter, _), methods in raw.items():
        carried = methods["carried over"]
        usual[world, parameter] = np.mean([one.expert_return for one in carried])
    out: dict[Cell, dict[str, dict[str, np.ndarray]]] = {}
    for cell, methods in raw.items():
        zero = {name: np.mean([getattr(one, name) for one in methods[UNTRAINED]]) for name in JUDGED}
        top = {
            "learner_return": np.mean([one.learner_return for one in methods[EXPERT]]),
            "expert_return": usual[cell[:2]],
        }
        out[cell] = {
            method: {
                name: (np.array([getattr(one, name) for one in rows]) - zero[name]) / (top[name] - zero[name])
                for name in JUDGED
            }
            for method, rows in methods.items()
        }
    return out


def rows_of(records: Iterable[PhysicsRecord]) -> list[tuple[object, ...]]:
    """Return the rows of the table."""
    rows = []
    for cell, methods in normalized(records).items():
        base = methods.get(BASE)
        for method, found in methods.items():
            row: list[object] = [*cell, method, len(found[JUDGED[0]])]
            for name in JUDGED:
                low, high = interval(found[name])
                row += [
                    f"{interquartile_mean(found[name]):.2f}",
                    f"{low:.2f} to {high:.2f}",
                    f"{found[name].min():.2f}",
                ]
            better = "" if base is None else f"{probability_of_improvement(found[JUDGED[0]], base[JUDGED[0]]):.2f}"
            rows.append((*row, better))
    return rows
