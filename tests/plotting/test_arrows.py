"""Arrows of a policy: how many are drawn."""

from robustirl.plotting import figure_fit
from robustirl.plotting.objects import plot_fit
from tests import invented
from tests.drawn import text_of_figure
from tests.plotting.worlds import GRID


def test_arrows_are_drawn_up_to_their_largest_number_of_cells(monkeypatch):
    found = invented.fit(36, 4)
    for limit, arrows in ((36, 4), (35, 0)):
        monkeypatch.setattr("robustirl.plotting.fit.MAX_ARROWS", limit)
        monkeypatch.setattr("robustirl.plotting.objects.MAX_ARROWS", limit)
        drawn = [figure_fit(GRID, invented.model(found), invented.shares(36)), plot_fit(found, GRID)]
        assert [text_of_figure(figure).count("arrows") for figure in drawn] == [arrows, arrows]
