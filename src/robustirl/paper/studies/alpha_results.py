"""What the runs of the study of α say together: shares, means, worst cells."""

from collections.abc import Iterable, Sequence

import numpy as np

from robustirl.paper.finite.layouts import interval
from robustirl.paper.studies.alpha_cells import find_cell
from robustirl.paper.studies.alpha_runs import AlphaRecord

NO_LOSS = 1e-6  # Where α = 1 loses less than this part of the optimum, there is nothing to remove.
WORST_SHARE = -2.0  # Means count anything worse as this, so that one cell cannot hide all others.


Unit = tuple[str, int, int]
"""(cell, episodes, draw)."""


def shares(records: Iterable[AlphaRecord]) -> dict[Unit, dict[str, float]]:
    """Return by (cell, episodes, draw) the share of standard IRL's loss that every choice removes.

    Example:
        >>> from robustirl.paper.studies.alpha_runs import AlphaRecord, AlphaSpec
        >>> rows = [AlphaRecord(AlphaSpec("c", 20, 0, choice), 1.0, value, 0.0, 0.0, 0.0, 0.0)
        ...         for choice, value in (("1", -4.0), ("0.9", -1.0), ("auto", -6.0))]
        >>> shares(rows)["c", 20, 0]
        {'1': 0.0, '0.9': 0.75, 'auto': -0.5}
    """
    units: dict[Unit, list[AlphaRecord]] = {}
    for record in records:
        units.setdefault((record.spec.cell, record.spec.episodes, record.spec.draw), []).append(record)
    found = {}
    for unit, own in units.items():
        loss = {record.spec.choice: record.optimum - record.value for record in own}
        scale = NO_LOSS * max(1.0, abs(own[0].optimum))
        found[unit] = {name: 1 - lost / loss["1"] if loss["1"] > scale else 0.0 for name, lost in loss.items()}
    return found


COLUMNS = (
    "cells",
    "episodes",
    "auto: mean",
    "± 95 %",
    "median",
    "worst draw",
    "worst cell",
    "moves, states",
    "moves, actions",
    "transfer",
    "best fixed α",
    "its mean",
    "best in hindsight",
)


def rows_of(records: Sequence[AlphaRecord]) -> list[tuple[str, ...]]:
    """Return the entries under `COLUMNS`, a row per group of cells and number of episodes."""
    found = shares(records)
    groups = {cell: find_cell(cell).group for cell, _, _ in found}
    rows = []
    for group in [*dict.fromkeys(groups.values()), "all"]:
        for episodes in dict.fromkeys(unit[1] for unit in found):
            own = {u: s for u, s in found.items() if u[1] == episodes and group in (groups[u[0]], "all")}
            if own:
                rows.append((group, str(episodes), *_statistics(own)))
    return rows


def _statistics(own: dict[Unit, dict[str, float]]) -> tuple[str, ...]:
    fixed = [name for name in next(iter(own.values())) if _is_number(name)]

    def values(name: str) -> np.ndarray:
        return np.array([one[name] for one in own.values()])

    def mean(name: str) -> float:
        return float(np.nanmean(np.maximum(values(name), WORST_SHARE)))

    auto = values("auto")
    around = interval(np.maximum(auto, WORST_SHARE).tolist()) if len(auto) > 1 else None
    best = max(fixed, key=mean)
    hindsight = float(np.mean([max(one[name] for name in fixed) for one in own.values()]))
    return (
        f"{mean('auto'):.3f}",
        "" if around is None else f"{around.high - around.mean:.3f}",
        f"{np.median(auto):.3f}",
        f"{auto.min():.2f}",
        f"{min(_cell_means(own).values()):.2f}",
        *(f"{mean(name):.3f}" for name in ("moves, states", "moves, actions", "transfer")),
        best,
        f"{mean(best):.3f}",
        f"{hindsight:.3f}",
    )


def _cell_means(own: dict[Unit, dict[str, float]]) -> dict[tuple[str, int], float]:
    """Return auto's mean share over draws."""
    cells: dict[tuple[str, int], list[float]] = {}
    for (cell, episodes, _), one in own.items():
        cells.setdefault((cell, episodes), []).append(one["auto"])
    return {cell: float(np.mean(values)) for cell, values in cells.items()}


def worst_rows(records: Sequence[AlphaRecord], count: int = 15) -> list[tuple[str, ...]]:
    """Return the cells with the smallest mean share of auto: name, episodes, mean α, share, best in hindsight."""
    found = shares(records)
    means = _cell_means(found)
    alphas: dict[tuple[str, int], list[float]] = {}
    for record in records:
        if record.spec.choice == "auto":
            alphas.setdefault((record.spec.cell, record.spec.episodes), []).append(record.alpha)
    rows = []
    for cell, episodes in sorted(means, key=means.__getitem__)[:count]:
        best = np.mean(
            [max(v for k, v in one.items() if _is_number(k)) for u, one in found.items() if u[:2] == (cell, episodes)]
        )
        mean = np.mean(alphas[cell, episodes])
        rows.append((cell, str(episodes), f"{mean:.3f}", f"{means[cell, episodes]:.3f}", f"{best:.3f}"))
    return rows


def rule_points(records: Sequence[AlphaRecord]) -> list[tuple[str, float, float]]:
    """Return group, missed / explained, and share removed, of every fit below α = 1."""
    found = shares(records)
    points = []
    for record in records:
        spec = record.spec
        if _is_number(spec.choice) and record.alpha < 1:
            # An opponent that explains nothing misses all of it.
            ratio = record.missed / record.explained if record.explained > 0 else np.inf
            share = found[spec.cell, spec.episodes, spec.draw][spec.choice]
            points.append((find_cell(spec.cell).group, max(float(ratio), 0.0), share))
    return points


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
