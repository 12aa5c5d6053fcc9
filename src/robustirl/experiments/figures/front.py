"""The picture at the front door: one panel, three curves, and words beside them instead of a legend."""

from collections.abc import Sequence

import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from robustirl.envs import GridWorld
from robustirl.errors import InvalidInputError
from robustirl.experiments.figures.style import OPTIMAL, ROBUST, STANDARD, STYLE
from robustirl.experiments.layouts import Interval
from robustirl.experiments.specs import Record
from robustirl.experiments.toy_text_study import AUTO, cells

TALK = STYLE | {"font.size": 12, "axes.grid": False, "axes.linewidth": 0.9}
"""The house's style, to be read from the last row."""
BLUE, PALE = ROBUST[3], ROBUST[5]
SHADES = {-100.0: "#444444", -1.0: "#e2e2e2", 0.0: "#ffffff"}
"""The cells of the little map, by their reward."""


def figure_front(records: Sequence[Record]) -> Figure:
    """Return over the expert's noise: the optimum, the standard learner, the robust one with α from its data.

    Lines are means over draws of the demonstrations, bands their 95 % intervals. A fixed α below 1 among the records is
    drawn, too, without a band.
    """
    found = cells(records)
    curves: dict[str, dict[float, Interval]] = {}
    for (_, noise, _, choice), entry in found.items():
        curves.setdefault(choice, {})[noise] = entry
    if missing := {"1", AUTO} - curves.keys():
        raise InvalidInputError(f"the records hold no runs with alpha = {min(missing)}, which the picture needs.")
    with matplotlib.rc_context(TALK):
        figure = Figure(figsize=(9.6, 5.0), layout="constrained")
        axes = figure.subplots()
        optimal = records[0].optimal_return
        noises = np.array(sorted(curves["1"]))
        axes.axhline(optimal, color=OPTIMAL, linestyle=(0, (4, 3)), linewidth=1.4)
        for choice in sorted(curves.keys() - {"1", AUTO}):
            _draw(axes, curves[choice], PALE, 1.6, band=False)
        _draw(axes, curves["1"], STANDARD, 2.6)
        _draw(axes, curves[AUTO], BLUE, 2.6)
        _frame(axes, noises, records[0].spec.learner_noise)
        _words(axes, curves, optimal)
        environment = records[0].spec.make_environment()
        if isinstance(environment, GridWorld):
            _map(axes, environment)
    return figure


def _draw(axes: Axes, curve: dict[float, Interval], colour: str, width: float, *, band: bool = True) -> None:
    noises = sorted(curve)
    own = [curve[noise] for noise in noises]
    if band and all(entry.count > 1 for entry in own):
        ends = ([entry.low for entry in own], [entry.high for entry in own])
        axes.fill_between(noises, *ends, color=colour, alpha=0.18, linewidth=0)
    axes.plot(noises, [entry.mean for entry in own], color=colour, linewidth=width, solid_capstyle="round")


def _frame(axes: Axes, noises: np.ndarray, learner: float) -> None:
    axes.set_xlim(noises[0], noises[-1] * 1.36)  # Room for words at the right.
    axes.spines.bottom.set_bounds(noises[0], noises[-1])
    axes.xaxis.set_major_locator(MultipleLocator(0.05))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.2f}" if x <= noises[-1] + 1e-9 else ""))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.0f}".replace("-", "−")))
    axes.tick_params(length=3)
    axes.set_xlabel(f"noise of the expert's world (the learner's: {learner:g})", loc="left")
    axes.set_ylabel("return in the learner's world")
    axes.set_title(
        "The further apart the worlds, the worse standard IRL; robust IRL holds on",
        loc="left",
        fontsize=13.5,
        fontweight="bold",
        pad=12,
    )


def _words(axes: Axes, curves: dict[str, dict[float, Interval]], optimal: float) -> None:
    """A name at the end of each line, moved apart where lines end together."""
    end = max(curves["1"])
    standard, robust = (curves[choice][end].mean for choice in ("1", AUTO))
    fixed = sorted(curves.keys() - {"1", AUTO})
    names = [
        (optimal, "the best there is", OPTIMAL, "normal"),
        (robust, "robust IRL,\nα from the data", BLUE, "bold"),
        (standard, "standard IRL", STANDARD, "bold"),
    ]
    for place, text, colour, weight in names:
        axes.annotate(
            text,
            (end, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontweight=weight,
            annotation_clip=False,
        )
    for choice in fixed:
        curve = curves[choice]
        middle = sorted(curve)[3 * len(curve) // 4]
        axes.annotate(
            f"α = {choice}",
            (middle, curve[middle].mean),
            xytext=(2, 6),
            textcoords="offset points",
            color=PALE,
            fontsize=10.5,
        )


def _map(axes: Axes, environment: GridWorld) -> None:
    """The world, small, in the corner that the curves leave free."""
    inset = axes.inset_axes((0.035, 0.06, 0.21, 0.40))
    rewards = np.asarray(environment.rewards)
    colours = [[matplotlib.colors.to_rgb(SHADES.get(float(value), "#999999")) for value in row] for row in rewards]
    inset.imshow(colours)
    inset.set_xticks(np.arange(-0.5, rewards.shape[1]), labels=[])
    inset.set_yticks(np.arange(-0.5, rewards.shape[0]), labels=[])
    inset.grid(True, color="#ffffff", linewidth=0.8)
    inset.tick_params(length=0)
    inset.spines[:].set_visible(True)
    inset.spines[:].set_color("#999999")
    for row, column in environment.goals:
        inset.text(column, row, "G", ha="center", va="center", fontsize=9, fontweight="bold", color=STANDARD)
    words = "start anywhere,\nreach G;\na dark cell costs 100,\na light one 1"
    axes.text(0.265, 0.26, words, transform=axes.transAxes, fontsize=10, color="#555555", va="center", linespacing=1.35)
