"""The figure of an automatic α: its curves are those of the selection, and the chosen α is marked."""

import numpy as np

from robustirl.paper.figures.alpha import figure_alpha_rule
from robustirl.plotting import figure_alpha
from tests.invented import selection


def test_the_curves_are_those_of_the_selection():
    left, right = figure_alpha(selection()).axes
    explained, missed, chosen = left.lines
    # 0.8 of what is explained, and a tenth of the sampling error.
    assert np.allclose(explained.get_ydata(), [0.02, 0.18, 0.26])
    assert np.allclose(missed.get_ydata(), [0.0, 0.01, 0.19])
    assert np.allclose(chosen.get_xdata(), 0.1)
    labels = [text.get_text() for text in right.get_legend().get_texts()]  # pyright: ignore[reportOptionalMemberAccess]
    assert {"chosen, α = 0.9", "not admissible"} <= set(labels)


def test_fits_are_counted_by_what_they_do_and_those_beyond_the_axes_at_their_edge():
    points = [("hole", 0.2, 0.5), ("hole", 0.1, -0.04), ("hole", np.inf, -9.0)]
    left, right = figure_alpha_rule(points, [0.5, -3.0]).axes
    harms, neither, helps = ([bar.get_height() for bar in bars] for bars in left.containers)
    assert (harms[0], neither[0], helps[0]) == (0, 50, 50)
    assert (harms[-1], neither[-1], helps[-1]) == (100, 0, 0)
    assert sum(map(sum, (harms[1:-1], neither[1:-1], helps[1:-1]))) == 0
    counts = [bar.get_height() for bar in right.containers[0]]
    assert (counts[0], sum(counts)) == (1, 2)
