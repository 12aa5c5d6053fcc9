"""The continuous experiment over the expert's noise, as in the paper: a panel per learner noise."""

from collections.abc import Mapping, Sequence

import matplotlib
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.paper.continuous.specs import ExpertRecord
from robustirl.paper.continuous.statistics import CellStatistics, Estimate, best_robust_alpha
from robustirl.paper.published import PublishedContinuous
from robustirl.plotting import LEARNER, OPTIMAL, ROBUST, STYLE, Look, bottom_legend, looks

Published = Mapping[tuple[float, float, float], PublishedContinuous]
APART = 0.0035  # Between the curves of one panel, so that intervals can be told from each other.
LOST = 700.0  # Curves that fall further below the expert than this leave the panel, or nothing else could be seen.


def figure_continuous(
    cells: Sequence[CellStatistics],
    experts: Sequence[ExpertRecord],
    published: Published | None = None,
    note: str = "",
    *,
    best_only: bool = False,
) -> Figure:
    """Draw returns above, and the share of episodes that reach the goal below.

    Returns are interquartile means over seeds, with 95 % intervals.

    Args:
        cells: The statistics to draw.
        experts: Experts, of which those with a learner's own noise give the mark to reach there.
        published: The published policies' medians and shares, drawn as faint open circles.
        note: A line in the title.
        best_only: Draw of the robust learners only that with the panel's best α, as in the paper's main figure.
    """
    noises = sorted({cell.learner_noise for cell in cells})
    styles = looks(sorted({cell.alpha for cell in cells}, reverse=True))
    marks = {record.spec.noise: record.mean_return for record in experts}
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(max(3.4 * len(noises) + 0.6, 5.2), 5.4), layout=ConstrainedLayoutEngine(h_pad=0.07, w_pad=0.06)
        )
        rows = figure.subplots(2, len(noises), squeeze=False, sharex=True, sharey="row", height_ratios=[2.2, 1])
        for (above, below), learner in zip(rows.T, noises, strict=True):
            panel = [cell for cell in cells if cell.learner_noise == learner]
            shown, title = dict(styles), rf"$\epsilon_L = {learner:g}$"
            best = best_robust_alpha(panel)
            if best_only and best is not None:
                shown = {alpha: look for alpha, look in styles.items() if alpha == 1}
                shown[best] = Look(ROBUST[3], "v", "-", "robust, best α of the panel")
                title += rf";  robust: α = {best:g}"
            for axis in (above, below):
                axis.axvline(
                    learner, color=LEARNER, linestyle=":", linewidth=1.4, label=r"learner's noise $\epsilon_L$"
                )
            if learner in marks:
                above.axhline(
                    marks[learner], color=OPTIMAL, linestyle="--", linewidth=1.2, label="expert of the learner's world"
                )
            _draw(above, panel, shown, published, "interquartile", "median")
            _draw(below, panel, shown, published, "goal", "goal_share")
            above.set_title(title)
            below.set_xlabel(r"expert's noise $\epsilon_E$")
            below.set_xticks(sorted({cell.expert_noise for cell in cells}))
        values = [cell.interquartile.value for cell in cells] + list(marks.values())
        if best_only and published:
            values += [published[key].median for cell in cells if (key := _key(cell)) in published and cell.alpha == 1]
        _limit(rows[0][0], values)
        rows[1][0].set_ylim(-0.05, 1.08)
        rows[0][0].set_ylabel("return in the learner's world")
        rows[1][0].set_ylabel("reach the goal")
        rows[1][0].yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, symbol=" %"))
        figure.suptitle(f"GaussianGrid   ({note})" if note else "GaussianGrid", fontsize=11)
        bottom_legend(figure, *rows[0][0].get_legend_handles_labels())
    return figure


def _draw(
    axis: Axes,
    cells: Sequence[CellStatistics],
    styles: Mapping[float, Look],
    published: Published | None,
    statistic: str,
    known: str,
) -> None:
    """Draw the curves of one panel, and beside them what was published."""
    named = False
    for place, (alpha, look) in enumerate(styles.items()):
        own = sorted((cell for cell in cells if cell.alpha == alpha), key=lambda cell: cell.expert_noise)
        if not own:
            continue
        shift = APART * (place - (len(styles) - 1) / 2)
        found: list[Estimate] = [getattr(cell, statistic) for cell in own]
        values = np.array([item.value for item in found])
        below = [item.value - item.low if np.isfinite(item.low) else 0.0 for item in found]
        above = [item.high - item.value if np.isfinite(item.high) else 0.0 for item in found]
        axis.errorbar(
            [cell.expert_noise + shift for cell in own], values, [below, above], color=look.color, marker=look.marker,
            linestyle=look.dashes, markersize=4, linewidth=1.6, elinewidth=1.0, capsize=2, label=look.label,
        )  # fmt: skip
        circles = [
            (cell.expert_noise + shift, getattr(published[key], known))
            for cell in own
            if published and (key := _key(cell)) in published
        ]
        if circles:
            axis.plot(
                *zip(*circles, strict=True),
                linestyle="none",
                marker="o",
                markersize=9 if len(styles) <= 2 else 6,
                markerfacecolor="none",
                markeredgecolor=look.color,
                alpha=0.45,
                label=None if named else "published (median)",
            )
            named = True


def _key(cell: CellStatistics) -> tuple[float, float, float]:
    return cell.learner_noise, cell.expert_noise, cell.alpha


def _limit(axis: Axes, values: Sequence[float]) -> None:
    """Keep the scale to what can be told apart: a learner that never arrives loses thousands."""
    top, bottom = max(values), min(values)
    room = 0.06 * max(min(top - bottom, LOST), 20.0)
    axis.set_ylim(max(axis.get_ylim()[0], top - LOST, bottom - 4 * room), top + 2 * room)
