"""What the runs of the study of α say together: shares, means, worst cells."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from robustirl.irl import choose_candidate
from robustirl.paper.finite.layouts import interval
from robustirl.paper.studies.alpha_cells import find_cell
from robustirl.paper.studies.alpha_runs import ACTIONS, STATES, TRANSFER, AlphaRecord, curves_of, is_number

AUTO = "auto"
NO_LOSS = 1e-6  # Where α = 1 loses less than this part of the optimum, there is nothing to remove.
WORST_SHARE = -2.0  # Means count anything worse as this, so that one cell cannot hide all others.

Unit = tuple[str, int, int]
"""(cell, episodes, draw)."""
Measure = Literal["value", "discounted"]


def units_of(records: Iterable[AlphaRecord]) -> dict[Unit, dict[str, AlphaRecord]]:
    """Return by (cell, episodes, draw) the record of every choice, `auto` included.

    What `auto` takes is decided here, by the rules of `irl.select_alpha` and the curves that were recorded: another
    rule needs no new fits.
    """
    found: dict[Unit, dict[str, AlphaRecord]] = {}
    for record in records:
        found.setdefault((record.spec.cell, record.spec.episodes, record.spec.draw), {})[record.spec.choice] = record
    for (_, episodes, _), own in found.items():
        place, _, _ = choose_candidate(curves_of(list(own.values())), episodes)
        own[AUTO] = [record for choice, record in own.items() if is_number(choice)][place]
    return found


def shares(records: Iterable[AlphaRecord], measure: Measure = "value") -> dict[Unit, dict[str, float]]:
    """Return by (cell, episodes, draw) the share of standard IRL's loss that every choice removes.

    Args:
        records: Those of all choices of the draws.
        measure: `value` for the return that the cell is measured by, or `discounted`.

    Example:
        >>> from robustirl.paper.studies.alpha_runs import AlphaRecord, AlphaSpec
        >>> rows = [AlphaRecord(AlphaSpec("c", 5, 0, f"{alpha:g}"), alpha, value, 0.0, *[0.0] * 11)
        ...         for alpha, value in ((1.0, -4.0), (0.9, -1.0))]
        >>> shares(rows)["c", 5, 0]
        {'1': 0.0, '0.9': 0.75, 'auto': 0.0}
    """
    found = {}
    for unit, own in units_of(records).items():
        best = own["1"].optimum if measure == "value" else own["1"].discounted_optimum
        loss = {name: best - getattr(record, measure) for name, record in own.items()}
        some = loss["1"] > NO_LOSS * max(1.0, abs(best))
        found[unit] = {name: 1 - lost / loss["1"] if some else 0.0 for name, lost in loss.items()}
    return found


COLUMNS = (
    "cells",
    "episodes",
    "auto: mean",
    "± 95 %",
    "median",
    "worst draw",
    "worst cell",
    "worst cell, discounted",
    STATES,
    ACTIONS,
    TRANSFER,
    "best fixed α",
    "its mean",
    "best in hindsight",
)


def rows_of(records: Sequence[AlphaRecord]) -> list[tuple[str, ...]]:
    """Return the entries under `COLUMNS`, a row per group of cells and number of episodes."""
    found, discounted = shares(records), shares(records, "discounted")
    groups = {cell: find_cell(cell).group for cell, _, _ in found}
    rows = []
    for group in [*dict.fromkeys(groups.values()), "all"]:
        for episodes in dict.fromkeys(unit[1] for unit in found):
            own = [unit for unit in found if unit[1] == episodes and group in (groups[unit[0]], "all")]
            if own:
                numbers = _statistics({u: found[u] for u in own}, {u: discounted[u] for u in own})
                rows.append((group, str(episodes), *numbers))
    return rows


def _statistics(own: dict[Unit, dict[str, float]], discounted: dict[Unit, dict[str, float]]) -> tuple[str, ...]:
    fixed = [name for name in next(iter(own.values())) if is_number(name)]

    def values(name: str) -> np.ndarray:
        return np.array([one[name] for one in own.values()])

    def mean(name: str) -> float:
        return float(np.nanmean(np.maximum(values(name), WORST_SHARE)))

    auto = values(AUTO)
    around = interval(np.maximum(auto, WORST_SHARE).tolist()) if len(auto) > 1 else None
    best = max(fixed, key=mean)
    hindsight = float(np.mean([max(one[name] for name in fixed) for one in own.values()]))
    return (
        f"{mean(AUTO):.3f}",
        "" if around is None else f"{around.high - around.mean:.3f}",
        f"{np.median(auto):.3f}",
        f"{auto.min():.2f}",
        f"{min(cell_means(own).values()):.2f}",
        f"{min(cell_means(discounted).values()):.2f}",
        *(f"{mean(name):.3f}" for name in (STATES, ACTIONS, TRANSFER)),
        best,
        f"{mean(best):.3f}",
        f"{hindsight:.3f}",
    )


def cell_means(own: dict[Unit, dict[str, float]], choice: str = AUTO) -> dict[tuple[str, int], float]:
    """Return the mean share of a choice over draws, by cell and number of episodes."""
    cells: dict[tuple[str, int], list[float]] = {}
    for (cell, episodes, _), one in own.items():
        cells.setdefault((cell, episodes), []).append(one[choice])
    return {cell: float(np.mean(values)) for cell, values in cells.items()}


CELL_COLUMNS = (
    "cell",
    "episodes",
    "draws",
    "mean α",
    "share of auto",
    "worst draw",
    "discounted",
    "best in hindsight",
    STATES,
    ACTIONS,
    TRANSFER,
)


def cell_rows(records: Sequence[AlphaRecord]) -> list[tuple[str, ...]]:
    """Return the entries under `CELL_COLUMNS`, a row per cell and number of episodes, the worst for `auto` first."""
    units, found, discounted = units_of(records), shares(records), cell_means(shares(records, "discounted"))
    means = {choice: cell_means(found, choice) for choice in (AUTO, STATES, ACTIONS, TRANSFER)}
    rows = []
    for cell, episodes in sorted(means[AUTO], key=means[AUTO].__getitem__):
        draws = [unit for unit in found if unit[:2] == (cell, episodes)]
        best = np.mean([max(v for k, v in found[unit].items() if is_number(k)) for unit in draws])
        numbers = (
            float(np.mean([units[unit][AUTO].alpha for unit in draws])),
            means[AUTO][cell, episodes],
            min(found[unit][AUTO] for unit in draws),
            discounted[cell, episodes],
            float(best),
            *(means[choice][cell, episodes] for choice in (STATES, ACTIONS, TRANSFER)),
        )
        rows.append((cell, str(episodes), str(len(draws)), *(f"{number:.3f}" for number in numbers)))
    return rows


def rule_points(records: Sequence[AlphaRecord]) -> list[tuple[str, float, float]]:
    """Return group, missed / explained, and share removed, of every fit below α = 1."""
    found = shares(records)
    points = []
    for unit, own in units_of(records).items():
        curves = curves_of([record for choice, record in own.items() if choice != AUTO])
        for alpha, explained, missed in zip(curves.candidates, curves.explained, curves.missed, strict=True):
            if alpha < 1:
                # An opponent that explains nothing misses all of it.
                ratio = missed / explained if explained > 0 else np.inf
                points.append((find_cell(unit[0]).group, max(float(ratio), 0.0), found[unit][f"{alpha:g}"]))
    return points
