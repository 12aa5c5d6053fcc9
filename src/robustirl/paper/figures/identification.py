"""What experts leave open about a reward: directions left after each, and how strongly the others are told."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustirl.plotting import ROBUST, STANDARD, STYLE

COLORS = (STANDARD, ROBUST[3], ROBUST[1])


def figure_identification(
    counts: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    groups: Sequence[str],
    strengths: Float[np.ndarray, "K d"],
    weakest: Mapping[str, Mapping[str, float]],
    weak: float,
) -> Figure:
    """Draw how the identified set shrinks with each expert, and which next one shrinks it most.

    Args:
        counts: For every family of worlds, after each expert: the open directions, and those that are weak.
        groups: Names of the experts whose strengths are drawn.
        strengths: After each of these experts, the strength of every direction, weakest first.
        weakest: For every family and every candidate for a further expert: the strength of the weakest direction but
            the constant.
        weak: What counts as weak.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.2, 3.1), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.15))
        for color, (name, (dimensions, nearly)) in zip(COLORS, counts.items(), strict=False):
            experts = range(1, len(dimensions) + 1)
            left.set_xticks(experts)
            left.plot(experts, dimensions, color=color, marker="o", markersize=4, label=f"{name}: open")
            left.plot(experts, nearly, color=color, marker="s", markersize=3, linestyle=":", label=f"below {weak:g}")
        left.set(yscale="log", xlabel="experts", ylabel="directions", title="What is left open")
        left.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        left.minorticks_off()
        left.legend(fontsize=7, ncols=1)
        for place, values in enumerate(strengths):
            shown = values[1:]  # The first is the constant.
            middle.plot(
                np.arange(1, shown.size + 1),
                np.where(shown > 1e-9, shown, np.nan),
                color=ROBUST[place % len(ROBUST)],
                label="+ " * (place > 0) + groups[place],
            )
        middle.axhline(weak, color="#777777", linestyle=":", linewidth=0.8)
        middle.set(
            xscale="log",
            yscale="log",
            xlabel="direction, weakest first",
            ylabel="strength",
            title="Buses: how it is told",
        )
        middle.legend(fontsize=7, loc="lower right")
        _bars(right, weakest, weak)
    return figure


def _bars(axes: Axes, weakest: Mapping[str, Mapping[str, float]], weak: float) -> None:
    """Draw the weakest strength after each candidate for a further expert."""
    labels, floor = [], 1e-5
    for color, (family, candidates) in zip(COLORS, weakest.items(), strict=False):
        for name, value in candidates.items():
            place = len(labels)
            labels.append(f"{family}: {name}")
            axes.barh(place, max(value, floor), color=color, height=0.7)
            if value < floor:
                axes.annotate(
                    "open", (floor, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
                )
    axes.axvline(weak, color="#777777", linestyle=":", linewidth=0.8)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(floor, 1), xlabel="strength of the weakest direction")
    axes.set_title("A further expert in another world")
