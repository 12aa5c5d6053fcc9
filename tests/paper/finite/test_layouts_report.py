"""Figures of layouts: which of them are drawn."""

import dataclasses

import pytest

from robustirl.paper.finite.layouts_report import draw_layouts
from tests.invented_runs import layouts


def test_figures_of_layouts_are_of_those_that_a_measure_is_for(tmp_path):
    drawn = []
    settled = {0: -10.0, 1: -30.0, 2: -19.0, 3: -21.0}
    runs = [dataclasses.replace(one, optimal_return=settled[one.spec.seed]) for one in layouts()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "robustirl.paper.figures.figure_layouts", lambda found, *words: drawn.append((len(found), words[-1]))
        )
        patch.setattr("robustirl.paper.figures.save_figure", lambda figure, path: [path])
        names = ("gap", "discounted", "total")
        assert draw_layouts(runs, "a model", tmp_path) == [tmp_path / f"layouts-{name}" for name in names]
        bad = [dataclasses.replace(one, optimal_return=-99.0) for one in runs]
        assert len(draw_layouts(bad, "a model", tmp_path)) == 2
    words = "layouts, means and 95 % intervals; noise model: a model"
    assert drawn[:3] == [(72, f"4 {words}"), (72, f"4 {words}"), (36, f"2 {words}")]
