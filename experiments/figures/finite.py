"""Figures of the finite experiments: they read records and draw; nothing is computed here."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from experiments.figures.maps import draw_policy, draw_reward_map, landmarks, occupancy_bar, scaled
from experiments.paper.finite import Record
from experiments.paper.published import LOST_LAYOUTS, PublishedReturn, published_returns
from experiments.paper.summary import best_alpha, rule_alpha
from experiments.tables import Interval, grouped, interval
from robustirl.envs import GridWorld
from robustirl.envs.noise import PUBLISHED
from robustirl.plotting.style import (
    LEARNER,
    OPTIMAL,
    ROBUST,
    STANDARD,
    STYLE,
    Look,
    bare,
    bottom_legend,
    looks,
    plain_text,
)

PublishedReturns = Mapping[tuple[str, float, float, float], PublishedReturn]


def cells(records: Sequence[Record], measure: Callable[[Record], float]) -> dict[tuple[float, float, float], Interval]:
    """Return mean and interval over layouts by (ε_L, α, ε_E)."""
    groups = grouped(records, lambda r: (r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise))
    return {key: interval([measure(r) for r in own]) for key, own in groups.items()}


def figure_returns(
    records: Sequence[Record], note: str = "", *, best_only: bool = False, known: bool = False
) -> Figure:
    """Draw one panel per learner noise, one line per α, and the reward map where there is one.

    Args:
        records: The runs to draw; where they are of several layouts, means with 95 % bands.
        note: A line under the title, naming the kernel.
        best_only: Draw of the robust runs only those with the panel's best α, as in the paper's main figure.
        known: Draw the paper's own returns as faint open circles, under the kernel that they were made with.
    """
    spec = records[0].spec
    environment, count = spec.make_environment(), len({record.spec.seed for record in records})
    note += f"; means of {count} layouts, 95 % bands" if count > 1 else ""
    published = published_returns() if known and spec.noise_model == PUBLISHED else None
    published = None if spec.environment in LOST_LAYOUTS else published
    noises = sorted({record.spec.learner_noise for record in records})
    styles = looks(sorted({record.spec.alpha for record in records}, reverse=True))
    has_map = isinstance(environment, GridWorld)
    with matplotlib.rc_context(STYLE):
        panels = len(noises) + has_map
        figure = Figure(figsize=(3.0 * panels, 3.9), layout=ConstrainedLayoutEngine(h_pad=0.09))
        ratios = [0.8] * has_map + [1.0] * len(noises)
        axes = list(figure.subplots(1, panels, squeeze=False, width_ratios=ratios)[0])
        if isinstance(environment, GridWorld):
            title = f"true reward, layout {environment.layout}" if count > 1 else "true reward"
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


def figure_alpha_study(records: Sequence[Record], note: str = "") -> Figure:
    """Draw the returns of over- and underestimated α (appendix).

    Where |ε_E - ε_L| exceeds 1-α, the opponent is too weak for the mismatch.
    """
    styles = looks(sorted({record.spec.alpha for record in records}, reverse=True))
    learner, environment = records[0].spec.learner_noise, records[0].spec.make_environment()
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
    count = len({record.spec.seed for record in records})
    note += f"; {count} layouts" if count > 1 else ""
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


def _canvas(
    panels: int, title: str, records: Sequence[Record], note: str, *, width: float = 3.3, height: float = 3.9
) -> tuple[Figure, list[Axes]]:
    names = list(dict.fromkeys(record.spec.environment for record in records))
    title += f"   ({'; '.join([*(names if len(names) == 1 else ()), *([note] if note else ())])})"
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
        figure, (left, right) = _canvas(2, "reward transfer", records, note, width=4.6, height=4.4)
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
        figure, axes = _canvas(len(strengths), "robust experts", records, note, width=3.0)
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
        figure, axes = _canvas(2, "exact against sampled evaluation", records, note, width=4.4, height=4.0)
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
        where = f"{names[0]}; " if len(names) == 1 else ""
        figure.suptitle(f"more steps   ({where}{note})" if note else "more steps", fontsize=11)
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


def figure_maps(standard: Record, robust: Record, note: str = "") -> Figure:
    """Draw what was learned in one cell of a figure, standard and robust, beside the truth.

    Reward, policy, occupancy.
    """
    environment = standard.spec.make_environment()
    assert isinstance(environment, GridWorld)
    shape = environment.shape
    assert shape is not None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 6.6), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
        (top, bottom) = figure.subplots(2, 4)
        draw_reward_map(top[0], environment)
        for axis, result in zip(top[1:3], (standard, robust), strict=True):
            name = "standard" if result is standard else rf"robust, α = {result.spec.alpha:g}"
            title = f"learned reward and policy\n{name} (return {result.total_return:.4g})"
            bare(axis, title)
            scaled(axis, result.arrays["reward"].reshape(shape), "cividis")
            draw_policy(axis, result.arrays["player"], shape)
            landmarks(axis, environment)
        bare(top[3], "its opponent")
        scaled(top[3], robust.arrays["reward"].reshape(shape), "cividis")
        draw_policy(top[3], robust.arrays["opponent"], shape)
        landmarks(top[3], environment)
        occupancies = (
            ("expert's occupancy", standard.arrays["expert_occupancy"]),
            ("standard player's", standard.arrays["player_occupancy"]),
            ("robust player's", robust.arrays["player_occupancy"]),
            ("robust mixture's", robust.arrays["occupancy"]),
        )
        ceiling = max(float(values.max()) for _, values in occupancies)
        floor = min(float(values[values > 0].min()) for _, values in occupancies)
        smallest = max(floor, ceiling * 1e-4)
        norm = LogNorm(vmin=smallest, vmax=ceiling)
        for axis, (title, values) in zip(bottom, occupancies, strict=True):
            apart = np.abs(values - standard.arrays["expert_occupancy"]).sum()
            bare(axis, title if axis is bottom[0] else f"{title}\n" + r"ℓ₁ from the expert's: " + f"{apart:.3f}")
            axis.imshow(np.maximum(values, smallest).reshape(shape), cmap="viridis", norm=norm)
            landmarks(axis, environment, "#ffffff")
        occupancy_bar(figure, norm, bottom)
        spec = robust.spec
        where = rf"$\epsilon_L = {spec.learner_noise:g}$, $\epsilon_E = {spec.expert_noise:g}$"
        figure.suptitle(f"{plain_text(environment.name)}, {where}" + (f"   ({note})" if note else ""), fontsize=11)
    return figure
