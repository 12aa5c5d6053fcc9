"""Maps of a grid: rewards, policies as arrows, and occupancies, true ones beside learned ones."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch

from robustirl.envs import GridWorld
from robustirl.envs.gridworld import MOVES
from robustirl.envs.objectworld import ObjectWorld
from robustirl.plotting.style import bare

MAX_KEY = 4
OBJECT_COLORS = ("#0072B2", "#009E73")  # Blue and green.
FAINT = 0.12  # Moves less likely than this are not drawn.
ARROW: dict[str, Any] = {
    "edgecolor": "#222222",
    "linewidth": 0.3,
    "width": 0.09,
    "minlength": 0.01,
    "headwidth": 3.2,
    "headlength": 2.2,
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1,
    "units": "xy",
    "headaxislength": 2,
}


def draw_reward_map(axis: Axes, environment: GridWorld, title: str = "true reward") -> None:
    """Draw the true reward of every cell, the goals marked, and a key to its values."""
    rewards = environment.rewards
    values = np.unique(rewards)
    bare(axis, title)
    if len(values) <= MAX_KEY:
        # Few values: evenly spaced colors and a key, since -1 against -100 would vanish on a common scale.
        shades = matplotlib.colormaps["cividis"](np.linspace(0.05, 1, len(values)))
        axis.imshow(np.searchsorted(values, rewards), cmap=ListedColormap(shades))
        key = [Patch(facecolor=shade, edgecolor="#555555", linewidth=0.5) for shade in shades]
        labels = [f"{value:g}" for value in values]
        axis.legend(
            key, labels, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=MAX_KEY, fontsize=8, handlelength=1
        )
    else:
        scaled(axis, rewards, "cividis")
    landmarks(axis, environment)


def scaled(axis: Axes, values: np.ndarray, cmap: str) -> None:
    """Draw a map of numbers with its scale under it."""
    image = axis.imshow(values, cmap=cmap)
    axis.figure.colorbar(image, ax=axis, orientation="horizontal", shrink=0.75, pad=0.03, aspect=30)


def occupancy_bar(figure: Figure, norm: LogNorm, axes: Any) -> None:
    """Draw the scale of maps of occupancies beside them.

    It has a tick for every power of ten, which takes half the time of a layout with those between them.
    """
    bar = figure.colorbar(ScalarMappable(norm, "viridis"), ax=axes, shrink=0.8, pad=0.01, label="occupancy, log scale")
    bar.minorticks_off()


def landmarks(axis: Axes, environment: GridWorld, color: str = "#111111") -> None:
    """Draw the goals, and the objects where there are any."""
    face = "#ffffff" if color == "#111111" else "#00000060"
    box = {"boxstyle": "circle,pad=0.12", "facecolor": face, "linewidth": 0.4}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "fontweight": "bold", "color": color}
    for row, column in environment.goals:
        axis.text(column, row, "G", bbox=box, **style)
    if isinstance(environment, ObjectWorld):
        for item in environment.objects:
            place = (item.column, item.row)
            axis.add_patch(Circle(place, 0.34, facecolor=OBJECT_COLORS[item.outer], edgecolor="#ffffff", linewidth=0.8))
            axis.add_patch(Circle(place, 0.15, facecolor=OBJECT_COLORS[item.inner], edgecolor="#ffffff", linewidth=0.6))


def draw_policy(axis: Axes, policy: np.ndarray, shape: tuple[int, int]) -> None:
    """Draw an arrow per likely move, the longer and stronger the likelier."""
    rows, columns = np.divmod(np.arange(len(policy)), shape[1])
    for weight, (down, right) in zip(policy.T, MOVES.values(), strict=True):
        shown = weight > FAINT
        if shown.any():
            length = 0.2 + 0.25 * weight[shown]
            colors = np.column_stack([np.ones((int(shown.sum()), 3)), 0.35 + 0.65 * weight[shown]])
            axis.quiver(columns[shown], rows[shown], right * length, down * length, color=colors, **ARROW)
