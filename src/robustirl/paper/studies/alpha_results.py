"""What the runs of the study of α say together: the share of standard IRL's loss that every choice removes."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from robustirl.irl import choose_candidate
from robustirl.paper.studies.alpha_cells import group_of
from robustirl.paper.studies.alpha_runs import TRANSFER, AlphaRecord, curves_of, is_number

AUTO, WITH_ACTIONS, OR_TRANSFER, LIKELIEST = "auto", "auto, actions", "auto or transfer", "likeliest"
NO_LOSS = 1e-6  # Where α = 1 loses less than this part of the optimum, there is nothing to remove.

Unit = tuple[str, int, int]
"""(cell, episodes, draw)."""
Measure = Literal["value", "discounted"]
Units = dict[Unit, dict[str, AlphaRecord]]
Shares = dict[Unit, dict[str, float]]


def units_of(records: Iterable[AlphaRecord]) -> Units:
    """Return by (cell, episodes, draw) the record of every choice.

    Choices that follow from the fits are among them. What `auto` takes is decided here, by the rules of
    `irl.select_alpha` and the curves that were recorded: another rule needs no new fits. It may use states alone
    (`auto`), recorded actions as well (`auto, actions`), and transfer where that is recommended (`auto or transfer`).
    The α under which the expert's moves are likeliest is `likeliest`.
    """
    found: Units = {}
    for record in records:
        found.setdefault((record.spec.cell, record.spec.episodes, record.spec.draw), {})[record.spec.choice] = record
    for (_, episodes, _), own in found.items():
        fixed = [record for choice, record in own.items() if is_number(choice)]
        for name, actions in ((AUTO, False), (WITH_ACTIONS, True)):
            own[name] = fixed[choose_candidate(curves_of(fixed, actions=actions), episodes)[0]]
        own[OR_TRANSFER] = own[TRANSFER] if own[WITH_ACTIONS].recommended else own[WITH_ACTIONS]
        own[LIKELIEST] = max(fixed, key=lambda record: record.log_likelihood)
    return found


def shares(units: Units, measure: Measure = "value") -> Shares:
    """Return by (cell, episodes, draw) what share of standard IRL's loss each choice removes.

    Args:
        units: The records of all choices of the draws, from `units_of`.
        measure: `value` for the return that the cell is measured by, or `discounted`.
    """
    found = {}
    for unit, own in units.items():
        best = own["1"].optimum if measure == "value" else own["1"].discounted_optimum
        loss = {name: best - getattr(record, measure) for name, record in own.items()}
        some = loss["1"] > NO_LOSS * max(1.0, abs(best))
        found[unit] = {name: 1 - lost / loss["1"] if some else 0.0 for name, lost in loss.items()}
    return found


def hindsight(own: dict[str, float]) -> float:
    """Return the largest share that a fixed α removes on a draw."""
    return max(share for name, share in own.items() if is_number(name))


def groups_of(cell: str) -> tuple[str, ...]:
    """Return the groups of cells that a cell is in.

    Example:
        >>> groups_of("gridworld-1, uniform-action, 0 / 0.2")
        ('all', 'paper', 'paper, noisier expert', 'paper, uniform-action, noisier expert')
        >>> groups_of("random, reversed, 3"), groups_of("hole, learner slips")
        (('all', 'random', 'random, reversed'), ('all', 'hole', 'hole, calmer expert'))
    """
    group = group_of(cell)
    _, kind, *rest = cell.split(", ")
    if group == "random":
        return "all", group, f"{group}, {kind}"
    if group == "hole":
        return "all", group, f"{group}, {'noisier' if kind == 'expert slips' else 'calmer'} expert"
    direction = "calmer expert" if rest[0].endswith("/ 0") else "noisier expert"
    finer = (f"{group}, {kind}, {direction}",) if group in ("paper", "layouts") else ()
    return "all", group, f"{group}, {direction}", *finer


def cell_means(found: Shares, choice: str = AUTO) -> dict[tuple[str, int], float]:
    """Return the mean share of a choice over draws, by cell and number of episodes."""
    cells: dict[tuple[str, int], list[float]] = {}
    for (cell, episodes, _), one in found.items():
        cells.setdefault((cell, episodes), []).append(one[choice])
    return {cell: float(np.mean(values)) for cell, values in cells.items()}


def rule_points(units: Units) -> list[tuple[str, float, float]]:
    """Return group, missed over what may be missed, and share removed, of every fit below α = 1."""
    found = shares(units)
    points = []
    for unit, own in units.items():
        curves = curves_of([record for choice, record in own.items() if is_number(choice)])
        ratios = np.maximum(curves.missed, 0) / curves.most_missed
        for alpha, ratio in zip(curves.candidates, ratios, strict=True):
            if alpha < 1:
                points.append((group_of(unit[0]), float(ratio), found[unit][f"{alpha:g}"]))
    return points
