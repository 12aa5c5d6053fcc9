"""What every fixed α gains, against what its opponent misses of what it may miss."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robustirl.plotting import OPTIMAL, ROBUST, STYLE

LOWEST, LARGEST_RATIO = -2.0, 3.0  # Points beyond are drawn at the edge.


def figure_alpha_rule(points: Sequence[tuple[str, float, float]], auto: Sequence[float]) -> Figure:
    """Draw the rule behind `select_alpha`.

    Args:
        points: Group, missed over what may be missed, and share of standard IRL's loss that is removed, of every fit
            below α = 1.
        auto: The share that the automatic choice removes, of every draw.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.8, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        for place, group in enumerate(dict.fromkeys(point[0] for point in points)):
            own = np.array([point[1:] for point in points if point[0] == group])
            ratio, share = np.clip(own[:, 0], 0, LARGEST_RATIO), np.maximum(own[:, 1], LOWEST)
            style: dict[str, Any] = {"s": 5, "alpha": 0.4, "linewidths": 0, "color": ROBUST[place % len(ROBUST)]}
            left.scatter(ratio, share, label=group, **style)
        left.axvline(1, color=OPTIMAL, linestyle="--", label="the limit")
        left.axhline(0, color=OPTIMAL, linewidth=1)
        left.set(xlabel="missed by the opponent / what it may miss", ylabel="share of the loss of α = 1 removed")
        left.set_title("every fit below α = 1")
        left.legend(fontsize=8, loc="lower center", frameon=True, framealpha=0.9, markerscale=2)
        right.hist(np.maximum(auto, LOWEST), bins=np.linspace(LOWEST, 1, 31).tolist(), color=ROBUST[4])
        right.axvline(0, color=OPTIMAL, linewidth=1)
        right.set(xlabel="share of the loss of α = 1 removed", ylabel="draws")
        right.set_title("alpha = 'auto'")
    return figure
