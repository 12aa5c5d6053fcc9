"""Maps of a grid: rewards, policies as arrows, and occupancies, true ones beside learnt ones."""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Circle, Patch

from robustirl.envs import GridWorld, ObjectWorld
from robustirl.envs.gridworld import MOVES
from robustirl.experiments.figures.style import STYLE
from robustirl.experiments.specs import Finding

MAX_KEY = 4
OBJECT_COLOURS = ("#0072B2", "#009E73")  # Blue and green.
FAINT = 0.12  # Moves less likely than this are not drawn.


def draw_reward_map(axis: Axes, environment: GridWorld, title: str = "true reward") -> None:
    """The true reward of every cell, the goals marked, and a key to its values."""
    rewards = environment.rewards
    values = np.unique(rewards)
    bare(axis, title)
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
        scaled(axis, rewards, "cividis")
    landmarks(axis, environment)


def figure_maps(environment: GridWorld, standard: Finding, robust: Finding, note: str = "") -> Figure:
    """What was learnt in one cell of a figure, standard and robust, beside the truth: reward, policy, occupancy."""
    shape = environment.shape
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 6.6), layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
        (top, bottom) = figure.subplots(2, 4)
        draw_reward_map(top[0], environment)
        for axis, finding in zip(top[1:3], (standard, robust), strict=True):
            name = "standard" if finding is standard else rf"robust, $\alpha = {finding.record.spec.alpha:g}$"
            title = f"learnt reward and policy\n{name} (return {finding.record.total_return:.4g})"
            bare(axis, title)
            scaled(axis, finding.arrays["reward"].reshape(shape), "cividis")
            _arrows(axis, finding.arrays["player"], shape)
            landmarks(axis, environment)
        bare(top[3], "its opponent")
        scaled(top[3], robust.arrays["reward"].reshape(shape), "cividis")
        _arrows(top[3], robust.arrays["opponent"], shape)
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
            bare(axis, title if axis is bottom[0] else f"{title}\n" + r"$\ell_1$ from the expert's: " + f"{apart:.3f}")
            axis.imshow(np.maximum(values, smallest).reshape(shape), cmap="viridis", norm=norm)
            landmarks(axis, environment, "#ffffff")
        figure.colorbar(ScalarMappable(norm, "viridis"), ax=bottom, shrink=0.8, pad=0.01, label="occupancy, log scale")
        spec = robust.record.spec
        where = rf"$\epsilon_L = {spec.learner_noise:g}$, $\epsilon_E = {spec.expert_noise:g}$"
        figure.suptitle(f"{environment.name}, {where}" + (f"   ({note})" if note else ""), fontsize=11)
    return figure


def bare(axis: Axes, title: str) -> None:
    """An axis for a map: a title, and nothing around it."""
    axis.set_title(title, fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)


def scaled(axis: Axes, values: np.ndarray, cmap: str) -> None:
    """A map of numbers with its scale under it."""
    image = axis.imshow(values, cmap=cmap)
    axis.figure.colorbar(image, ax=axis, orientation="horizontal", shrink=0.75, pad=0.03, aspect=30)


def _arrows(axis: Axes, policy: np.ndarray, shape: tuple[int, int]) -> None:
    """An arrow per likely move, the longer and stronger the likelier."""
    rows, columns = np.indices(shape)
    for action, (down, right) in enumerate(MOVES.values()):
        weight = policy[:, action].reshape(shape)
        shown = weight > FAINT
        if not shown.any():
            continue
        length = 0.2 + 0.25 * weight[shown]
        colours = np.ones((int(shown.sum()), 4))
        colours[:, 3] = 0.35 + 0.65 * weight[shown]
        axis.quiver(
            columns[shown],
            rows[shown],
            right * length,
            down * length,
            color=colours,
            edgecolor="#222222",
            linewidth=0.3,
            angles="xy",
            scale_units="xy",
            scale=1,
            units="xy",
            width=0.09,
            headwidth=3.2,
            headlength=2.2,
            headaxislength=2.0,
            minlength=0.01,
        )


def landmarks(axis: Axes, environment: GridWorld, colour: str = "#111111") -> None:
    """The goals, and the objects where there are any."""
    for row, column in environment.goals:
        axis.text(
            column,
            row,
            "G",
            ha="center",
            va="center",
            fontsize=8,
            fontweight="bold",
            color=colour,
            bbox={
                "boxstyle": "circle,pad=0.12",
                "facecolor": "#ffffff" if colour == "#111111" else "#00000060",
                "linewidth": 0.4,
            },
        )
    if isinstance(environment, ObjectWorld):
        for item in environment.objects:
            place = (item.column, item.row)
            axis.add_patch(
                Circle(place, 0.34, facecolor=OBJECT_COLOURS[item.outer], edgecolor="#ffffff", linewidth=0.8)
            )
            axis.add_patch(
                Circle(place, 0.15, facecolor=OBJECT_COLOURS[item.inner], edgecolor="#ffffff", linewidth=0.6)
            )
