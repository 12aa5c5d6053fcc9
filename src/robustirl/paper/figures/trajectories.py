"""Return over the number of trajectories, a panel per mismatch."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.paper.finite.specs import Record
from robustirl.paper.studies.toy_text_results import AUTO, cells
from robustirl.plotting import OPTIMAL, ROBUST, STANDARD, STYLE, Look, bottom_legend


def figure_trajectories(records: Sequence[Record]) -> Figure:
    """Draw standard, robust and automatic learners from ever more demonstrations.

    Bars are 95 % intervals over draws.
    """
    found = cells(records)
    pairs = list(dict.fromkeys(key[:2] for key in found))
    choices = list(dict.fromkeys(key[3] for key in found))
    looks = {AUTO: Look(ROBUST[4], "P", "-", "α from the data"), "1": Look(STANDARD, "o", "-", "α = 1 (standard)")}
    fixed = [name for name in choices if name not in looks]
    looks |= {
        name: Look(ROBUST[(1 + 2 * i) % len(ROBUST)], "Dv^"[i % 3], "--", f"α = {name}") for i, name in enumerate(fixed)
    }
    spec = records[0].spec
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(3.4 * columns, 2.7 * rows + 0.9), layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.08)
        )
        axes = figure.subplots(rows, columns, squeeze=False)
        for axis, (learner, expert) in zip(axes.ravel(), pairs, strict=False):
            optimal = next(r.optimal_return for r in records if r.spec.learner_noise == learner)
            axis.axhline(optimal, color=OPTIMAL, linestyle="--", linewidth=1.2, label="optimal")
            counts = sorted({key[2] for key in found if key[:2] == (learner, expert)})
            for place, name in enumerate(choices):
                own = [found[learner, expert, count, name] for count in counts]
                apart = 1.05 ** (place - (len(choices) - 1) / 2)  # So that intervals can be told from each other.
                look = looks[name]
                axis.errorbar(
                    np.array(counts) * apart,
                    [entry.mean for entry in own],
                    [entry.high - entry.mean for entry in own],
                    color=look.color,
                    marker=look.marker,
                    linestyle=look.dashes,
                    markersize=4,
                    capsize=2,
                    label=look.label,
                )
            axis.set_xscale("log")
            axis.set_title(rf"learner's noise {learner:.2g}, expert's {expert:.2g}")
        for axis in axes.ravel()[len(pairs) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel("trajectories")
        for axis in axes[:, 0]:
            axis.set_ylabel("return in the learner's world")
        figure.suptitle(f"{spec.environment}   (noise model: {spec.noise_model})", fontsize=11)
        bottom_legend(figure, *axes[0][0].get_legend_handles_labels())
    return figure
