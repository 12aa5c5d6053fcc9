"""Regret of learned rewards over how much a world is changed, one panel a kind of change."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robustirl.plotting import ROBUST, STANDARD, STYLE, bottom_legend, plain_text

MARKERS = "osD^vPX"
UNITS = {"bus groups": "bins of mileage a month", "moved start": "share of starts moved", "slip": "chance of a slip"}


def figure_regrets(curves: Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]]) -> Figure:
    """Draw regrets with intervals, one panel a kind of change and one curve a method.

    Args:
        curves: For every kind of change and every method: strength, mean regret and half width of its interval.
    """
    across = min(3, len(curves))
    down = -(-len(curves) // across)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * across + 0.5, 2.4 * down + 0.7), layout="constrained")
        axes = np.ravel(figure.subplots(down, across))
        for axis, (kind, methods) in zip(axes, curves.items(), strict=False):
            for place, (method, points) in enumerate(methods.items()):
                strengths, means, widths = (np.array(column) for column in zip(*points, strict=True))
                color = STANDARD if place == 0 else ROBUST[(place - 1) % len(ROBUST)]
                marker = MARKERS[place % len(MARKERS)]
                axis.plot(strengths, means, color=color, marker=marker, markersize=3.5, label=plain_text(method))
                axis.fill_between(
                    strengths, np.maximum(means - widths, 0), means + widths, color=color, alpha=0.15, linewidth=0
                )
            axis.set_title(kind)
            axis.set_xlabel(UNITS.get(kind, "strength"), fontsize=8)
            axis.set_ylim(bottom=0)
        for axis in axes[len(curves) :]:
            axis.set_axis_off()
        figure.supylabel("regret (0 best, 1 as a plain policy)", fontsize=9)
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure
