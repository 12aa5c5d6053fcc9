"""The figures of `docs/benchmarks.md`: seconds and bytes over the number of states, and what a large world teaches."""

import io
import os
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.figure import Figure

from reading import FULL, LOCAL, Place, Results, Row
from robustirl.plotting.style import OPTIMAL, ROBUST, STANDARD, STYLE, bottom_legend

DISCOUNTS = (0.9, 0.99, 0.999)
ALPHA = 0.9
LOOKS: dict[str, dict[str, Any]] = {
    "robustirl, CPU": {"color": ROBUST[3], "marker": "o"},
    "robustirl, CPU, full rows": {"color": ROBUST[3], "marker": "s", "linestyle": ":"},
    "robustirl, GPU": {"color": ROBUST[1], "marker": "o"},
    "robustirl, GPU, full rows": {"color": ROBUST[1], "marker": "s", "linestyle": ":"},
    "QuantEcon's best method, hard max": {"color": ROBUST[4], "marker": "^"},
    "NumPy value iteration": {"color": STANDARD, "marker": "v"},
}


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw all figures there are results for."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    if results.cpu or results.gpu:
        written += [save(figure_time(results), folder / "scale-time.png")]
        written += [save(figure_memory(results), folder / "scale-memory.png")]
    if results.picture:
        with np.load(results.picture, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        written += [save(figure_learned(arrays), folder / "scale-learned.png")]
    return written


def time_series(results: Results, discount: float) -> dict[str, list[Row]]:
    """Return the rows of every curve: ours by device and noise, and the peers."""
    found: dict[str, list[Row]] = {}
    for place, device in ((results.cpu, "CPU"), (results.gpu, "GPU")):
        for noise_model, suffix in ((LOCAL, ""), (FULL, ", full rows")):
            labels = {"discount": discount, "alpha": ALPHA, "auto": True, "noise_model": noise_model}
            found[f"robustirl, {device}{suffix}"] = place.find("solve", **labels) if place else []
    if results.cpu:
        found["QuantEcon's best method, hard max"] = fastest(results.cpu, "quantecon", discount)
        found["NumPy value iteration"] = results.cpu.find("peer", peer="numpy", discount=discount)
    return {name: rows for name, rows in found.items() if rows}


def fastest(place: Place, peer: str, discount: float) -> list[Row]:
    """Return a peer's fastest row of every size."""
    rows: dict[int, Row] = {}
    for row in place.find("peer", peer=peer, discount=discount):
        best = rows.get(row["states"])
        if row.get("seconds") and (best is None or row["seconds"] < best["seconds"]):
            rows[row["states"]] = row
    return list(rows.values())


def figure_time(results: Results) -> Figure:
    """Warm seconds of one solution, a panel a discount; hollow marks are extrapolated."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.2), layout="constrained")
        handles: dict[str, Any] = {}
        axes = figure.subplots(1, len(DISCOUNTS), sharey=True)
        for axis, discount in zip(axes, DISCOUNTS, strict=True):
            for name, rows in time_series(results, discount).items():
                look = {"markersize": 4.5, "linewidth": 1.3, **LOOKS[name]}
                (line,) = axis.plot([r["states"] for r in rows], [r["seconds"] for r in rows], **look)
                handles.setdefault(name, line)
                guessed = [r for r in rows if r.get("extrapolated")]
                hollow = {"marker": look["marker"], "markersize": 4.5, "linestyle": "none"}
                xs, ys = [r["states"] for r in guessed], [r["seconds"] for r in guessed]
                axis.plot(xs, ys, color=look["color"], markerfacecolor="white", zorder=4, **hollow)
            axis.set(xscale="log", yscale="log", xlabel="states", title=rf"$\gamma = {discount:g}$")
        axes[0].set_ylabel("seconds, warm")
        for axis in axes:
            slope(axis)
        bottom_legend(figure, list(handles.values()), list(handles))
    return figure


def slope(axis) -> None:
    """Draw a line of slope one, to compare with."""
    low, high = axis.get_xlim()
    bottom = axis.get_ylim()[0]
    xs = np.array([max(low, 1e3), high])
    axis.plot(xs, bottom * 3 * xs / xs[0], color=OPTIMAL, linewidth=0.8, linestyle="--")
    axis.text(xs[0], bottom * 3, "~ S", color=OPTIMAL, fontsize=8, va="top")
    axis.set_xlim(low, high)


def figure_memory(results: Results) -> Figure:
    """Draw bytes while solving: the world's arrays and what the solver adds; for peers, the process's peak."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 4.4), layout="constrained")
        axis = figure.subplots()
        series: dict[str, list[tuple[int, float]]] = {}
        for place, device in ((results.cpu, "CPU"), (results.gpu, "GPU")):
            for noise_model, suffix in ((LOCAL, ""), (FULL, ", full rows")):
                rows = place.find("memory", noise_model=noise_model) if place else []
                series[f"robustirl, {device}{suffix}"] = [(r["states"], r["solving_bytes"]) for r in rows]
        for peer, name in (("quantecon", "QuantEcon's best method, hard max"), ("numpy", "NumPy value iteration")):
            peaks: dict[int, float] = {}
            for row in results.cpu.find("peer", peer=peer) if results.cpu else []:
                peaks[row["states"]] = max(row["process_bytes"], peaks.get(row["states"], 0))
            series[name] = list(peaks.items())
        for name, points in series.items():
            points = [(x, y) for x, y in points if y > 0]
            if points:
                label = name.replace("'s best method, hard max", "").replace(" value iteration", "")
                axis.plot(*zip(*points, strict=True), markersize=4.5, linewidth=1.3, label=label, **LOOKS[name])
        axis.set(xscale="log", yscale="log", xlabel="states", ylabel="bytes while solving")
        axis.legend(fontsize=8)
    return figure


def figure_learned(arrays: dict[str, np.ndarray]) -> Figure:
    """Draw a large world after robust IRL: true and learned reward, where the player goes, and both occupancies."""
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(13.5, 2.9), layout="constrained")
        axes = figure.subplots(1, 5)
        side = int(arrays["side"])
        extent = (0, side, side, 0)
        for axis, name in zip(axes[:2], ("true_reward", "reward"), strict=True):
            image = axis.imshow(arrays[name], cmap="cividis", extent=extent)
            figure.colorbar(image, ax=axis, shrink=0.6)
        moves = matplotlib.colors.ListedColormap([ROBUST[0], ROBUST[3], ROBUST[4], ROBUST[2]])
        image = axes[2].imshow(
            arrays["direction"], cmap=moves, vmin=-0.5, vmax=3.5, extent=extent, interpolation="none"
        )
        bar = figure.colorbar(image, ax=axes[2], shrink=0.6, ticks=range(4))
        bar.ax.set_yticklabels(["up", "right", "down", "left"])
        both = np.concatenate([arrays[name].ravel() for name in ("occupancy", "expert_occupancy")])
        floor, ceiling = np.quantile(both[both > 0], (0.01, 0.999))  # The goal alone would take half of the scale.
        norm = matplotlib.colors.LogNorm(vmin=floor, vmax=max(ceiling, 2 * floor))
        for axis, name in zip(axes[3:], ("expert_occupancy", "occupancy"), strict=True):
            image = axis.imshow(np.maximum(arrays[name], floor), cmap="viridis", norm=norm, extent=extent)
        figure.colorbar(image, ax=axes[3:], shrink=0.6)
        titles = (
            "true reward",
            "learned reward",
            "player's likeliest move",
            "expert's occupancy",
            "mixture's occupancy",
        )
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title, xticks=(0, side), yticks=(0, side))
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a figure whole or not at all, the same file for the same data."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="png", metadata={"Software": None}, dpi=130)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(buffer.getvalue())
    temporary.replace(path)
    return path
