"""A policy on a grid: an arrow for every likely move."""

import numpy as np
from matplotlib.axes import Axes

FAINT = 0.12  # Moves less likely than this are not drawn.

MAX_ARROWS = 900  # Cells; on larger grids arrows are too small to be seen.


def draw_moves(axis: Axes, policy: np.ndarray, directions: np.ndarray, shape: tuple[int, int]) -> None:
    """Draw an arrow per likely move, the longer and stronger the likelier."""
    rows, columns = np.divmod(np.arange(len(policy)), shape[1])
    for action in range(policy.shape[1]):
        weight, steps = policy[:, action], directions[:, action]
        shown = (weight > FAINT) & np.any(steps != 0, axis=1)
        if not shown.any():
            continue
        length = 0.2 + 0.25 * weight[shown]
        colors = np.ones((int(shown.sum()), 4))
        colors[:, 3] = 0.35 + 0.65 * weight[shown]
        axis.quiver(
            columns[shown],
            rows[shown],
            steps[shown, 1] * length,
            steps[shown, 0] * length,
            color=colors,
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
