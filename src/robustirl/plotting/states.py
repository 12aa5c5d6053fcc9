"""Draw one number for each state where the state lies, and a policy as arrows."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from robustirl.plotting.layout import Layout
from robustirl.plotting.style import ROBUST, bare

MAX_ARROW_STATES = 900  # On larger grids arrows are too small to be seen.
MAX_BARS = 60  # A row of more states is drawn as points.
FAINT = 0.12  # Moves less likely than this are not drawn.
WALL = [0.3, 0.3, 0.3, 1.0]


def draw_states(
    axis: Axes,
    layout: Layout,
    values: Float[np.ndarray, " S"],
    title: str,
    *,
    policy: Float[np.ndarray, "S A"] | None = None,
    norm: Normalize | None = None,
) -> None:
    """Draw one number a state, and a policy if one is given, as the layout says.

    Args:
        axis: Where to draw.
        layout: Where states lie.
        values: `[S]`.
        title: Over the map.
        policy: Drawn as arrows.
        norm: Common to several maps of occupancies; numbers below it have its darkest color.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from robustirl.plotting import layout_of
        >>> axis = Figure().subplots()
        >>> draw_states(axis, layout_of(None, 3), np.array([1.0, 2.0, 3.0]), "values")
        >>> axis.get_title()
        'values'
    """
    if layout.kind == "row":
        _draw_row(axis, values, title, norm)
        return
    assert layout.positions is not None
    bare(axis, title)
    shown = layout.drawn & ~layout.walls
    norm_or_range = Normalize(values[shown].min(), values[shown].max()) if norm is None else norm
    colors = ScalarMappable(norm_or_range, "cividis" if norm is None else "viridis")
    colors.set_array(values[shown])
    rgba = colors.to_rgba(values if norm is None else np.maximum(values, norm.vmin or 0))
    if layout.kind == "grid":
        _draw_cells(axis, layout, rgba)
        if policy is not None and layout.targets is not None and layout.size <= MAX_ARROW_STATES:
            _draw_moves(axis, layout, policy)
    else:
        _draw_nodes(axis, layout, rgba, policy)
    axis.figure.colorbar(colors, ax=axis, orientation="horizontal", shrink=0.75, pad=0.03, aspect=30)


def _draw_cells(axis: Axes, layout: Layout, rgba: Float[np.ndarray, "S 4"]) -> None:
    assert layout.positions is not None
    rows, columns, shape = layout.cells()
    image = np.zeros((*shape, 4))
    image[rows, columns] = rgba[layout.drawn]
    walls = layout.walls[layout.drawn]
    image[rows[walls], columns[walls]] = WALL
    left, bottom = layout.positions[layout.drawn].min(0) - 0.5
    axis.imshow(image, extent=(left, left + shape[1], bottom, bottom + shape[0]), interpolation="nearest")
    ends = layout.positions[layout.ends & layout.drawn]
    if len(ends) < len(rgba) / 2:
        side = max(2.0, 60.0 / max(shape))
        axis.plot(*ends.T, "s", markersize=side, fillstyle="none", color="#ffffff", markeredgewidth=2.2)
        axis.plot(*ends.T, "s", markersize=side, fillstyle="none", color="#111111", markeredgewidth=0.9)


def _draw_moves(axis: Axes, layout: Layout, policy: Float[np.ndarray, "S A"]) -> None:
    """Draw an arrow per likely move on a grid, the longer and stronger the likelier."""
    assert layout.positions is not None
    usual = layout.drawn & ~layout.walls & ~layout.ends
    for steps, weight in zip(layout.directions().swapaxes(0, 1), policy.T, strict=True):
        shown = (weight > FAINT) & np.any(steps != 0, axis=1) & usual
        if not shown.any():
            continue
        length = 0.2 + 0.25 * weight[shown]
        colors = np.ones((int(shown.sum()), 4))
        colors[:, 3] = 0.35 + 0.65 * weight[shown]
        axis.quiver(
            *layout.positions[shown].T, *(steps[shown].T * length), color=colors, edgecolor="#222222", linewidth=0.3,
            angles="xy", scale_units="xy", scale=1, units="xy", width=0.09, headwidth=3.2, headlength=2.2,
            headaxislength=2.0, minlength=0.01,
        )  # fmt: skip


def _draw_nodes(axis: Axes, layout: Layout, rgba: Float[np.ndarray, "S 4"], policy: np.ndarray | None) -> None:
    places, targets = layout.positions, layout.targets
    assert places is not None
    small = layout.kind == "graph"
    if small and targets is not None:
        weights = np.full(targets.shape, 0.3) if policy is None else policy
        for state, action in np.argwhere((weights > 0.05) & (targets != np.arange(layout.size)[:, None])):
            weight, target = float(weights[state, action]), targets[state, action]
            look = {"arrowstyle": "-|>", "color": (0, 0, 0, 0.15 + 0.75 * weight), "linewidth": 0.6 + 1.6 * weight}
            look |= {"shrinkA": 8, "shrinkB": 8, "connectionstyle": "arc3,rad=0.12"}
            axis.annotate("", tuple(places[target]), tuple(places[state]), arrowprops=look)
    shown = layout.drawn
    colors = np.where(layout.walls[:, None], WALL, rgba)[shown]
    axis.scatter(
        *places[shown].T, s=190 if small else 30, c=colors, edgecolors="#333333", linewidth=1 if small else 0.3
    )
    if small:
        light = colors[:, :3] @ (0.3, 0.59, 0.11) > 0.45
        for state, bright in zip(np.flatnonzero(shown), light, strict=True):
            color = "#111111" if bright else "#ffffff"
            axis.text(places[state, 0], places[state, 1], str(state), ha="center", va="center", fontsize=7, color=color)
    axis.margins(0.15)


def _draw_row(axis: Axes, values: np.ndarray, title: str, norm: Normalize | None) -> None:
    size = len(values)
    if size <= MAX_BARS:
        axis.bar(np.arange(size), values, color=ROBUST[3])
    else:
        axis.plot(np.arange(size), values, ".", color=ROBUST[3], markersize=2)
    axis.set_xlabel("state")
    if norm is not None:
        axis.set_yscale("log")
        axis.set_ylim(bottom=norm.vmin)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_title(title, fontsize=9)
