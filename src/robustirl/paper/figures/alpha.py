"""How often a fixed α helps or harms, against what its opponent misses of what it may miss."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robustirl.plotting import OPTIMAL, ROBUST, STYLE

LOWEST, LARGEST_RATIO = -2.0, 3.0  # What is beyond is counted at the edge.
WIDTH = 0.25  # Of a bin of ratios.
NOTHING = 0.05  # A share of standard IRL's loss that is called neither help nor harm.
HELPS, NEITHER, HARMS = ROBUST[4], "#DDDDDD", ROBUST[1]


def figure_alpha_rule(points: Sequence[tuple[str, float, float]], auto: Sequence[float]) -> Figure:
    """Draw the rule behind `select_alpha`.

    Args:
        points: Group, missed over what may be missed, and share of standard IRL's loss that is removed, of every fit
            below α = 1.
        auto: The share that the automatic choice removes, of every draw.
    """
    ratios = np.clip([point[1] for point in points], 0, LARGEST_RATIO)
    removed = np.array([point[2] for point in points])
    bins = (ratios / WIDTH).astype(int)  # The last one holds what is at the edge or beyond.
    size = np.maximum(np.bincount(bins, minlength=int(LARGEST_RATIO / WIDTH) + 1), 1)
    middles = (np.arange(size.size) + 0.5) * WIDTH
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.8, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        bottom = np.zeros(size.size)
        for label, kind, color in (
            (f"harms (below -{NOTHING:g})", removed < -NOTHING, HARMS),
            ("neither", np.abs(removed) <= NOTHING, NEITHER),
            (f"helps (above {NOTHING:g})", removed > NOTHING, HELPS),
        ):
            height = 100 * np.bincount(bins[kind], minlength=size.size) / size
            left.bar(middles, height, 0.9 * WIDTH, bottom, color=color, label=label)
            bottom = bottom + height
        left.axvline(1, color="black", linestyle="--", label="the limit")
        left.set(xlabel="missed by the opponent / what it may miss", ylabel="fits, %", ylim=(0, 100))
        left.set_xticks([0, 1, 2, LARGEST_RATIO + WIDTH / 2], ["0", "1", "2", "3 and\nmore"])
        left.set_title("what every α below 1 does to the loss of α = 1", fontsize=10)
        figure.legend(*left.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4)
        lowest, *_ = right.hist(np.maximum(auto, LOWEST), bins=np.linspace(LOWEST, 1, 31).tolist(), color=ROBUST[3])
        right.set_yscale("symlog", linthresh=1)
        right.set_ylim(0, 2 * max(float(np.max(lowest)), 1.0))
        right.axvline(0, color=OPTIMAL, linewidth=1)
        right.set(xlabel="share of the loss of α = 1 removed", ylabel="draws")
        right.set_title("what alpha = 'auto' removes", fontsize=10)
    return figure
