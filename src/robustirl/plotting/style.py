"""One style for all figures: sober, safe for the color-blind, the same file for the same data."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

from robustirl._runtime import printable, write_atomically

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


class Look(NamedTuple):
    """How the curve of one α looks."""

    color: str
    marker: str
    dashes: str
    label: str


def looks(alphas: Sequence[float]) -> dict[float, Look]:
    """Return the look of every α: standard in black, robust ones in the palette's order.

    Once the palette has run out, lines are dotted.
    """
    robust = sorted((alpha for alpha in alphas if alpha < 1), reverse=True)
    found = {}
    for alpha in alphas:
        if alpha == 1:
            found[alpha] = Look(STANDARD, "o", "-", "α = 1 (standard)")
        else:
            turn, place = divmod(robust.index(alpha), len(ROBUST))
            found[alpha] = Look(ROBUST[place], MARKERS[place], "-" if turn == 0 else ":", f"α = {alpha:g}")
    return found


def plain_text(text: str) -> str:
    r"""Return a foreign text as a figure shows it.

    `$` starts no formula, and control characters are written out.

    Example:
        >>> print(plain_text("a$b$c"))
        a\$b\$c
    """
    return printable(text, 200).replace("$", r"\$")


class PowersOfTen(LogFormatterSciNotation):
    """Label a logarithmic axis in plain text, such as 10⁻³.

    Matplotlib's own labels are formulas, which are slow to set.

    Example:
        >>> [PowersOfTen()(x) for x in (0.001, 20.0, -1.0)]
        ['10⁻³', '2×10¹', '-10⁰']
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        formula = super().__call__(x, pos).removeprefix(r"$\mathdefault{").removesuffix("}$")
        base, raised, exponent = formula.replace(r"\times", "×").partition("^{")
        return base + exponent.removesuffix("}").translate(_SUPERSCRIPT) if raised else base


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def set_plain_powers(figure: Figure) -> None:
    """Replace the formulas at the logarithmic axes of a figure by `PowersOfTen`."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            major, minor = axis.get_major_formatter(), axis.get_minor_formatter()
            if type(major) is LogFormatterSciNotation:
                axis.set_major_formatter(PowersOfTen())
            if type(minor) is LogFormatterSciNotation:
                axis.set_minor_formatter(PowersOfTen(labelOnlyBase=minor.labelOnlyBase))


def bottom_legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw one legend for all panels, under them, in as many rows as it needs."""
    width = figure.get_size_inches()[0]
    columns = max(1, min(len(labels), int(width / 1.35)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.4)


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as PNG and SVG, `path` with either suffix added, and return both paths.

    `Figure.savefig` draws twice for each file, and a layout takes as long as a drawing. So the canvases are asked
    directly, and the layout that the first of them makes serves both.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in save_figure(Figure(figsize=(1, 1)), Path(folder) / "empty")]
        ['empty.png', 'empty.svg']
    """
    written, canvas, dpi, engine = [], figure.canvas, figure.dpi, figure.get_layout_engine()
    set_plain_powers(figure)
    try:
        with matplotlib.rc_context(STYLE):
            for suffix, write in (("png", _write_png), ("svg", _write_svg)):
                figure.dpi = STYLE["savefig.dpi"]
                buffer = io.BytesIO()
                write(figure, buffer)
                figure.set_layout_engine("none")
                written.append(path.with_name(f"{path.name}.{suffix}"))
                write_atomically(written[-1], buffer.getvalue())
    finally:
        figure.set_layout_engine(engine)
        figure.set_canvas(canvas)
        figure.dpi = dpi
    return written


def _write_png(figure: Figure, buffer: io.BytesIO) -> None:
    FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})


def _write_svg(figure: Figure, buffer: io.BytesIO) -> None:
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
