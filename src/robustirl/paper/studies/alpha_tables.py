"""The tables of the study of α: groups of cells, and all cells."""

from collections.abc import Callable, Sequence

import numpy as np

from robustirl.paper.finite.layouts import interval
from robustirl.paper.studies.alpha_results import (
    AUTO,
    LIKELIEST,
    OR_TRANSFER,
    WITH_ACTIONS,
    Shares,
    Unit,
    Units,
    cell_means,
    groups_of,
    hindsight,
    shares,
)
from robustirl.paper.studies.alpha_runs import ACTIONS, STATES, TRANSFER, is_number

WORST_SHARE = -2.0  # Means count anything worse as this, so that one cell cannot hide all others.

COLUMNS: tuple[str, ...] = (
    "cells",
    "episodes",
    "draws",
    "auto: mean",
    "± 95 %",
    "median",
    "worst draw",
    "worst cell",
    "worst cell, discounted",
    WITH_ACTIONS,
    "its worst cell",
    OR_TRANSFER,
    LIKELIEST,
    STATES,
    ACTIONS,
    TRANSFER,
    "best fixed α",
    "its mean",
    "best in hindsight",
)


def rows_of(units: Units) -> list[tuple[str, ...]]:
    """Return the entries under `COLUMNS`, a row per group of cells and number of episodes."""
    found, discounted = shares(units), shares(units, "discounted")
    rows = []
    groups = {cell: groups_of(cell) for cell, _, _ in found}
    names = {group for own in groups.values() for group in own}
    for group in sorted(names, key=lambda name: (name != "all", name)):
        for episodes in sorted({unit[1] for unit in found}):
            own = [unit for unit in found if unit[1] == episodes and group in groups[unit[0]]]
            if own:
                numbers = _statistics({u: found[u] for u in own}, {u: discounted[u] for u in own})
                rows.append((group, str(episodes), *numbers))
    return rows


def _statistics(own: Shares, discounted: Shares) -> tuple[str, ...]:
    fixed = [name for name in next(iter(own.values())) if is_number(name)]

    def bounded(share: Callable[[dict[str, float]], float]) -> np.ndarray:
        return np.maximum([share(one) for one in own.values()], WORST_SHARE)

    def mean(name: str) -> float:
        return float(np.nanmean(bounded(lambda one: one[name])))

    auto = np.array([one[AUTO] for one in own.values()])
    draws = np.array([unit[2] for unit in own])
    # Cells are those they are; what is left to chance are the draws, and one draw serves all cells.
    means = [float(np.maximum(auto[draws == draw], WORST_SHARE).mean()) for draw in np.unique(draws)]
    around = interval(means) if len(means) > 1 else None
    best = max(fixed, key=mean)
    return (
        str(len(means)),
        f"{mean(AUTO):.3f}",
        "" if around is None else f"{around.high - around.mean:.3f}",
        f"{np.median(auto):.3f}",
        f"{auto.min():.2f}",
        f"{min(cell_means(own).values()):.2f}",
        f"{min(cell_means(discounted).values()):.2f}",
        f"{mean(WITH_ACTIONS):.3f}",
        f"{min(cell_means(own, WITH_ACTIONS).values()):.2f}",
        *(f"{mean(name):.3f}" for name in (OR_TRANSFER, LIKELIEST, STATES, ACTIONS, TRANSFER)),
        best,
        f"{mean(best):.3f}",
        f"{float(bounded(hindsight).mean()):.3f}",
    )


SUMMARY = {
    "`auto`, from states": "auto: mean",
    "`auto`, with actions": WITH_ACTIONS,
    "`auto` or transfer, as recommended": OR_TRANSFER,
    "best fixed α": "its mean",
    "likeliest moves": LIKELIEST,
    "counting moves, states": STATES,
    "counting moves, actions": ACTIONS,
    "transfer": TRANSFER,
    "best α in hindsight": "best in hindsight",
    "worst cell of `auto`": "worst cell",
    "its worst cell with actions": "its worst cell",
    "its worst cell, discounted returns": "worst cell, discounted",
}


def summary_of(rows: Sequence[Sequence[str]], group: str = "all") -> list[tuple[str, ...]]:
    """Return a short table of a group from rows under `COLUMNS`, a column per episode count.

    Example:
        >>> row = ["all", "20", *["0.126"] * (len(COLUMNS) - 2)]
        >>> summary_of([row])[:2]
        [('share of the loss of α = 1 removed', '20 episodes'), ('`auto`, from states', '0.13')]
    """
    own = [dict(zip(COLUMNS, row, strict=True)) for row in rows if row[0] == group]
    head = ("share of the loss of α = 1 removed", *(f"{one['episodes']} episodes" for one in own))
    return [head, *((label, *(f"{float(one[name]):.2f}" for one in own)) for label, name in SUMMARY.items())]


CELL_COLUMNS: tuple[str, ...] = (
    "cell",
    "episodes",
    "draws",
    "mean α",
    "share of auto",
    "± 95 %",
    "worst draw",
    "discounted",
    WITH_ACTIONS,
    OR_TRANSFER,
    LIKELIEST,
    STATES,
    ACTIONS,
    TRANSFER,
    "best α of the cell",
    "its share",
    "best in hindsight",
)


def cell_rows(units: Units) -> list[tuple[str, ...]]:
    """Return the entries under `CELL_COLUMNS`, a row per cell and number of episodes.

    The worst for `auto` come first.
    """
    found, discounted = shares(units), cell_means(shares(units, "discounted"))
    names = list(next(iter(found.values())))
    means = {name: cell_means(found, name) for name in names}
    rows = []
    members: dict[tuple[str, int], list[Unit]] = {}
    for unit in found:
        members.setdefault(unit[:2], []).append(unit)
    for cell, episodes in sorted(means[AUTO], key=means[AUTO].__getitem__):
        draws = members[cell, episodes]
        auto = [found[unit][AUTO] for unit in draws]
        around = interval(auto) if len(auto) > 1 else None
        at = (cell, episodes)
        best = max(filter(is_number, names), key=lambda name: means[name][at])
        rows.append(
            (
                cell,
                str(episodes),
                str(len(draws)),
                f"{np.mean([units[unit][AUTO].alpha for unit in draws]):.3f}",
                f"{means[AUTO][at]:.3f}",
                "" if around is None else f"{around.high - around.mean:.3f}",
                f"{min(auto):.3f}",
                f"{discounted[at]:.3f}",
                *(f"{means[n][at]:.3f}" for n in (WITH_ACTIONS, OR_TRANSFER, LIKELIEST, STATES, ACTIONS, TRANSFER)),
                best,
                f"{means[best][at]:.3f}",
                f"{np.mean([hindsight(found[unit]) for unit in draws]):.3f}",
            )
        )
    return rows
