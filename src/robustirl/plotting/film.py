"""Films of worlds with bodies: the lines of each moment, as a strip of pictures and as a GIF."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Moment = list[np.ndarray]
"""The bodies at one time: lines, each `[points, 2]`."""

INK = ("0.25", "tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def figure_strip(films: dict[str, Sequence[Moment]], *, pictures: int = 9, seconds: float | None = None) -> Figure:
    """Return one row of pictures for each film, at equal distances in time.

    Example:
        >>> still = [[np.array([[0.0, 0.0], [0.0, 1.0]])]] * 20
        >>> len(figure_strip({"a": still, "b": still}, pictures=4).axes)
        8
    """
    box = _box(films)
    figure = Figure(figsize=(1.35 * pictures, 1.5 * len(films) + 0.3), layout="constrained")
    axes = figure.subplots(len(films), pictures, squeeze=False)
    for number, (row, (name, film)) in enumerate(zip(axes, films.items(), strict=True)):
        places = np.linspace(0, len(film) - 1, pictures).round().astype(int)
        for panel, place in zip(row, places, strict=True):
            _draw(panel, film[place], box)
            if number == 0 and seconds is not None:
                panel.set_title(f"{place * seconds:.1f} s", fontsize=8)
        row[0].set_ylabel(name, fontsize=9)
    return figure


def save_film(path: Path, films: dict[str, Sequence[Moment]], *, every: int = 4, rate: int = 12) -> Path:
    """Write a GIF in which all films run side by side, and return its path."""
    from matplotlib.animation import FuncAnimation, PillowWriter  # Here, since they load pyplot.

    box = _box(films)
    figure = Figure(figsize=(3.2 * len(films), 2.8), layout="constrained")
    axes = figure.subplots(1, len(films), squeeze=False)
    length = max(len(film) for film in films.values())

    def draw(place: int) -> list:
        for panel, (name, film) in zip(axes[0], films.items(), strict=True):
            panel.clear()
            _draw(panel, film[min(place, len(film) - 1)], box)
            panel.set_title(name, fontsize=9)
        return []

    moving = FuncAnimation(figure, draw, frames=range(0, length, every))
    moving.save(path, writer=PillowWriter(fps=rate), dpi=70)
    return path


def _box(films: dict[str, Sequence[Moment]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of what all films show, with a margin."""
    points = np.concatenate([line for film in films.values() for moment in film for line in moment])
    low, high = points.min(0), points.max(0)
    margin = 0.08 * max(float((high - low).max()), 1e-6)
    return low - margin, high + margin


def _draw(panel: Axes, moment: Moment, box: tuple[np.ndarray, np.ndarray]) -> None:
    for place, line in enumerate(moment):
        panel.plot(line[:, 0], line[:, 1], color=INK[place % len(INK)], lw=3, solid_capstyle="round")
    panel.set(xlim=(box[0][0], box[1][0]), ylim=(box[0][1], box[1][1]), xticks=[], yticks=[], aspect="equal")
    for side in panel.spines.values():
        side.set_color("0.85")
