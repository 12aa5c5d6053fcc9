"""Figures of the continuous experiment: returns over the expert's noise, and rewards as landscapes with paths."""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.colors
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from experiments.paper.continuous import ContinuousRecord, ExpertRecord
from experiments.paper.continuous_report import CellStatistics, Estimate, Published, best_robust_alpha
from robustirl.envs import GaussianGrid
from robustirl.envs.gaussian_grid import GOAL, START
from robustirl.plotting.style import LEARNER, OPTIMAL, ROBUST, STANDARD, STYLE, Look, bare, bottom_legend, looks

APART = 0.0035  # Between the curves of one panel, so that intervals can be told from each other.
LOST = 700.0  # Curves that fall further below the expert than this leave the panel, or nothing else could be seen.
POINTS = 121
LEVELS = 24
PATH = "#ffffff"
SHOWN = 4  # Paths a panel; more would hide each other.


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


def figure_landscape(
    expert: ExpertRecord, standard: ContinuousRecord, robust: ContinuousRecord, note: str = ""
) -> Figure:
    """Draw the true reward with the expert's paths, learned rewards with the learners' paths.

    A learned reward is compared up to a positive factor and a constant: neither changes what is best over a fixed time,
    and the learner is free in both.
    """
    spec = robust.spec
    world = spec.world()
    panels = (
        ("true reward, and the expert\n" + rf"at $\epsilon_E = {spec.expert_noise:g}$", world.reward, expert),
        _learned("standard", world, standard),
        _learned(rf"robust, α = {spec.alpha:g}", world, robust),
    )
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.2, 4.85), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06))
        for axis, (title, reward, result) in zip(figure.subplots(1, 3), panels, strict=True):
            bare(axis, title)
            _contours(axis, reward)
            _paths(axis, result.arrays["paths"])
        where = rf"learner's noise $\epsilon_L = {spec.learner_noise:g}$, expert's $\epsilon_E = {spec.expert_noise:g}$"
        figure.suptitle(f"GaussianGrid, {where}" + (f"   ({note})" if note else ""), fontsize=11)
    return figure


def _learned(name: str, world: GaussianGrid, record: ContinuousRecord) -> tuple[str, Callable, ContinuousRecord]:
    theta = jnp.asarray(record.arrays["parameters"])
    title = f"learned reward and player, {name}\nreturn {record.mean_return:.4g}, goal {record.goal_share:.0%}"
    return title.replace("%", " %"), lambda state: theta @ world.features(state), record


def _contours(axis: Axes, reward: Callable) -> None:
    """Draw filled contours on a scale that excludes the jump at the goal.

    Beside that jump other differences would vanish.
    """
    line = np.linspace(-1, 1, POINTS)
    states = np.stack(np.meshgrid(line, line), -1)
    values = np.asarray(jax.vmap(jax.vmap(reward))(jnp.asarray(states)))
    goal = (states[..., 0] >= GOAL) & (states[..., 1] <= -GOAL)
    inside = np.where(goal, np.nan, values)
    # Levels by quantile: the pit is deep and small, and even steps would leave the rest flat.
    levels = np.unique(np.nanquantile(inside, np.linspace(0, 1, LEVELS)))
    shades = axis.contourf(
        line, line, np.where(goal, np.nanmax(inside), values), levels=levels, cmap="cividis",
        norm=matplotlib.colors.BoundaryNorm(levels, 256), extend="both",
    )  # fmt: skip
    bar = axis.figure.colorbar(shades, ax=axis, orientation="horizontal", shrink=0.85, pad=0.03, aspect=32)
    bar.set_ticks(levels[:: max(len(levels) // 5, 1)].tolist())
    bar.ax.minorticks_off()
    bar.ax.set_xticklabels([f"{tick:.2g}".replace("-", "−") for tick in bar.get_ticks()], fontsize=7.5)
    axis.set_aspect("equal")
    axis.set_xlim(-1.03, 1.03)
    axis.set_ylim(-1.03, 1.06)
    axis.add_patch(Rectangle((GOAL, -1), 1 - GOAL, 1 - GOAL, facecolor="#E69F00", edgecolor=STANDARD, linewidth=0.8))
    outline = [withStroke(linewidth=2.5, foreground=PATH)]
    axis.text(0.8, -0.95, "goal", ha="right", va="center", fontsize=8.5, color=STANDARD, path_effects=outline)


def _paths(axis: Axes, paths: np.ndarray) -> None:
    for path in paths[:SHOWN]:
        axis.plot(*path.T, color=STANDARD, linewidth=2.2, alpha=0.5, solid_capstyle="round")
        axis.plot(*path.T, color=PATH, linewidth=1.0, alpha=0.95)
    axis.plot(*START, marker="o", markersize=6, markerfacecolor=PATH, markeredgecolor=STANDARD)
