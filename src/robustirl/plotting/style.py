"""Give all figures one style: sober, safe for the color-blind, the same file for the same data."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustirl._check import printable
from robustirl._files import write_atomically

STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.hashsalt": "robustirl",  # The same figure gives the same file.
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}
STANDARD = "#000000"
OPTIMAL = "#777777"
LEARNER = "#999999"
# Okabe and Ito's palette, distinct under every common form of color blindness, in the order of decreasing α.
ROBUST = ("#E69F00", "#D55E00", "#CC79A7", "#0072B2", "#009E73", "#56B4E9")
MARKERS = "sD^vPX"
METADATA = {"png": {"Software": None}, "svg": {"Date": None}}  # Versions and dates would change files without reason.


class ShownFigure(Figure):
    """Show itself in a notebook when it is the value of a cell, whatever backend is in use."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


class Look(NamedTuple):
    """Say how the curve of one α looks."""

    color: str
    marker: str
    dashes: str
    label: str


def looks(alphas: Sequence[float]) -> dict[float, Look]:
    """Return the look of every α: standard in black, robust ones in the palette's order.

    Once the palette has run out, lines are dotted.

    Example:
        >>> looks([1.0, 0.9])[0.9].label
        'α = 0.9'
    """
    robust = sorted((alpha for alpha in alphas if alpha < 1), reverse=True)
    result = {}
    for alpha in alphas:
        if alpha == 1:
            result[alpha] = Look(STANDARD, "o", "-", "α = 1 (standard)")
        else:
            turn, place = divmod(robust.index(alpha), len(ROBUST))
            result[alpha] = Look(ROBUST[place], MARKERS[place], "-" if turn == 0 else ":", f"α = {alpha:g}")
    return result


def plain_text(text: str) -> str:
    r"""Return a foreign text as a figure shows it: `$` starts no formula, control characters are written out.

    Example:
        >>> print(plain_text("a$b$c"))
        a\$b\$c
    """
    return printable(text, 200).replace("$", r"\$")


def bare(axis: Axes, title: str) -> None:
    """Prepare an axis for a map: a title, and nothing around it."""
    axis.set_title(title, fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)


def bottom_legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw one legend for all panels, under them, in as many rows as it needs."""
    width = figure.get_size_inches()[0]
    columns = max(1, min(len(labels), int(width / 1.35)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.4)


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as PNG and SVG, `path` with either suffix added, and return both paths.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in save_figure(Figure(figsize=(1, 1)), Path(folder) / "empty")]
        ['empty.png', 'empty.svg']
    """
    written = []
    with matplotlib.rc_context(STYLE):
        for suffix, metadata in METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            written.append(path.with_name(f"{path.name}.{suffix}"))
            write_atomically(written[-1], buffer.getvalue())
    return written
