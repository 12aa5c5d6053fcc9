"""Draw single objects, as their `plot` methods return them: a fit, a choice of α, a certificate, demonstrations."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from robustirl._show import short_value
from robustirl.plotting.layout import Layout, layout_of
from robustirl.plotting.states import draw_states
from robustirl.plotting.style import ROBUST, STANDARD, STYLE, ShownFigure, bare, plain_text

MAX_PATHS = 40  # Episodes that are drawn as lines.
FLOOR = 1e-4  # Of the largest occupancy: smaller ones have the darkest color.


def plot_fit(fit: Any, world: Any = None, *, shape: tuple[int, int] | None = None, title: str = "") -> ShownFigure:
    """Draw a fit: reward and moves, occupancies of expert and learner, and how the gap fell.

    Args:
        fit: A single `Fit`.
        world: The learner's world, or an environment; it says where states are drawn. If omitted, states are in a row.
        shape: Rows and columns, if the first states are the cells of a grid; found in the world if omitted.
        title: Put over the figure.
    """
    player = np.asarray(fit.player, dtype=float)
    layout = layout_of(world, len(player), shape)
    expert, mixture = (np.asarray(x, dtype=float) for x in (fit.expert_occupancy, fit.occupancy))
    gap = float(np.abs(mixture - expert).sum())
    with matplotlib.rc_context(STYLE):
        figure = ShownFigure(figsize=(13.0, 3.7), layout="constrained")
        first, second, third, last = figure.subplots(1, 4)
        moves = "" if layout.kind in ("row", "places") or layout.targets is None else " and player's moves"
        draw_states(first, layout, collected_reward(fit), f"learned reward{moves}", policy=player)
        ceiling = max(expert.max(), mixture.max())
        norm = LogNorm(ceiling * FLOOR, ceiling)
        draw_states(second, layout, expert, "expert's occupancy", norm=norm)
        draw_states(third, layout, mixture, f"learner's occupancy, gap {gap:.3g}", norm=norm)
        _draw_history(last, fit)
        status = str(getattr(fit.verdict.status, "value", fit.verdict.status))
        ended = "all steps taken" if status == "budget" else status
        figure.suptitle(plain_text(title) or f"α = {short_value(fit.alpha)}, {ended}", fontsize=11)
    return figure


def collected_reward(fit: Any) -> np.ndarray:
    """Return what the player collects in each state: R(s), or Σ_a π(a|s) R(s,a) for a reward of states and actions.

    Example:
        >>> from types import SimpleNamespace
        >>> collected_reward(SimpleNamespace(reward=[[1.0, 3.0]], player=[[0.5, 0.5]])).tolist()
        [2.0]
    """
    reward = np.asarray(fit.reward, dtype=float)
    return reward if reward.ndim == 1 else (np.asarray(fit.player, dtype=float) * reward).sum(1)


def plot_alpha(selection: Any) -> ShownFigure:
    """Draw the regret matrix by which α was chosen.

    A column is the policy learned with one α, a row a hypothesis: how much the expert's world differs from the
    learner's. A number is the policy's regret if the hypothesis is true, in percent of what an optimal policy gains
    over a random one. Hypotheses that the data exclude are pale; the chosen policy is framed.

    Args:
        selection: What `select_alpha` returns.
    """
    candidates, regrets = np.asarray(selection.candidates, float), np.asarray(selection.regrets, float)
    count, chosen = len(candidates), int(np.argmin(np.abs(np.asarray(selection.candidates) - selection.alpha)))
    tried, possible = np.asarray(selection.admissible, bool), np.asarray(selection.open, bool)
    with matplotlib.rc_context(STYLE):
        figure = ShownFigure(figsize=(1.9 + 0.5 * count, 1.9 + 0.36 * count), layout="constrained")
        axis = figure.subplots()
        bare(axis, "")
        shown = np.ma.masked_invalid(100 * np.clip(regrets, 0, None))
        image = axis.imshow(shown, cmap="YlOrBr", vmin=0, vmax=max(float(shown.max()), 1.0), aspect="auto")
        for row, column in np.ndindex(count, count):
            number = shown[row, column]
            dark = number is not np.ma.masked and number > 0.6 * image.get_clim()[1]
            text = "" if number is np.ma.masked else f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"
            color = "#ffffff" if dark and possible[row] else "#111111"
            faint = 1.0 if possible[row] else 0.45
            axis.text(column, row, text, ha="center", va="center", fontsize=8, color=color, alpha=faint)
        for row in np.flatnonzero(~possible):
            axis.add_patch(Rectangle((-0.5, row - 0.5), count, 1, facecolor="#ffffff", alpha=0.72, linewidth=0))
        for column in np.flatnonzero(~tried):
            axis.add_patch(Rectangle((column - 0.5, -0.5), 1, count, facecolor="none", hatch="////", edgecolor="#bbbbbb", linewidth=0))  # fmt: skip  # noqa: E501
        axis.add_patch(Rectangle((chosen - 0.5, -0.5), 1, count, fill=False, edgecolor="#0072B2", linewidth=2.4))
        axis.set_xticks(range(count), [f"{alpha:g}" for alpha in candidates])
        axis.set_yticks(range(count), [_noisier(alpha) for alpha in candidates])
        axis.tick_params(length=0)
        axis.set_xlabel("policy learned with α" + ("" if tried.all() else " (hatched: reaches the ends less often)"))
        axis.set_ylabel("if the expert's world is")
        axis.set_title(f"regret in percent; chosen: α = {selection.alpha:g}" + _pale(possible), fontsize=10)
    return figure


def _noisier(alpha: float) -> str:
    """Return a hypothesis in words."""
    return "like yours" if alpha == 1 else f"{100 * (1 - alpha):.3g} % noisier"


def _pale(possible: np.ndarray) -> str:
    return "" if possible.all() else "\npale rows: the data speak against them"


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
        figure.suptitle(plain_text(repr(demonstrations).removeprefix("Demonstrations(").removesuffix(")")), fontsize=10)
    return figure


def _draw_history(axis: Axes, fit: Any) -> None:
    """Draw what learning lowered: the occupancy gap, or the size of the gradient of a likelihood."""
    gaps, best = np.asarray(fit.history.occupancy_gap, dtype=float), int(fit.verdict.best_step)
    gaps = gaps[np.isfinite(gaps)]
    axis.plot(np.arange(len(gaps)), gaps, color=STANDARD, linewidth=1.2)
    if best < len(gaps):
        axis.plot([best], [gaps[best]], "o", color=ROBUST[1], label=f"returned: step {best}")
        axis.legend(fontsize=8)
    if np.all(gaps > 0):
        axis.set_yscale("log")
    likelihood = getattr(fit, "objective", "occupancy") == "likelihood"
    axis.set_title("gradient of the log-likelihood" if likelihood else "occupancy gap", fontsize=9)
    axis.set_xlabel("step")


def _draw_paths(axis: Axes, layout: Layout, demonstrations: Any) -> None:
    """Draw some episodes over the places of states, or states over time where they have none."""
    count = min(len(demonstrations), MAX_PATHS)
    alpha = max(0.15, 1 / count)
    what = f"the first {count} episodes" if count < len(demonstrations) else "all episodes"
    if layout.positions is None:
        for episode in demonstrations[:count]:
            axis.plot(np.arange(len(episode.states)), episode.states, color=ROBUST[3], alpha=alpha, linewidth=1)
        axis.set_title(what, fontsize=9)
        axis.set_xlabel("step")
        axis.set_ylabel("state")
        return
    bare(axis, f"{what}: ○ start, × end")
    places = layout.positions[layout.drawn]
    axis.set_xlim(places[:, 0].min() - 0.5, places[:, 0].max() + 0.5)
    axis.set_ylim(places[:, 1].min() - 0.5, places[:, 1].max() + 0.5)
    axis.set_aspect("equal")
    axis.spines[:].set_visible(True)
    for x, y in layout.positions[layout.walls & layout.drawn] if layout.kind == "grid" else ():
        axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="#4d4d4d", linewidth=0))
    shaken = np.random.default_rng(0)
    for episode in demonstrations[:count]:
        states = episode.states[layout.drawn[episode.states]]
        x, y = (layout.positions[states] + shaken.uniform(-0.12, 0.12, (len(states), 2))).T
        axis.plot(x, y, color=ROBUST[3], alpha=alpha, linewidth=1)
        axis.plot(x[:1], y[:1], "o", color=ROBUST[4], markersize=4, fillstyle="none")
        axis.plot(x[-1:], y[-1:], "x", color=ROBUST[1], markersize=4)
