"""The figure of an automatic α: its curves are those of the selection, and the chosen α is marked."""

import numpy as np

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
