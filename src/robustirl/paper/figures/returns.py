"""Return over expert noise, as in the paper's figures: a reward map, then one panel per learner noise."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.envs import Environment, GridWorld
from robustirl.paper.finite.layouts import cells
from robustirl.paper.finite.specs import Record
from robustirl.paper.finite.summary import best_alpha
from robustirl.paper.published import PublishedReturn
from robustirl.plotting import (
    LEARNER,
    OPTIMAL,
    ROBUST,
    STANDARD,
    STYLE,
    Look,
    bottom_legend,
    draw_reward_map,
    looks,
    plain_text,
)

PublishedReturns = Mapping[tuple[str, float, float, float], PublishedReturn]


def figure_returns(
    environment: Environment,
    records: Sequence[Record],
    published: PublishedReturns | None = None,
    note: str = "",
    *,
    best_only: bool = False,
) -> Figure:
    """Draw one panel per learner noise, one line per α, and the reward map where there is one.

    Args:
        environment: The environment the records are of; its map is that of the first layout.
        records: The runs to draw; where they are of several layouts, means with 95 % bands.
        published: The paper's own returns, drawn as faint open circles.
        note: A line under the title, naming the kernel.
        best_only: Draw of the robust runs only those with the panel's best α, as in the paper's main figure.
    """
    noises = sorted({record.spec.learner_noise for record in records})
    styles = looks(sorted({record.spec.alpha for record in records}, reverse=True))
    has_map = isinstance(environment, GridWorld)
    with matplotlib.rc_context(STYLE):
        panels = len(noises) + has_map
        figure = Figure(figsize=(3.0 * panels, 3.9), layout=ConstrainedLayoutEngine(h_pad=0.09))
        ratios = [0.8] * has_map + [1.0] * len(noises)
        axes = list(figure.subplots(1, panels, squeeze=False, width_ratios=ratios)[0])
        if isinstance(environment, GridWorld):
            several = len({record.spec.seed for record in records}) > 1
            title = f"true reward, layout {environment.layout}" if several else "true reward"
            draw_reward_map(axes.pop(0), environment, title)
        for axis, noise in zip(axes, noises, strict=True):
            panel = [record for record in records if record.spec.learner_noise == noise]
            shown = dict(styles)
            best = best_alpha(panel)
            if best_only and best is not None:
                shown = {alpha: look for alpha, look in styles.items() if alpha in (1.0, best)}
                shown[best] = Look(ROBUST[3], "v", "-", "robust, best α of the panel")
            draw_panel(axis, panel, shown, published)
            if best_only and best is not None:
                axis.set_title(rf"$\epsilon_L = {noise:g}$;  robust: α = {best:g}")
            axis.set_box_aspect(1)
            if axis is not axes[0]:
                axis.sharey(axes[0])
        axes[0].autoscale(axis="y")  # Sharing took over the first panel's limits; now all panels' data count.
        axes[0].set_ylabel("return in the learner's world")
        for axis in axes[1:]:
            axis.tick_params(labelleft=False)
        figure.suptitle(plain_text(environment.name) + (f"   ({note})" if note else ""), fontsize=11)
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def draw_panel(
    axis: Axes, records: Sequence[Record], styles: Mapping[float, Look], published: PublishedReturns | None = None
) -> None:
    """Draw the curves of one learner noise.

    Of several layouts the mean is drawn, with a band of its 95 % interval.
    """
    learner = records[0].spec.learner_noise
    optimal = float(np.mean([record.optimal_return for record in records]))
    found = cells(records, lambda record: record.total_return)
    axis.axvline(learner, color=LEARNER, linestyle=":", linewidth=1.4, label=r"learner's noise $\epsilon_L$")
    axis.axhline(optimal, color=OPTIMAL, linestyle="--", linewidth=1.2, label="optimal")
    named = False
    for alpha, look in styles.items():
        noises = sorted(expert for _, own, expert in found if own == alpha)
        if not noises:
            continue
        curve = [found[learner, alpha, noise] for noise in noises]
        returns = [entry.mean for entry in curve]
        if any(entry.count > 1 for entry in curve):
            low, high = [entry.low for entry in curve], [entry.high for entry in curve]
            axis.fill_between(noises, low, high, color=look.color, alpha=0.15, linewidth=0)
        axis.plot(
            noises,
            returns,
            color=look.color,
            marker=look.marker,
            linestyle=look.dashes,
            markersize=4,
            linewidth=1.6,
            label=look.label,
        )
        known = [
            (noise, published[key].mean)
            for noise in noises
            if published and (key := (records[0].spec.environment, learner, noise, alpha)) in published
        ]
        if known:
            axis.plot(
                *zip(*known, strict=True),
                linestyle="none",
                marker="o",
                markersize=9,
                markerfacecolor="none",
                markeredgecolor=look.color,
                markeredgewidth=1.0,
                alpha=0.45,
                label=None if named else "published",
            )
            named = True
    axis.set_title(rf"$\epsilon_L = {learner:g}$")
    axis.set_xlabel(r"expert's noise $\epsilon_E$")
    axis.set_xticks(sorted({record.spec.expert_noise for record in records}))


def figure_alpha_study(environment: Environment, records: Sequence[Record], note: str = "") -> Figure:
    """Draw the returns of over- and underestimated α (appendix).

    Where |ε_E - ε_L| exceeds 1-α, the opponent is too weak for the mismatch.
    """
    styles = looks(sorted({record.spec.alpha for record in records}, reverse=True))
    learner = records[0].spec.learner_noise
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), layout=ConstrainedLayoutEngine(h_pad=0.09))
        axis = figure.subplots()
        draw_panel(axis, records, styles)
        noises = np.array(sorted({record.spec.expert_noise for record in records}))
        for level, (alpha, look) in enumerate(styles.items()):
            if alpha < 1:
                low, high = max(learner - (1 - alpha), noises.min()), min(learner + (1 - alpha), noises.max())
                height = 0.03 + 0.035 * level
                transform = axis.get_xaxis_transform()
                axis.plot([low, high], [height, height], color=look.color, linewidth=4, alpha=0.55, transform=transform)
        axis.text(
            0.98,
            0.02,
            "bars: 1 - α covers the mismatch",
            transform=axis.transAxes,
            ha="right",
            fontsize=7.5,
            color=OPTIMAL,
        )
        axis.set_ylabel("return in the learner's world")
        axis.margins(y=0.16)
        figure.suptitle(plain_text(environment.name) + (f"   ({note})" if note else ""), fontsize=11)
        bottom_legend(figure, *axis.get_legend_handles_labels())
    return figure


def figure_gap(records: Sequence[Record], note: str = "") -> Figure:
    """Draw over the mismatch how far the learner is behind its expert, each in its own world.

    There is a panel per environment.
    """
    names = list(dict.fromkeys(record.spec.environment for record in records))
    with matplotlib.rc_context(STYLE):
        columns = min(3, len(names))
        rows = -(-len(names) // columns)
        figure = Figure(figsize=(3.3 * columns, 2.7 * rows + 0.9), layout=ConstrainedLayoutEngine(h_pad=0.09))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis in axes[len(names) :]:
            axis.set_visible(False)
        for axis, name in zip(axes, names, strict=False):
            own = [record for record in records if record.spec.environment == name]
            best = best_alpha(own)
            for alpha, color, marker, label in (
                (1.0, STANDARD, "o", "standard"),
                (best, ROBUST[3], "v", "robust, best α of the environment"),
            ):
                gaps: dict[float, list[float]] = {}
                for r in own:
                    if r.spec.alpha == alpha:
                        mismatch = round(r.spec.expert_noise - r.spec.learner_noise, 9)
                        gaps.setdefault(mismatch, []).append(r.total_return - r.expert_return)
                xs = sorted(gaps)
                if xs:
                    axis.plot(xs, [np.mean(gaps[x]) for x in xs], color=color, marker=marker, markersize=4, label=label)
                    dots = [(x, y) for x in xs for y in gaps[x]]
                    axis.scatter(*zip(*dots, strict=True), color=color, s=5, alpha=0.35, linewidths=0)
            axis.axhline(0, color=OPTIMAL, linewidth=0.9)
            axis.axvline(0, color=LEARNER, linestyle=":", linewidth=1.2)
            axis.set_title(name + ("" if best is None else rf"   (α = {best:g})"))
        for axis in axes[: len(names)]:
            axis.set_xlabel(r"mismatch $\epsilon_E - \epsilon_L$")
        for axis in axes[::columns]:
            axis.set_ylabel("learner's return − expert's")
        figure.suptitle("gap between learner and expert" + (f"   ({note})" if note else ""), fontsize=11)
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure
