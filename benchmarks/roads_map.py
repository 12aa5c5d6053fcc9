"""Draw the map that `roads.py` saved: links by how much trips use them, and by how much the learned reward predicts.

    python benchmarks/roads_map.py roads-ny.npz docs/images/roads.png

The graphs have no coordinates. Positions are two eigenvectors of the graph's Laplacian: neighbors lie close together,
and compass directions mean nothing.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

DARKEST = 0.995  # Quantile of use that has the darkest color.


def main() -> None:
    """Draw both maps side by side."""
    source, target = sys.argv[1:3]
    saved = np.load(source)
    positions = spread_out(saved["positions"])
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.5), constrained_layout=True)
    for axis, name, title in zip(
        axes, ("used", "predicted"), ("drawn trips", "predicted by the learned reward"), strict=True
    ):
        use = saved[name]
        top = np.quantile(saved["used"][saved["used"] > 0], DARKEST)
        order = np.argsort(use)
        lines = positions[saved["edges"][order]]
        shade = np.sqrt(np.clip(use[order] / top, 0, 1))
        axis.add_collection(LineCollection(list(lines), array=shade, cmap="viridis_r", linewidths=0.3 + 1.7 * shade))
        axis.plot(*positions[saved["destinations"]].T, "*", color="#d62728", ms=12, mec="white")
        axis.set_title(title)
        axis.autoscale()
        axis.set_aspect("equal")
        axis.axis("off")
    figure.savefig(target, dpi=110)


def spread_out(positions: np.ndarray) -> np.ndarray:
    """Return positions by their ranks, half way: eigenvectors crowd the far ends of a graph."""
    ranks = np.argsort(np.argsort(positions, axis=0), axis=0) / len(positions)
    scaled = (positions - positions.min(0)) / np.ptp(positions, axis=0)
    return (ranks + scaled) / 2


if __name__ == "__main__":
    main()
