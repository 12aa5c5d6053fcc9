"""The figure of the study of physics: normalized returns over the factor, judged in either world."""

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustirl.paper.statistics import interquartile_mean
from robustirl.paper.studies.physics_results import JUDGED, Cell, Cells, interval, normalized
from robustirl.paper.studies.physics_runs import EXPERT, UNTRAINED, PhysicsRecord

TITLES = {"learner_return": "judged in the learner's world", "expert_return": "judged in the expert's world"}
STYLES = {"carried over": ("0.6", ":"), "cloned": ("0.35", "--"), "randomized": ("tab:green", "-.")}
COLORS = ("tab:blue", "tab:purple", "tab:orange", "tab:red", "tab:brown")  # From the largest α to the smallest.
SPREAD = 0.24
"""How far the α of a level stand apart together, as a share of the smallest distance between levels."""


def figure_physics(records: Iterable[PhysicsRecord]) -> Figure:
    """Return the figure: a row per world, parameter and number of demonstrations.

    A column is a world to judge in. Imitations have their single runs as dots and the interval of the interquartile
    mean as a bar, the α of a level side by side. What they are compared with has interquartile means alone.
    """
    cells = normalized(list(records))
    groups = list(dict.fromkeys(cell[:3] for cell in cells))
    robust = {method for methods in cells.values() for method in methods if method.startswith("alpha=")}
    order = sorted(robust, key=lambda method: -float(method.removeprefix("alpha=")))
    figure, axes = plt.subplots(
        len(groups), 2, figsize=(9, 2.7 * len(groups) + 0.5), squeeze=False, sharex="row", constrained_layout=True
    )
    for row, group in zip(axes, groups, strict=True):
        factors = sorted(cell.factor for cell in cells if cell[:3] == group)
        shown = "1 demonstration" if group[2] == 1 else f"{group[2]} demonstrations"
        for panel, name in zip(row, JUDGED, strict=True):
            _draw(panel, cells, [Cell(*group, factor) for factor in factors], name, order)
            panel.set_title(f"{shown}, {TITLES[name]}", fontsize=10)
            panel.set_xlabel(f"the learner's {group[1]} / the expert's")
            panel.set_xticks(factors)
        row[0].set_ylabel("normalized return")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=9, frameon=False, ncols=len(labels), loc="outside lower center")
    worlds = ", ".join(dict.fromkeys(group[0] for group in groups))
    figure.suptitle(f"{worlds}: interquartile means, 95 % intervals, single runs as dots", fontsize=11)
    return figure


def _draw(panel: Axes, cells: Cells, levels: Sequence[Cell], name: str, order: Sequence[str]) -> None:
    """Draw every method over the levels, with room for the extreme runs of imitations."""
    factors = np.array([level.factor for level in levels])
    distance = np.diff(factors).min() if len(factors) > 1 else 1.0
    aside = SPREAD * distance * (np.arange(len(order)) - (len(order) - 1) / 2) / max(len(order) - 1, 1)
    for height in (0, 1):
        panel.axhline(height, color="0.8", lw=0.8, zorder=0)
    extremes = [-0.05, 1.1]
    for method in cells[levels[0]]:
        if method in (EXPERT, UNTRAINED):
            continue
        values = [cells[level][method][name] for level in levels]
        means = np.array([interquartile_mean(runs) for runs in values])
        extremes += [means.min(), means.max()]
        if method not in order:
            color, line = STYLES.get(method, ("0.3", "-"))
            panel.plot(factors, means, line, color=color, lw=1.2, label=method, marker="o", ms=3, zorder=1.5)
            continue
        color, places = COLORS[order.index(method) % len(COLORS)], factors + aside[order.index(method)]
        for place, runs in zip(places, values, strict=True):
            panel.plot(np.full(len(runs), place), runs, ".", color=color, alpha=0.45, ms=5, mew=0)
            extremes += [runs.min(), runs.max()]
        low, high = np.transpose([interval(runs) for runs in values])
        panel.vlines(places, low, high, color=color, lw=2)
        label = method.replace("alpha=", "α = ")
        panel.plot(places, means, "-", color=color, lw=0.8, label=label, marker="o", ms=4.5)
    panel.set_ylim(min(extremes) - 0.05, max(extremes) + 0.05)
