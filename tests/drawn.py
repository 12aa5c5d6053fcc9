"""What a figure shows, as numbers and words: for comparison with what it showed when somebody last looked at it."""

import numpy as np
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


def numbers(array):
    """An array as a list of rounded numbers; what is not finite as None."""
    flat = np.ma.filled(np.ma.asarray(array, dtype=float), np.nan).ravel()
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in flat]


def drawn(figure: Figure):
    """Of every panel: its words, curves, points, areas and pictures."""
    return [
        {
            "words": [axis.get_title(), axis.get_title("left"), axis.get_xlabel(), axis.get_ylabel()],
            "scales": [axis.get_xscale(), axis.get_yscale()],
            "texts": [[text.get_text(), *numbers(text.get_position())] for text in axis.texts],
            "lines": [[line.get_label(), line.get_marker(), *numbers(line.get_xydata())] for line in axis.lines],
            "points": [
                numbers(found.get_offsets())
                for found in axis.collections
                if isinstance(found, PathCollection | QuadMesh)
            ],
            "areas": [
                numbers(path.vertices)
                for found in axis.collections
                if isinstance(found, PolyCollection)
                for path in found.get_paths()
            ],
            "bars": [numbers(patch.get_bbox().bounds) for patch in axis.patches if isinstance(patch, Rectangle)],
            "pictures": [numbers(image.get_array()) for image in axis.images],
            "legend": [text.get_text() for text in axis.get_legend().get_texts()] if axis.get_legend() else [],
        }
        for axis in figure.axes
    ]


def alike(now, before):
    """Whether two descriptions agree, numbers to four digits: versions of Matplotlib may round differently."""
    if isinstance(before, dict):
        return now.keys() == before.keys() and all(alike(now[key], before[key]) for key in before)
    if isinstance(before, list):
        return len(now) == len(before) and all(map(alike, now, before))
    if isinstance(before, float) and isinstance(now, float):
        return bool(np.isclose(now, before, rtol=1e-4, atol=1e-6))
    return now == before
