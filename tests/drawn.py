"""What a figure shows, as a text: for comparison with what it showed when somebody last looked at it.

Nothing is rendered, so that the text does not depend on fonts. Axes whose ticks are not set say which rule sets them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, PercentFormatter

MOST_NUMBERS = 40  # Of more, some and their sums are written.


def text_of_figure(figure: Figure) -> str:
    """All of a figure, panel by panel."""
    lines = [f"figure {numbers(figure.get_size_inches())}, {layout_of(figure)}"]
    lines += [f"  {name} {text_line(text)}" for name, text in headings(figure)]
    lines += [line for legend in figure.legends for line in legend_lines(legend)]
    for axes in figure.axes:
        lines += ["", *axes_lines(axes)]
    return "\n".join(lines) + "\n"


def numbers(values: Any) -> str:
    """Numbers as text, to five digits."""
    flat = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    if flat.size <= MOST_NUMBERS:
        return " ".join(map(number, flat))
    sound = np.nan_to_num(flat, posinf=1e6, neginf=-1e6)
    weights = 2 + np.cos(np.arange(flat.size))
    parts = [np.maximum(sound, 0), np.maximum(-sound, 0)]  # Apart, since a sum that cancels says little.
    sums = " ".join(number(float(part @ each)) for part in parts for each in (np.ones(flat.size), weights))
    first, last = " ".join(map(number, flat[:4])), " ".join(map(number, flat[-2:]))
    unknown = int(np.isnan(flat).sum())
    return f"{first} ... {last} ({flat.size} numbers" + (f", {unknown} nan" if unknown else "") + f", sums {sums})"


def number(value: float) -> str:
    """One number as text; what rounding leaves of zero is zero."""
    return "0" if abs(value) < 1e-9 else f"{value:.5g}"


def color(value: Any) -> str:
    """A color, or several, as hexadecimal numbers."""
    if isinstance(value, str) and value == "none":
        return "none"
    rows = np.atleast_2d(np.asarray(value, dtype=float)) if not isinstance(value, str | tuple) else [value]
    found = list(dict.fromkeys(to_hex(row, keep_alpha=True).removesuffix("ff") for row in rows))
    if len(found) <= 6:
        return ",".join(found) or "none"
    return f"{len(rows)} colors {','.join(found[:3])} {numbers(rows)}"


def layout_of(figure: Figure) -> str:
    """How panels are laid out."""
    engine = figure.get_layout_engine()
    if engine is None:
        return "no layout"
    return f"{type(engine).__name__} " + " ".join(f"{k}={v}" for k, v in sorted(engine.get().items()))


def headings(figure: Figure) -> Iterator[tuple[str, Text]]:
    """The words around all panels."""
    for name in ("_suptitle", "_supxlabel", "_supylabel"):
        if getattr(figure, name) is not None:
            yield name.strip("_"), getattr(figure, name)


def axes_lines(axes: Axes) -> list[str]:
    """One panel, and those that are set into it."""
    spec = axes.get_subplotspec()
    place = "free"
    if spec is not None:
        rows, columns, first, last = map(int, spec.get_geometry())
        place = f"{first} to {last} of {rows} x {columns} {ratios(spec.get_gridspec())}"
    bounds = getattr(axes.get_axes_locator(), "_bounds", None)
    lines = [f"axes {place}" + ("" if bounds is None else f" at {numbers(bounds)}")]
    bar = getattr(axes, "_colorbar_info", None)
    if bar is not None:
        lines.append(
            f"  bar of {len(bar['parents'])} panels, shrink {bar['shrink']} aspect {bar['aspect']} pad {bar['pad']}"
        )
    hidden = [name for name, shown in (("axes", axes.get_visible()), ("frame", axes.axison)) if not shown]
    if hidden:
        lines.append(f"  hidden: {', '.join(hidden)}")
    titles = (axes.title, axes._left_title, axes._right_title)  # pyright: ignore[reportAttributeAccessIssue]
    lines += [f"  title {text_line(text)}" for text in titles if text.get_text()]
    lines += [f"  {axis_line(axis)}" for axis in (axes.xaxis, axes.yaxis)]
    lines.append(f"  aspect {axes.get_aspect()} box {axes.get_box_aspect()} margins {numbers(axes.margins())}")
    lines.append("  spines " + ", ".join(spine_texts(axes)))
    around = {axes.patch, *titles, *axes.spines.values()}
    for artist in [one for one in axes.get_children() if one not in around]:
        lines += [f"  {line}" for line in artist_lines(axes, artist)]
    return lines


def ratios(grid: Any) -> str:
    """The widths of columns and the heights of rows, where they are set."""
    wide, high = grid.get_width_ratios(), grid.get_height_ratios()
    return f"widths {numbers(wide)} heights {numbers(high)}"


def axis_line(axis: Axis) -> str:
    """Words, limits, scale and ticks of one axis."""
    scale = axis.get_scale()
    linear = getattr(axis.get_transform(), "linthresh", None)
    text = f"{axis.axis_name}: {axis.label.get_text()!r} limits {numbers(axis.get_view_interval())} {scale}"
    text += "" if linear is None else f" (linear to {number(linear)})"
    text += f" ticks {ticks(axis, 'major')} minor {ticks(axis, 'minor')}"
    params = axis.get_tick_params()
    kept = ("labelsize", "length", "left", "labelleft", "bottom", "labelbottom", "gridOn")
    return text + "".join(f" {k}={params[k]}" for k in kept if k in params)


def ticks(axis: Axis, which: str) -> str:
    """Where ticks are and what is written there, or the rules for both."""
    locator = getattr(axis, f"get_{which}_locator")()
    formatter = getattr(axis, f"get_{which}_formatter")()
    rules = ("_integer", "_base", "_linthresh", "_subs")
    if isinstance(locator, FixedLocator):
        where = numbers(locator.locs)
    else:
        kept = {name: vars(locator)[name] for name in rules if vars(locator).get(name) is not None}
        where = type(locator).__name__ + "".join(f" {k.strip('_')}={v}" for k, v in kept.items())
    if isinstance(formatter, FixedFormatter):
        return f"[{where}] {list(formatter.seq)}"
    if isinstance(formatter, FuncFormatter | PercentFormatter):
        fixed = locator.locs if isinstance(locator, FixedLocator) else [0.12345, -1234.5]
        return f"[{where}] {[formatter(value, place) for place, value in enumerate(fixed)]}"
    return f"[{where}] {type(formatter).__name__}"


def spine_texts(axes: Axes) -> Iterator[str]:
    """The frame, side by side."""
    for name, spine in axes.spines.items():
        if name in ("left", "right", "top", "bottom"):
            bounds = getattr(spine, "_bounds", None)
            shown = color(spine.get_edgecolor()) if spine.get_visible() else "no"
            yield f"{name} {shown}" + ("" if bounds is None else f" from {numbers(bounds)}")


def artist_lines(axes: Axes, artist: Any) -> Iterable[str]:
    """One thing that is drawn."""
    if isinstance(artist, Text):
        return [f"text {text_line(artist)} in {frame_of(axes, artist)}"] if artist.get_text() or _arrow(artist) else []
    if isinstance(artist, Line2D):
        return [line_text(axes, artist)]
    if isinstance(artist, AxesImage):
        return [image_text(artist)]
    if isinstance(artist, Quiver):
        return [f"arrows {common(artist)} scale {artist.scale} at {numbers(artist.XY)}",
                f"  by {numbers(artist.U)} / {numbers(artist.V)} colors {color(artist.get_facecolor())}"]  # fmt: skip
    if isinstance(artist, Collection):
        return collection_lines(artist)
    if isinstance(artist, Legend):
        return legend_lines(artist)
    if isinstance(artist, Axes):
        return [f"inset {line}" for line in axes_lines(artist)]
    if isinstance(artist, Patch):
        return [patch_text(axes, artist)]
    return []


def common(artist: Any) -> str:
    """What everything that is drawn has."""
    label = artist.get_label() or ""
    shown = "" if str(label).startswith("_") else f" {label!r}"
    return f"z={number(artist.get_zorder())} alpha={artist.get_alpha()}{shown}"


def frame_of(axes: Axes, artist: Any) -> str:
    """What the numbers of a thing count in."""
    known = {
        "data": axes.transData,
        "axes": axes.transAxes,
        "data across, axes up": axes.get_xaxis_transform(),
        "axes across, data up": axes.get_yaxis_transform(),
    }
    own = artist.get_transform()
    return next((name for name, transform in known.items() if own == transform), "other")


def text_line(text: Text) -> str:
    """A text, its place and its type."""
    words = f"{text.get_text()!r} at {numbers(text.get_position())} {color(text.get_color())}"
    words += f" size {number(text.get_fontsize())} {text.get_fontweight()} {text.get_ha()}/{text.get_va()}"
    if text.get_rotation():
        words += f" rotated {number(text.get_rotation())}"
    words += f" clip={text.get_annotation_clip()}" if isinstance(text, Annotation) else ""
    if (box := text.get_bbox_patch()) is not None:
        words += f" box {color(box.get_facecolor())} {box.get_boxstyle().__class__.__name__} {box.get_linewidth()}"
    if isinstance(text, Annotation):
        words += f" to {numbers(text.xy)} shift {text.anncoords}"
    if (arrow := _arrow(text)) is not None:
        style = arrow.get_connectionstyle()
        words += f" arrow {color(arrow.get_edgecolor())} {number(arrow.get_linewidth())} {arrow.get_arrowstyle()!s}"
        words = words.split(" <")[0] + f" shrink {arrow.shrinkA} {arrow.shrinkB} bent {getattr(style, 'rad', None)}"
    return words


def _arrow(text: Any) -> Any:
    return getattr(text, "arrow_patch", None)


def line_text(axes: Axes, line: Line2D) -> str:
    """A curve."""
    look = f"{color(line.get_color())} {line.get_linestyle()} {number(line.get_linewidth())}"
    if line.get_marker() not in ("None", "none", "", None):
        look += f" marker {line.get_marker()} {number(line.get_markersize())} {line.get_fillstyle()}"
        look += f" {color(line.get_markerfacecolor())}/{color(line.get_markeredgecolor())}"
    where = frame_of(axes, line)
    data = f"{numbers(line.get_xdata())} / {numbers(line.get_ydata())}"
    return f"line {common(line)} {look}" + ("" if where == "data" else f" in {where}") + f": {data}"


def image_text(image: AxesImage) -> str:
    """A picture."""
    array = np.ma.asarray(image.get_array())
    norm, limits = image.norm, numbers([image.norm.vmin or 0, image.norm.vmax or 0])
    shades = numbers(image.get_cmap()(np.linspace(0, 1, 5)))
    return f"image {common(image)} {array.shape} {type(norm).__name__} {limits} shades {shades}: {numbers(array)}"


def collection_lines(found: Collection) -> list[str]:
    """Points, areas or segments: their looks, then their places."""
    look = f"face {color(found.get_facecolor())} edge {color(found.get_edgecolor())} {numbers(found.get_linewidth())}"
    lines = [f"{type(found).__name__} {common(found)} {look}"]
    if hasattr(found, "get_sizes") and np.size(found.get_sizes()):  # pyright: ignore[reportAttributeAccessIssue]
        lines[0] += f" sizes {numbers(found.get_sizes())}"  # pyright: ignore[reportAttributeAccessIssue]
        return [*lines, f"  at {numbers(found.get_offsets())}"]
    if isinstance(found, QuadContourSet):
        return [*lines, f"  levels {numbers(found.levels)}"]  # Where lines run is for their library to say.
    if found.get_array() is not None:
        lines.append(f"  values {numbers(found.get_array())} from {numbers(found.get_clim())}")
    corners = [path.vertices for path in found.get_paths() if len(path.vertices)]
    return [*lines, f"  over {numbers(np.concatenate(corners)) if corners else 'nothing'}"]


def legend_lines(legend: Legend) -> list[str]:
    """A legend: its columns, then its entries."""
    place = getattr(legend, "_outside_loc", None) or getattr(legend, "_loc", None)
    size = numbers([text.get_fontsize() for text in legend.get_texts()][:1])
    lines = [f"legend at {place} columns {getattr(legend, '_ncols', None)} size {size}"]
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=False):
        face = getattr(handle, "get_facecolor", None) or getattr(handle, "get_color", None)
        lines.append(f"    {text.get_text()!r} {type(handle).__name__} {'' if face is None else color(face())}")
    return lines


def patch_text(axes: Axes, patch: Patch) -> str:
    """A bar, a disc, a span."""
    look = f"face {color(patch.get_facecolor())} edge {color(patch.get_edgecolor())} {number(patch.get_linewidth())}"
    where = frame_of(axes, patch)
    corners = patch.get_path().transformed(patch.get_patch_transform()).get_extents().bounds
    shown = "" if where == "other" else f" in {where}"
    return f"{type(patch).__name__} {common(patch)} {look}{shown}: {numbers(corners)}"
