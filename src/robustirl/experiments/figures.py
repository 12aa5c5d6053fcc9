"""Figures as the paper has them: a reward map, then one panel per learner noise.

The one module that imports matplotlib. It reads records and draws; nothing is computed here.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch

from robustirl.envs import Environment, GridWorld
from robustirl.experiments.published import PublishedReturn
from robustirl.experiments.results import write_atomically
from robustirl.experiments.specs import Record
from robustirl.experiments.theory_report import PairReport

STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "robustirl",  # The same figure gives the same file.
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}
STANDARD = "#000000"
OPTIMAL = "#777777"
LEARNER = "#999999"
# Okabe and Ito's palette, distinct under every common form of colour blindness, in the order of decreasing α.
ROBUST = ("#E69F00", "#D55E00", "#CC79A7", "#0072B2", "#009E73", "#56B4E9")
MARKERS = "sD^vPX"
MAX_KEY = 4
ZERO_GAP = 1e-6

PublishedReturns = Mapping[tuple[str, float, float, float], PublishedReturn]


def figure_returns(
    environment: Environment,
    records: Sequence[Record],
    published: PublishedReturns | None = None,
    note: str = "",
) -> Figure:
    """Return over expert noise: one panel per learner noise, one line per α, and the reward map where there is one.

    Args:
        environment: The environment the records are of.
        records: The runs to draw.
        published: The paper's own returns, drawn as faint open circles.
        note: A line under the title, naming the kernel.
    """
    noises = sorted({record.spec.learner_noise for record in records})
    alphas = sorted({record.spec.alpha for record in records}, reverse=True)
    has_map = isinstance(environment, GridWorld)
    with matplotlib.rc_context(STYLE):
        panels = len(noises) + has_map
        figure = Figure(figsize=(3.0 * panels, 3.9), layout=ConstrainedLayoutEngine(h_pad=0.09))
        ratios = [0.8] * has_map + [1.0] * len(noises)
        axes = list(figure.subplots(1, panels, squeeze=False, width_ratios=ratios)[0])
        if isinstance(environment, GridWorld):
            draw_reward_map(axes.pop(0), environment)
        for axis, noise in zip(axes, noises, strict=True):
            panel = [record for record in records if record.spec.learner_noise == noise]
            _draw_panel(axis, panel, alphas, published)
            axis.set_box_aspect(1)
            if axis is not axes[0]:
                axis.sharey(axes[0])
        axes[0].autoscale(axis="y")  # Sharing took over the first panel's limits; now all panels' data count.
        axes[0].set_ylabel("return in the learner's world")
        for axis in axes[1:]:
            axis.tick_params(labelleft=False)
        figure.suptitle(f"{environment.name}   ({note})" if note else environment.name, fontsize=11)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, columnspacing=1.4)
    return figure


def _draw_panel(
    axis: Axes, records: Sequence[Record], alphas: Sequence[float], published: PublishedReturns | None
) -> None:
    learner = records[0].spec.learner_noise
    axis.axvline(learner, color=LEARNER, linestyle=":", linewidth=1.4, label=r"learner's noise $\epsilon_L$")
    axis.axhline(records[0].optimal_return, color=OPTIMAL, linestyle="--", linewidth=1.2, label="optimal")
    for alpha, colour, marker, label in zip(alphas, *_styles(alphas), strict=True):
        curve = sorted((r.spec.expert_noise, r.total_return) for r in records if r.spec.alpha == alpha)
        if not curve:
            continue
        noises, returns = zip(*curve, strict=True)
        axis.plot(noises, returns, color=colour, marker=marker, markersize=4, linewidth=1.6, label=label)
        known = [
            (noise, published[key].mean)
            for noise in noises
            if published and (key := (records[0].spec.environment, learner, noise, alpha)) in published
        ]
        if known:
            first = alpha == alphas[0]
            axis.plot(
                *zip(*known, strict=True),
                linestyle="none",
                marker="o",
                markersize=9,
                markerfacecolor="none",
                markeredgecolor=colour,
                markeredgewidth=1.0,
                alpha=0.45,
                label="published" if first else None,
            )
    axis.set_title(rf"$\epsilon_L = {learner:g}$")
    axis.set_xlabel(r"expert's noise $\epsilon_E$")
    axis.set_xticks(sorted({record.spec.expert_noise for record in records}))


def _styles(alphas: Sequence[float]) -> tuple[list[str], list[str], list[str]]:
    """Colour, marker and label of each α: standard in black, robust ones in the palette's order."""
    robust = [alpha for alpha in alphas if alpha < 1]
    rank = {alpha: robust.index(alpha) % len(ROBUST) for alpha in robust}
    colours = [STANDARD if alpha == 1 else ROBUST[rank[alpha]] for alpha in alphas]
    markers = ["o" if alpha == 1 else MARKERS[rank[alpha]] for alpha in alphas]
    labels = [rf"$\alpha = 1$ (standard)" if alpha == 1 else rf"$\alpha = {alpha:g}$" for alpha in alphas]  # noqa: F541
    return colours, markers, labels


def draw_reward_map(axis: Axes, environment: GridWorld) -> None:
    """The true reward of every cell, the goals marked, and a key to its values."""
    rewards = environment.rewards
    values = np.unique(rewards)
    axis.set_title("true reward")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)
    if len(values) <= MAX_KEY:
        # Few values: evenly spaced colours and a key, since -1 against -100 would vanish on a common scale.
        shades = matplotlib.colormaps["cividis"](np.linspace(0.05, 1, len(values)))
        axis.imshow(np.searchsorted(values, rewards), cmap=ListedColormap(shades))
        key = [Patch(facecolor=shade, edgecolor="#555555", linewidth=0.5) for shade in shades]
        labels = [f"{value:g}" for value in values]
        axis.legend(
            key, labels, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=MAX_KEY, fontsize=8, handlelength=1
        )
    else:
        image = axis.imshow(rewards, cmap="cividis")
        axis.figure.colorbar(image, ax=axis, orientation="horizontal", shrink=0.8, pad=0.04)
    for row, column in environment.goals:
        axis.text(column, row, "G", ha="center", va="center", fontsize=8, fontweight="bold", color="#111111")


def figure_theory(environment: Environment, reports: Sequence[PairReport], note: str = "") -> Figure:
    """Measured gaps, the bounds on them, and certificates, over growing mismatch between learner and expert."""
    reports = sorted(reports, key=lambda report: report.distance)
    distances = [report.distance for report in reports]
    standard, robust = [r.standard for r in reports], [r.robust for r in reports]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.3), layout=ConstrainedLayoutEngine(w_pad=0.12))
        left, right = figure.subplots(1, 2)
        for learnt, colour, marker, name in (
            (standard, STANDARD, "o", "standard"),
            (robust, ROBUST[3], "v", "robust"),
        ):
            gaps = [
                entry.gap if entry.gap > ZERO_GAP else np.nan for entry in learnt
            ]  # Zero has no place on a log scale.
            label = f"measured gap, {name}" + (" (zero throughout)" if np.isnan(gaps).all() else "")
            left.plot(distances, gaps, color=colour, marker=marker, markersize=4.5, label=label)
            limits = [entry.bound.value or np.nan for entry in learnt]
            theorem = "Theorem 1" if name == "standard" else "Theorem 3"
            left.plot(distances, limits, color=colour, linestyle="--", linewidth=1.1, label=f"{theorem}, {name}")
        left.axhline(reports[0].trivial, color=OPTIMAL, linestyle=":", linewidth=1.4, label="largest gap there can be")
        positive = [max(e.gap, e.bound.value) for e in standard + robust if e.bound.value > 0]
        smallest = min([e.gap for e in standard + robust if e.gap > ZERO_GAP], default=1e-3)
        left.set_yscale("log")
        left.set_ylim(smallest / 3, max([reports[0].trivial, *positive]) * 3)
        left.set_title("gap to the best return in the learner's world")
        left.set_ylabel("discounted return, log scale")
        for learnt, colour, name in ((standard, STANDARD, "standard"), (robust, ROBUST[3], "robust")):
            worst = [float(entry.certificate.worst_return) for entry in learnt]
            best = [float(entry.certificate.best_return) for entry in learnt]
            nominal = [float(entry.certificate.nominal_return) for entry in learnt]
            right.fill_between(distances, worst, best, color=colour, alpha=0.13, linewidth=0)
            right.plot(distances, worst, color=colour, linewidth=1.1, linestyle="--", label=f"worst case, {name}")
            right.plot(distances, nominal, color=colour, marker="o", markersize=3.5, label=f"return, {name}")
        right.axhline(reports[0].optimal_return, color=OPTIMAL, linestyle=":", linewidth=1.4, label="optimal")
        right.set_title("certificate: all kernels within that distance")
        right.set_ylabel("discounted return")
        for axis in (left, right):
            axis.set_xlabel(r"mismatch $d_{\mathrm{dyn}}(T^L, T^E)$")
            axis.legend(fontsize=7.5)
        figure.suptitle(f"{environment.name}   ({note})" if note else environment.name, fontsize=11)
    return figure


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as PNG and SVG beside each other, `path` with either suffix added, and say where."""
    written = []
    for suffix in ("png", "svg"):
        buffer = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.savefig(buffer, format=suffix, metadata={"Date": None} if suffix == "svg" else {"Software": None})
        written.append(path.with_name(f"{path.name}.{suffix}"))
        write_atomically(written[-1], buffer.getvalue())
    return written
