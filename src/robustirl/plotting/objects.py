"""Figures of single objects, as their `plot` methods return them: a fit, a certificate, demonstrations."""

import io
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from robustirl._runtime import short_value
from robustirl.plotting.arrows import MAX_ARROWS, draw_moves
from robustirl.plotting.layouts import Layout, layout_of
from robustirl.plotting.maps import bare, scaled
from robustirl.plotting.style import ROBUST, STANDARD, STYLE

MAX_BARS = 60  # States in a table; of more, those with the largest numbers are shown.
MAX_PATHS = 40  # Episodes that are drawn as lines.
FLOOR = 1e-4  # Of the largest occupancy: smaller ones have the darkest color.


class ShownFigure(Figure):
    """A figure that a notebook shows when it is the value of a cell, whatever backend is in use."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def plot_fit(fit: Any, world: Any = None, *, shape: tuple[int, int] | None = None, title: str = "") -> ShownFigure:
    """Draw a fit: reward and moves, occupancies of expert and learner, and how the gap fell.

    Args:
        fit: A single `Fit`.
        world: The learner's world, or an environment; it says where states are drawn. If omitted, states are in a row.
        shape: Rows and columns, if the first states are the cells of a grid; found in the world if omitted.
        title: Put over the figure.
    """
    reward, player = np.asarray(fit.reward, dtype=float), np.asarray(fit.player, dtype=float)
    layout = layout_of(world, len(reward), shape)
    expert, mixture = (np.asarray(x, dtype=float) for x in (fit.expert_occupancy, fit.occupancy))
    gap = float(np.abs(mixture - expert).sum())
    with matplotlib.rc_context(STYLE):
        figure = ShownFigure(figsize=(13.0, 3.7), layout="constrained")
        first, second, third, last = figure.subplots(1, 4)
        moves = "" if layout.targets is None or layout.kind == "table" else " and player's moves"
        draw_states(first, layout, reward, f"learned reward{moves}", policy=player)
        ceiling = max(expert.max(), mixture.max())
        norm = LogNorm(ceiling * FLOOR, ceiling)
        draw_states(second, layout, expert, "expert's occupancy", norm=norm)
        draw_states(third, layout, mixture, f"learner's occupancy, gap {gap:.3g}", norm=norm)
        _draw_history(last, np.asarray(fit.history.occupancy_gap), int(fit.verdict.best_step))
        figure.suptitle(title or f"α = {short_value(fit.alpha)}, {status_in_words(fit)}", fontsize=11)
    return figure


def status_in_words(fit: Any) -> str:
    """Return how a fit ended, as a title says it."""
    status = fit.verdict.status.value
    return "all steps taken" if status == "budget" else status


def plot_certificate(certificate: Any, *, shape: tuple[int, int] | None = None) -> ShownFigure:
    """Draw the range of a policy's return: of the whole world, and state by state.

    A third panel shows what the worst kernel costs in each state.
    """
    worst, nominal, best = (
        np.asarray(getattr(certificate, f"{name}_value"), dtype=float) for name in ("worst", "nominal", "best")
    )
    layout = layout_of(certificate.uncertainty.mdp, len(worst), shape)
    with matplotlib.rc_context(STYLE):
        figure = ShownFigure(figsize=(10.4, 3.7), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(0.8, 1.3, 1.0))
        returns = [float(getattr(certificate, f"{name}_return")) for name in ("worst", "nominal", "best")]
        colors = (ROBUST[1], STANDARD, ROBUST[4])
        for place, (number, color) in enumerate(zip(returns, colors, strict=True)):
            left.plot([place], [number], "o", color=color, markersize=7)
            left.annotate(f"{number:.4g}", (place, number), (0, 8), textcoords="offset points", ha="center")
        left.vlines([1], returns[0], returns[2], color="#bbbbbb", linewidth=6, zorder=0)
        left.set_xticks([0, 1, 2], ["worst", "as it is", "best"])
        left.set_xlim(-0.6, 2.6)
        left.margins(y=0.2)
        left.set_title("discounted return")
        order = np.argsort(nominal, kind="stable")
        places = np.arange(len(order))
        middle.fill_between(places, worst[order], best[order], color=ROBUST[3], alpha=0.2, step="mid", linewidth=0)
        middle.step(places, nominal[order], color=STANDARD, where="mid", linewidth=1.2)
        middle.set_title("return from every state, worst to best")
        middle.xaxis.set_major_locator(MaxNLocator(integer=True))
        middle.set_xlabel("states, by their return in the world itself")
        draw_states(right, layout, nominal - worst, "what the worst kernel costs")
    return figure


def plot_demonstrations(demonstrations: Any, world: Any = None, *, shape: tuple[int, int] | None = None) -> ShownFigure:
    """Draw how often states were visited, some of the episodes, and how long episodes are."""
    size = int(demonstrations.states.max()) + 1
    if world is not None:
        size = (world if hasattr(world, "num_states") else world.mdp(0.0)).num_states
    layout = layout_of(world, size, shape)
    visits = np.bincount(demonstrations.states, minlength=size).astype(float)
    with matplotlib.rc_context(STYLE):
        figure = ShownFigure(figsize=(10.4, 3.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        draw_states(left, layout, visits, "visits", norm=LogNorm(0.5, max(visits.max(), 1)))
        _draw_paths(middle, layout, demonstrations)
        lengths = demonstrations.lengths - 1
        right.hist(lengths, bins=min(30, max(5, len(np.unique(lengths)))), color=ROBUST[3])
        right.set_title("length of episodes")
        right.set_xlabel("transitions")
        right.set_ylabel("episodes")
        figure.suptitle(repr(demonstrations).removeprefix("Demonstrations(").removesuffix(")"), fontsize=10)
    return figure


def draw_states(
    axis: Axes,
    layout: Layout,
    values: Float[np.ndarray, " S"],
    title: str,
    *,
    policy: Float[np.ndarray, "S A"] | None = None,
    norm: Normalize | None = None,
) -> None:
    """Draw one number a state, and a policy if one is given, as the layout says."""
    if layout.kind == "grid":
        assert layout.shape is not None
        bare(axis, title)
        shown = values[: layout.cells].reshape(layout.shape)
        if norm is None:
            scaled(axis, shown, "cividis")
        else:
            image = axis.imshow(np.maximum(shown, norm.vmin or 0), cmap="viridis", norm=norm)
            axis.figure.colorbar(image, ax=axis, orientation="horizontal", shrink=0.75, pad=0.03, aspect=30)
        if policy is not None and layout.targets is not None and layout.cells <= MAX_ARROWS:
            draw_moves(axis, policy[: layout.cells], layout.directions(), layout.shape)
    elif layout.kind == "graph":
        _draw_graph(axis, layout, values, title, policy, norm)
    else:
        _draw_table(axis, values, title, norm)


def _draw_graph(
    axis: Axes, layout: Layout, values: np.ndarray, title: str, policy: np.ndarray | None, norm: Normalize | None
) -> None:
    places, targets = layout.positions, layout.targets
    assert places is not None
    assert targets is not None
    bare(axis, title)
    weights = np.full(targets.shape, 0.3) if policy is None else policy
    for state in range(layout.size):
        for action, target in enumerate(targets[state]):
            weight = float(weights[state, action])
            if target != state and weight > 0.05:
                axis.annotate(
                    "",
                    (places[target, 0], places[target, 1]),
                    (places[state, 0], places[state, 1]),
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": (0, 0, 0, 0.15 + 0.75 * weight),
                        "linewidth": 0.6 + 1.6 * weight,
                        "shrinkA": 8,
                        "shrinkB": 8,
                        "connectionstyle": "arc3,rad=0.12",
                    },
                )
    colors = ScalarMappable(norm or Normalize(), "cividis" if norm is None else "viridis")
    numbers = values if norm is None else np.maximum(values, norm.vmin or 0)
    colors.set_array(numbers)
    axis.scatter(places[:, 0], places[:, 1], s=190, c=colors.to_rgba(numbers), edgecolors="#333333")
    shades = np.atleast_2d(colors.to_rgba(numbers))[:, :3] @ (0.3, 0.59, 0.11)
    for state, (x, y) in enumerate(places):
        color = "#111111" if shades[state] > 0.45 else "#ffffff"
        axis.text(x, y, str(state), ha="center", va="center", fontsize=7, color=color)
    axis.margins(0.15)
    axis.figure.colorbar(colors, ax=axis, orientation="horizontal", shrink=0.75, pad=0.03, aspect=30)


def _draw_table(axis: Axes, values: np.ndarray, title: str, norm: Normalize | None) -> None:
    size = len(values)
    if size <= MAX_BARS:
        axis.bar(np.arange(size), values, color=ROBUST[3])
        axis.set_xlabel("state")
    else:
        axis.plot(np.arange(size), values, ".", color=ROBUST[3], markersize=2)
        axis.set_xlabel(f"state ({size})")
    if norm is not None:
        axis.set_yscale("log")
        axis.set_ylim(bottom=norm.vmin)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_title(title, fontsize=9)


def _draw_history(axis: Axes, gaps: np.ndarray, best: int) -> None:
    axis.plot(np.arange(len(gaps)), gaps, color=STANDARD, linewidth=1.2)
    axis.plot([best], [gaps[best]], "o", color=ROBUST[1], label=f"returned: step {best}")
    if np.all(gaps > 0):
        axis.set_yscale("log")
    axis.set_title("occupancy gap", fontsize=9)
    axis.set_xlabel("step")
    axis.legend(fontsize=8)


def _draw_paths(axis: Axes, layout: Layout, demonstrations: Any) -> None:
    """Draw some episodes over the cells of a grid or nodes of a graph, else states over time."""
    count = min(len(demonstrations), MAX_PATHS)
    alpha = max(0.15, 1 / count)
    what = f"the first {count} episodes" if count < len(demonstrations) else "all episodes"
    if layout.kind == "table":
        for episode in demonstrations[:count]:
            axis.plot(np.arange(len(episode.states)), episode.states, color=ROBUST[3], alpha=alpha, linewidth=1)
        axis.set_title(what, fontsize=9)
        axis.set_xlabel("step")
        axis.set_ylabel("state")
        return
    bare(axis, f"{what}: ○ start, × end")
    if layout.shape is not None:
        axis.set_xlim(-0.5, layout.shape[1] - 0.5)
        axis.set_ylim(layout.shape[0] - 0.5, -0.5)
        axis.set_aspect("equal")
        axis.spines[:].set_visible(True)
    shaken = np.random.default_rng(0)
    for episode in demonstrations[:count]:
        states = episode.states if layout.shape is None else episode.states[episode.states < layout.cells]
        if not len(states):
            continue
        if layout.positions is not None:
            x, y = layout.positions[states].T
        else:
            assert layout.shape is not None
            y, x = np.divmod(states, layout.shape[1])
        x, y = (places + shaken.uniform(-0.12, 0.12, len(states)) for places in (x, y))
        axis.plot(x, y, color=ROBUST[3], alpha=alpha, linewidth=1)
        axis.plot(x[:1], y[:1], "o", color=ROBUST[4], markersize=4, fillstyle="none")
        axis.plot(x[-1:], y[-1:], "x", color=ROBUST[1], markersize=4)
