"""The figures of the smaller studies: reward transfer, robust experts, sampling, convergence, many layouts."""

from collections.abc import Callable, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from robustirl.paper.figures.returns import draw_panel
from robustirl.paper.finite.layouts import cells
from robustirl.paper.finite.specs import Record
from robustirl.paper.finite.summary import rule_alpha
from robustirl.plotting import LEARNER, OPTIMAL, ROBUST, STANDARD, STYLE, bottom_legend, looks


def _canvas(panels: int, title: str, *, width: float = 3.3, height: float = 3.9):
    figure = Figure(figsize=(width * panels, height), layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.08))
    figure.suptitle(title, fontsize=11)
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def figure_transfer(records: Sequence[Record], note: str = "") -> Figure:
    """Draw reward transfer (Section 3.3) against learning in the learner's world.

    Measured gaps, and the bounds on them.
    """
    learner = records[0].spec.learner_noise
    experts = sorted({r.spec.expert_noise for r in records})
    direct = {(r.spec.expert_noise, r.spec.alpha): r for r in records if r.spec.train_noise is None}
    moved = {(r.spec.expert_noise, r.spec.train_noise): r for r in records if r.spec.train_noise is not None}
    alphas = [alpha for _, alpha in direct]
    trains = sorted({train for _, train in moved})
    middle = trains[len(trains) // 2]
    curves = (
        ("standard, in the learner's world", STANDARD, "o", "-", [direct.get((e, 1.0)) for e in experts]),
        (
            r"robust, $1-\alpha \approx |\epsilon_E-\epsilon_L|$",
            ROBUST[3],
            "v",
            "-",
            [direct.get((e, rule_alpha(learner, e, alphas))) for e in experts],
        ),
        ("transfer from the expert's world", ROBUST[4], "P", "-", [moved.get((e, e)) for e in experts]),
        (rf"transfer from $\epsilon = {middle:g}$", ROBUST[1], "D", "--", [moved.get((e, middle)) for e in experts]),
    )
    with matplotlib.rc_context(STYLE):
        figure, (left, right) = _canvas(2, "reward transfer" + (f"   ({note})" if note else ""), width=4.6, height=4.4)
        for label, color, marker, dashes, found in curves:
            known = [(e, r) for e, r in zip(experts, found, strict=True) if r is not None]
            if not known:
                continue
            xs = [e for e, _ in known]
            gaps = [r.optimal_discounted_return - r.discounted_return for _, r in known]
            left.plot(xs, gaps, color=color, marker=marker, linestyle=dashes, markersize=4.5, label=label)
            bounds = [np.nan if not r.bound else r.bound for _, r in known]
            if not np.isnan(bounds).all():
                right.plot(xs, bounds, color=color, marker=marker, linestyle=dashes, markersize=4.5)
        left.set_title("measured gap to the best discounted return")
        left.set_ylim(bottom=min(0.0, left.get_ylim()[0]))
        right.set_title("the paper's bounds on it (Theorems 1, 3; reward transfer)")
        if right.lines:
            right.set_yscale("log")
        else:
            words = "the theory has no bounds\nfor a kernel that leaks"
            right.text(0.5, 0.5, words, ha="center", va="center", transform=right.transAxes)
            right.set_xlim(left.get_xlim())
            right.set_yticks([])
        for axis in (left, right):
            axis.axvline(learner, color=LEARNER, linestyle=":", linewidth=1.4)
            axis.set_xlabel(r"expert's noise $\epsilon_E$")
            axis.set_xticks(experts)
        bottom_legend(figure, *left.get_legend_handles_labels())
    return figure


def figure_robust_experts(records: Sequence[Record], note: str = "") -> Figure:
    """Draw experts who play a game of their own: one panel per α_E."""
    strengths = sorted({r.spec.expert_alpha for r in records}, reverse=True)
    styles = looks(sorted({r.spec.alpha for r in records}, reverse=True))
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(len(strengths), "robust experts" + (f"   ({note})" if note else ""), width=3.0)
        for axis, strength in zip(axes, strengths, strict=True):
            draw_panel(axis, [r for r in records if r.spec.expert_alpha == strength], styles)
            axis.set_title(rf"$\alpha_E = {strength:g}$" + (" (an ordinary expert)" if strength == 1 else ""))
            axis.set_box_aspect(1)
            if axis is not axes[0]:
                axis.sharey(axes[0])
                axis.tick_params(labelleft=False)
        axes[0].autoscale(axis="y")
        axes[0].set_ylabel("return in the learner's world")
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def figure_sampled(records: Sequence[Record], note: str = "") -> Figure:
    """Draw exact returns (lines) and the paper's sampled ones (mean and SD).

    A second panel shows how far apart they are in standard errors.
    """
    alphas = sorted({r.spec.alpha for r in records}, reverse=True)
    with matplotlib.rc_context(STYLE):
        title = "exact against sampled evaluation" + (f"   ({note})" if note else "")
        figure, axes = _canvas(2, title, width=4.4, height=4.0)
        widest = 4.0
        for alpha, look in looks(alphas).items():
            own = sorted((r for r in records if r.spec.alpha == alpha), key=lambda r: r.spec.expert_noise)
            xs = [r.spec.expert_noise for r in own]
            axes[0].plot(
                xs, [r.total_return for r in own], color=look.color, linewidth=1.4, label=f"exact, {look.label}"
            )
            means = np.array([r.sampled_mean for r in own], dtype=float)
            spread = np.array([r.sampled_deviation for r in own], dtype=float)
            axes[0].errorbar(
                xs, means, spread, color=look.color, marker=look.marker, markersize=4, linestyle="none", capsize=3,
                label="sampled, mean ± SD",
            )  # fmt: skip
            error = spread / np.sqrt([r.spec.sampled for r in own])
            score = (means - [r.total_return for r in own]) / np.maximum(error, 1e-12)
            widest = max(widest, float(np.abs(score).max()) + 0.5)
            axes[1].plot(xs, score, color=look.color, marker=look.marker, linestyle="none", label=look.label)
        axes[1].axhspan(-1.96, 1.96, color="#eeeeee", zorder=0)
        axes[1].axhline(0, color=OPTIMAL, linewidth=0.9)
        axes[1].set_ylim(-widest, widest)
        axes[0].set_ylabel("return in the learner's world")
        axes[1].set_ylabel("(sampled − exact) / standard error")
        axes[1].set_title("gray: where 95 % should lie")
        for axis in axes:
            axis.set_xlabel(r"expert's noise $\epsilon_E$")
            axis.set_xticks(sorted({r.spec.expert_noise for r in records}))
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def figure_convergence(records: Sequence[Record], note: str = "") -> Figure:
    """Draw the paper's 200 steps against many more, a row per environment.

    Columns are the return, the occupancy gap and the size of the reward.
    """
    names = list(dict.fromkeys(r.spec.environment for r in records))
    counts = sorted({r.spec.steps for r in records})
    measures: tuple[tuple[str, Callable[[Record], float], bool], ...] = (
        ("return in the learner's world", lambda r: r.total_return, False),
        (r"occupancy gap $\|\rho_{mix} - \rho\|_1$", lambda r: r.occupancy_gap, True),
        (r"largest learned reward $|R_\theta|$", lambda r: r.largest_reward, True),
    )
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 2.7 * len(names) + 0.8), layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.08))
        grid = figure.subplots(len(names), 3, squeeze=False)
        figure.suptitle("more steps" + (f"   ({note})" if note else ""), fontsize=11)
        for row, name in zip(grid, names, strict=True):
            own = [r for r in records if r.spec.environment == name]
            for axis, (label, measure, logarithmic) in zip(row, measures, strict=True):
                for alpha, look in looks(sorted({r.spec.alpha for r in own}, reverse=True)).items():
                    for steps in counts:
                        curve = sorted(
                            (r.spec.expert_noise, measure(r))
                            for r in own
                            if (r.spec.alpha, r.spec.steps) == (alpha, steps)
                        )
                        if curve:
                            axis.plot(
                                *zip(*curve, strict=True),
                                color=look.color,
                                marker=look.marker,
                                markersize=4 if steps == counts[-1] else 2.5,
                                linestyle="-" if steps == counts[-1] else ":",
                                label=f"{look.label}, {steps} steps",
                            )
                if logarithmic:
                    axis.set_yscale("log")
                axis.set_ylabel(label, fontsize=8)
            row[0].set_title(name, loc="left")
        for axis in grid[-1]:
            axis.set_xlabel(r"expert's noise $\epsilon_E$")
        bottom_legend(figure, *grid[0][0].get_legend_handles_labels())
    return figure


def figure_layouts(
    records: Sequence[Record], measure: Callable[[Record], float], label: str, title: str, note: str = ""
) -> Figure:
    """Draw means over layouts with 95 % intervals, one panel per learner noise."""
    found = cells(records, measure)
    noises = sorted({key[0] for key in found})
    styles = looks(sorted({key[1] for key in found}, reverse=True))
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(len(noises), f"{title}   ({note})" if note else title, width=3.6)
        for axis, learner in zip(axes, noises, strict=True):
            axis.axvline(learner, color=LEARNER, linestyle=":", linewidth=1.4, label=r"learner's noise $\epsilon_L$")
            for shift, (alpha, look) in enumerate(styles.items()):
                curve = sorted((key[2], value) for key, value in found.items() if key[:2] == (learner, alpha))
                # A little apart, so that intervals can be told from each other.
                xs = np.array([noise for noise, _ in curve]) + 0.0022 * (shift - (len(styles) - 1) / 2)
                means = np.array([value.mean for _, value in curve])
                halves = [value.high - value.mean for _, value in curve]
                axis.errorbar(
                    xs, means, halves, color=look.color, marker=look.marker, markersize=4, capsize=2, label=look.label
                )
            axis.set_title(rf"$\epsilon_L = {learner:g}$")
            axis.set_xlabel(r"expert's noise $\epsilon_E$")
            if axis is not axes[0]:
                axis.sharey(axes[0])
                axis.tick_params(labelleft=False)
        axes[0].autoscale(axis="y")
        axes[0].set_ylabel(label)
        bottom_legend(figure, *axes[0].get_legend_handles_labels())
    return figure
