"""How α would have been chosen without looking at the level that is judged, and what that brings.

A rule takes the α with the largest mean of interquartile means over the levels it may learn from: other levels of the
same parameter, other parameters of the same world, or other worlds. The best α of a level itself is an oracle, because
it is not known when α is chosen; it is shown as the most that any rule could reach.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from robustirl.paper.statistics import interquartile_mean
from robustirl.paper.studies.physics_results import (
    BASE,
    JUDGED,
    Cell,
    Cells,
    Groups,
    improvement_interval,
    normalized,
    probability_of_improvement,
    summary_of,
)
from robustirl.paper.studies.physics_runs import CARRIED, CLONED, RANDOMIZED, PhysicsRecord

COLUMNS = (
    "world",
    "parameter",
    "episodes",
    "judged in",
    "method",
    "levels",
    "α",
    "return",
    "95 %",
    "worst run",
    "P(better than α = 1)",
    "95 %",
)
OTHER_LEVELS, OTHER_PARAMETERS, OTHER_WORLDS, ORACLE = (
    "α from other levels",
    "α from other parameters",
    "α from other worlds",
    "best α (oracle)",
)
SOURCES = (OTHER_LEVELS, OTHER_PARAMETERS, OTHER_WORLDS, ORACLE)
WORLDS = {"learner_return": "learner's world", "expert_return": "expert's world"}


def learns_from(source: str, judged: Cell, other: Cell) -> bool:
    """Return whether a rule that judges one cell may learn from another.

    Example:
        >>> heavy, light = Cell("hopper", "mass", 16, 2.0), Cell("hopper", "mass", 16, 0.5)
        >>> learns_from(OTHER_LEVELS, heavy, light), learns_from(OTHER_LEVELS, heavy, heavy)
        (True, False)
    """
    if source == ORACLE:
        return judged == other
    if judged.episodes != other.episodes or judged.is_same_level(other):
        return False
    same_world, same_parameter = judged.world == other.world, judged.parameter == other.parameter
    if source == OTHER_WORLDS:
        return not same_world
    return same_world and same_parameter == (source == OTHER_LEVELS)


def choose_alpha(cells: Cells, judged: Cell, name: str, source: str) -> str | None:
    """Return the method that a rule takes for a cell, such as `alpha=0.95`.

    It is None if the rule has nothing to learn from. Of methods that are equally good the one with the largest α is
    taken.
    """
    known = [methods for cell, methods in cells.items() if learns_from(source, judged, cell)]
    candidates = [method for method in cells[judged] if all(method in methods for methods in known)]
    candidates = sorted((m for m in candidates if m.startswith("alpha=")), key=_alpha, reverse=True)
    if not known or not candidates:
        return None
    scores = [np.mean([interquartile_mean(methods[method][name]) for methods in known]) for method in candidates]
    return candidates[int(np.argmax(scores))]


def _alpha(method: str) -> float:
    return float(method.removeprefix("alpha="))


def choice_rows(records: Iterable[PhysicsRecord]) -> list[tuple[object, ...]]:
    """Return the table's rows: all levels of a parameter together, by method and by rule for α."""
    cells = normalized(records)
    tasks: dict[tuple[str, str, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        tasks[cell[:3]].append(cell)
    rows = []
    for task, own in tasks.items():
        own = [cell for cell in own if cell.factor != 1]  # Where nothing differs there is no mismatch to choose for.
        for name in JUDGED:
            rows += [(*task, WORLDS[name], *row) for row in _rows_of_task(cells, own, name)]
    return rows


def _rows_of_task(cells: Cells, own: list[Cell], name: str) -> list[tuple[object, ...]]:
    if not own:
        return []
    fixed = [method for method in cells[own[0]] if method.startswith("alpha=")]
    picks = {method: [method] * len(own) for method in [*fixed, RANDOMIZED, CLONED, CARRIED]}
    for source in SOURCES:
        chosen = [choose_alpha(cells, cell, name, source) for cell in own]
        if all(chosen):
            picks[source] = [method or "" for method in chosen]
    base = [cells[cell][BASE][name] for cell in own] if BASE in fixed else None
    rows: list[tuple[object, ...]] = []
    for label, methods in picks.items():
        found = [cells[cell][method][name] for cell, method in zip(own, methods, strict=True)]
        alphas = " ".join(f"{_alpha(method):g}" for method in methods) if label in SOURCES else ""
        rows.append((label, len(own), alphas, *summary_of(found), *_improvement(found, base)))
    return rows


def _improvement(found: Groups, base: Groups | None) -> tuple[str, str]:
    if base is None:
        return "", ""
    low, high = improvement_interval(found, base)
    return f"{probability_of_improvement(found, base):.2f}", f"{low:.2f} to {high:.2f}"
