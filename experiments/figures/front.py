"""The picture of the README: one panel, three curves, and words beside them instead of a legend."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from experiments.paper.finite import Record
from experiments.tables import Interval
from robustirl.envs import GridWorld
from robustirl.plotting.style import OPTIMAL, ROBUST, STANDARD, STYLE

AUTO = "auto"
TALK: dict[Any, Any] = STYLE | {"font.size": 12, "axes.grid": False, "axes.linewidth": 0.9}
"""The house's style, to be read from the last row."""
BLUE, PALE, SKY = ROBUST[3], "#8fc9ee", "#3f9bd1"
"""The robust learners, and the words of the pale one, which a projector would swallow."""
SHADES = {-100.0: "#444444", -1.0: "#e2e2e2", 0.0: "#ffffff"}
"""The cells of the little map, by their reward."""


def figure_front(record: Record, found: Mapping[tuple[float, str], Interval]) -> Figure:
    """Draw over the expert's noise: the optimum, the standard learner, and the robust one.

    The robust learner's α comes from its data. Lines are means over draws of the demonstrations, bands their 95 %
    intervals. A fixed α below 1 is drawn, too, without a band.

    Args:
        record: Any of the runs, for their world.
        found: Means by (ε_E, α or auto).
    """
    curves: dict[str, dict[float, Interval]] = {}
    for (noise, choice), entry in found.items():
        curves.setdefault(choice, {})[noise] = entry
    with matplotlib.rc_context(TALK):
        figure = Figure(figsize=(10.4, 5.0), layout="constrained")
        axes = figure.subplots()
        optimal = record.optimal_return
        noises = np.array(sorted(curves["1"]))
        axes.plot(noises[[0, -1]], [optimal, optimal], color=OPTIMAL, linestyle=(0, (4, 3)), linewidth=1.6)
        for choice in sorted(curves.keys() - {"1", AUTO}):
            _draw(axes, curves[choice], PALE, 1.8, band=False)
        _draw(axes, curves["1"], STANDARD, 2.6)
        _draw(axes, curves[AUTO], BLUE, 2.6)
        _frame(axes, noises, record.spec.learner_noise)
        _words(axes, curves, optimal)
        environment = record.spec.make_environment()
        if isinstance(environment, GridWorld):
            _map(axes, environment)
    return figure


def _draw(axes: Axes, curve: dict[float, Interval], color: str, width: float, *, band: bool = True) -> None:
    noises = sorted(curve)
    own = [curve[noise] for noise in noises]
    if band and all(entry.count > 1 for entry in own):
        ends = ([entry.low for entry in own], [entry.high for entry in own])
        axes.fill_between(noises, *ends, color=color, alpha=0.18, linewidth=0)
    axes.plot(noises, [entry.mean for entry in own], color=color, linewidth=width, solid_capstyle="round")


def _where(learner: float) -> str:
    own = "without noise" if learner == 0 else f"with a noise of {learner:g}"
    return f"noise of the expert's world, for a learner {own}"


def _frame(axes: Axes, noises: np.ndarray, learner: float) -> None:
    axes.set_xlim(noises[0], noises[-1] * 1.48)  # Room for words at the right.
    axes.spines.bottom.set_bounds(noises[0], noises[-1])
    axes.set_xticks(np.linspace(noises[0], noises[-1], 5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.2g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.0f}".replace("-", "−")))
    axes.tick_params(length=3)
    axes.set_xlabel(_where(learner), loc="left")
    axes.set_ylabel("return in the learner's world")
    axes.set_title(
        "The further apart the worlds, the worse standard IRL. Robust IRL holds on.",
        loc="left",
        fontsize=13.5,
        fontweight="bold",
        pad=12,
    )


def _words(axes: Axes, curves: dict[str, dict[float, Interval]], optimal: float) -> None:
    """Draw a name at the end of each line, a little apart where lines end together."""
    end = max(curves["1"])
    fixed = sorted(curves.keys() - {"1", AUTO})
    names = [
        (optimal, "the best there is", OPTIMAL, "normal", 6),
        *((curves[name][end].mean, f"robust IRL, α = {name}", SKY, "normal", 5) for name in fixed),
        (curves[AUTO][end].mean, "robust IRL, α from the data", BLUE, "bold", -5),
        (curves["1"][end].mean, "standard IRL", STANDARD, "bold", 0),
    ]
    for place, text, color, weight, up in names:
        axes.annotate(
            text,
            (end, place),
            xytext=(8, up),
            textcoords="offset points",
            va="center",
            color=color,
            fontweight=weight,
            annotation_clip=False,
        )


def _map(axes: Axes, environment: GridWorld) -> None:
    """Draw the world, small, in the corner that the curves leave free."""
    inset = axes.inset_axes((0.03, 0.07, 0.20, 0.40))
    rewards = np.asarray(environment.rewards)
    colors = [[matplotlib.colors.to_rgb(SHADES.get(float(value), "#999999")) for value in row] for row in rewards]
    inset.imshow(colors)
    inset.set_xticks(np.arange(-0.5, rewards.shape[1]), labels=[])
    inset.set_yticks(np.arange(-0.5, rewards.shape[0]), labels=[])
    inset.grid(True, color="#ffffff", linewidth=0.8)
    inset.tick_params(length=0)
    inset.spines[:].set_visible(True)
    inset.spines[:].set_color("#999999")
    for row, column in environment.goals:
        inset.text(column, row, "G", ha="center", va="center", fontsize=9, fontweight="bold", color=STANDARD)
    words = "Start anywhere,\nreach G.\nA dark cell costs 100,\na light one 1."
    axes.text(0.225, 0.27, words, transform=axes.transAxes, fontsize=10, color="#555555", va="center", linespacing=1.35)
