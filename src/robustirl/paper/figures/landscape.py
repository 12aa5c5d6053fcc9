"""Draw the true and the learned rewards of GaussianGrid as contours, with paths of the policies learned from them."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from robustirl.envs import GaussianGrid
from robustirl.envs.gaussian_grid import GOAL, START
from robustirl.plotting import STANDARD, STYLE, bare
from robustirl.sweeps import RunResult

POINTS = 121
LEVELS = 24
PATH = "#ffffff"
SHOWN = 4  # Paths a panel; more would hide each other.


def figure_landscape(expert: RunResult, standard: RunResult, robust: RunResult, note: str = "") -> Figure:
    """Draw the true reward with the expert's paths, learned rewards with the learners' paths.

    A learned reward is compared up to a positive factor and a constant: neither changes what is best over a fixed time,
    and the learner is free in both.
    """
    spec = robust.record.spec
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


def _learned(name: str, world: GaussianGrid, result: RunResult) -> tuple[str, Callable, RunResult]:
    theta = jnp.asarray(result.arrays["parameters"])
    record = result.record
    title = f"learned reward and player, {name}\nreturn {record.mean_return:.4g}, goal {record.goal_share:.0%}"
    return title.replace("%", " %"), lambda state: theta @ world.features(state), result


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
