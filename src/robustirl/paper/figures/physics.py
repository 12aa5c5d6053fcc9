"""The figure of the study of physics: normalized returns over the factor, judged in either world."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from robustirl.paper.studies.physics_results import JUDGED, Cell, interquartile_mean, interval, normalized
from robustirl.paper.studies.physics_runs import EXPERT, UNTRAINED, PhysicsRecord

TITLES = {"learner_return": "judged in the learner's world", "expert_return": "judged in the expert's world"}
STYLES = {"carried over": ("0.55", ":"), "cloned": ("0.55", "--"), "randomized": ("tab:green", "-.")}
COLORS = ("tab:blue", "tab:purple", "tab:orange", "tab:red", "tab:brown")  # From the largest α to the smallest.


def figure_physics(records: Iterable[PhysicsRecord]) -> Figure:
    """Return the figure: a row a world, parameter and number of demonstrations, a column a world to judge in."""
    cells = normalized(list(records))
    groups = list(dict.fromkeys(cell[:3] for cell in cells))
    robust = {method for methods in cells.values() for method in methods if method.startswith("alpha=")}
    order = sorted(robust, key=lambda method: -float(method.removeprefix("alpha=")))
    colors = {method: COLORS[place % len(COLORS)] for place, method in enumerate(order)}
    figure, axes = plt.subplots(
        len(groups), 2, figsize=(9, 2.7 * len(groups)), squeeze=False, sharex="row", constrained_layout=True
    )
    for row, group in zip(axes, groups, strict=True):
        factors = sorted(cell.factor for cell in cells if cell[:3] == group)
        methods = [m for m in cells[Cell(*group, factors[0])] if m not in (EXPERT, UNTRAINED)]
        for panel, name in zip(row, JUDGED, strict=True):
            for method in methods:
                color, line = STYLES.get(method, (colors.get(method, "0.3"), "-"))
                values = [cells[Cell(*group, factor)][method][name] for factor in factors]
                label = method.replace("alpha=", "α = ")
                means = [interquartile_mean(v) for v in values]
                panel.plot(factors, means, line, color=color, label=label, marker="o", ms=3)
                if method in colors:
                    low, high = np.transpose([interval(v) for v in values])
                    panel.fill_between(factors, low, high, color=color, alpha=0.15, lw=0)
            panel.axhline(1, color="0.8", lw=0.8, zorder=0)
            panel.axhline(0, color="0.8", lw=0.8, zorder=0)
            shown = "1 demonstration" if group[2] == 1 else f"{group[2]} demonstrations"
            panel.set_title(f"{shown}, {TITLES[name]}", fontsize=9)
            panel.set_xlabel(f"the learner's {group[1]} / the expert's")
            panel.set_ylim(-0.4, 1.25)
            panel.set_xticks(factors)
        row[0].set_ylabel("normalized return")
    axes[0, 0].legend(fontsize=7, frameon=False, ncols=3, loc="lower left")
    figure.suptitle(", ".join(dict.fromkeys(group[0] for group in groups)), fontsize=10)
    return figure
