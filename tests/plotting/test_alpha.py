"""The figure of an automatic α: its curves are those of the selection, and the chosen α is marked."""

import numpy as np

from robustirl.demonstrations import AlphaEstimate
from robustirl.irl import AlphaSelection
from robustirl.paper.figures.alpha import figure_alpha_rule
from robustirl.plotting import figure_alpha


def selection(alpha=0.9):
    zeros = np.zeros(3)
    return AlphaSelection(
        alpha=alpha,
        candidates=np.array([1.0, 0.9, 0.8]),
        gap=np.array([0.01, 0.02, 0.2]),
        distance=np.array([0.01, 0.21, 0.31]),
        excess=zeros,
        arrival=zeros + 1,
        reach=zeros + 1,
        planned=zeros == 0,
        gain=np.array([0.0, 2.0, 3.0]),
        gain_error=np.array([0.0, 0.5, 0.6]),
        own_gains=np.zeros((3, 3)),
        avoidable_gap=0.0,
        sampling_error=0.2,
        direction="unknown",
        log_likelihood=zeros,
        log_likelihood_error=zeros,
        admissible=np.array([True, True, False]),
        decisive=True,
        note="",
        episodes=100,
        fits=(),
        mismatch=AlphaEstimate(1.0, 0.05, 1.0, False, "", "states", 0.0, 100, 0.95),
    )


def test_the_curves_are_those_of_the_selection():
    left, right = figure_alpha(selection()).axes
    explained, missed, chosen = left.lines
    # 0.8 of what is explained, and a tenth of the sampling error.
    assert np.allclose(explained.get_ydata(), [0.02, 0.18, 0.26])
    assert np.allclose(missed.get_ydata(), [0.0, 0.01, 0.19])
    assert np.allclose(chosen.get_xdata(), 0.1)
    labels = [text.get_text() for text in right.get_legend().get_texts()]  # pyright: ignore[reportOptionalMemberAccess]
    assert {"chosen, α = 0.9", "not admissible"} <= set(labels)


def test_points_beyond_the_axes_are_drawn_at_their_edge():
    left, _ = figure_alpha_rule([("hole", 0.2, 0.5), ("hole", np.inf, -9.0)], [0.5, -3.0]).axes
    points = np.asarray(left.collections[0].get_offsets())
    assert points.tolist() == [[0.2, 0.5], [3.0, -2.0]]
