"""Draw the map that `roads.py --map` saved: the whole graph with its trips, and routes before and after a closure.

    python benchmarks/roads_map.py roads-ny.npz docs/images/roads.png

The graphs have no coordinates. Positions come from distances alone (`envs.graph_positions`): neighbors lie close
together, rivers are gaps and bridges threads, and compass directions mean nothing. The detail is laid out anew from the
distances within it.
"""

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from matplotlib.collections import LineCollection

from robustirl.envs import graph_positions

PAPER, STREET, BEFORE, AFTER, CLOSED = "#fbfaf7", "#6f6c66", "#2b6cb0", "#dd6b20", "#c53030"
ROUTES = 40
MARGIN = 6  # Streets around the routes that are drawn in the detail.


def main() -> None:
    """Draw the whole and the detail."""
    source, target = sys.argv[1:3]
    saved = np.load(source)
    links, used, turns = saved["links"], saved["used"], saved["closed"]
    routes = {"before": saved["before"][:, :ROUTES] % len(links), "after": saved["after"][:, :ROUTES] % len(links)}
    ends = links[saved["destinations"], 1]
    figure, (whole, detail) = plt.subplots(
        1, 2, figsize=(15, 7.6), layout="constrained", facecolor=PAPER, width_ratios=[1.05, 1]
    )
    places = graph_positions(links)
    streets = links[links[:, 0] < links[:, 1]]
    draw(whole, places[streets], STREET, 0.22, alpha=0.75)
    busy = np.flatnonzero(used > 0)
    strength = np.sqrt(used[busy] / np.quantile(used[busy], 0.99)).clip(0.15, 1)
    draw(whole, places[links[busy]], AFTER, 0.3 + 1.5 * strength)
    whole.plot(*places[ends].T, "*", color="#f6e05e", ms=15, mec="black", zorder=5)
    whole.set_title(f"{len(places):,} crossings, and where the trips go", fontsize=13)

    near = neighborhood(links, np.unique(links[np.concatenate([way.ravel() for way in routes.values()])]), MARGIN)
    number = np.full(len(places), -1)
    number[near] = np.arange(near.size)
    inside = number[streets].min(1) >= 0
    local = graph_positions(number[streets[inside]], num_nodes=near.size)
    draw(detail, local[number[streets[inside]]], STREET, 0.5, alpha=0.55)
    both = np.intersect1d(*routes.values())
    for name, color in (("before", BEFORE), ("after", AFTER)):
        only = np.setdiff1d(np.unique(routes[name]), both)
        draw(detail, local[number[links[only]]], color, 2.6, label=f"only {name}")
    draw(detail, local[number[links[both]]], "#1a202c", 1.7, label="before and after")
    shut = links[np.unique(turns[:, 1])]
    shut = shut[number[shut].min(1) >= 0]
    middle = local[number[shut]].mean(1)
    detail.plot(*middle.T, "x", color=CLOSED, ms=7, mew=2, zorder=4, label="ways into it closed")
    detail.plot(*local[number[ends]].T, "*", color="#f6e05e", ms=20, mec="black", zorder=5, label="destination")
    detail.set_title("most likely routes before and after the closure", fontsize=13)
    detail.legend(loc="best", frameon=True, facecolor=PAPER, edgecolor="none")
    for axis in (whole, detail):
        axis.autoscale()
        axis.set_aspect("equal")
        axis.axis("off")
    figure.savefig(target, dpi=110, facecolor=PAPER)


def draw(axis: Any, lines: np.ndarray, color: str, width: Any, **options: Any) -> None:
    """Draw line segments `[n, 2, 2]`."""
    axis.add_collection(LineCollection(list(lines), colors=color, linewidths=width, capstyle="round", **options))


def neighborhood(links: np.ndarray, nodes: np.ndarray, steps: int) -> np.ndarray:
    """Return the nodes within so many streets of some."""
    count = int(links.max()) + 1
    matrix = scipy.sparse.coo_array((np.ones(len(links)), links.T), shape=(count, count)).tocsr()
    reached = np.zeros(count, bool)
    reached[nodes] = True
    for _ in range(steps):
        reached |= (matrix @ reached.astype(np.float64)) > 0
    inside = np.flatnonzero(reached)
    number = np.full(count, -1)
    number[inside] = np.arange(inside.size)
    kept = number[links].min(1) >= 0
    part = scipy.sparse.coo_array((np.ones(kept.sum()), number[links[kept]].T), shape=(inside.size,) * 2).tocsr()
    _, label = scipy.sparse.csgraph.connected_components(part, directed=False)
    return inside[label == np.bincount(label).argmax()]


if __name__ == "__main__":
    main()
