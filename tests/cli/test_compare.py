"""`robustirl compare`: which cells it explains. What takes minutes to compute has a stand-in."""

import pytest

from robustirl.cli import compare, engines
from robustirl.paper.finite.comparison import Explanation
from tests.cli.running import finished, run
from tests.cli.test_cli_printed import published_runs


@pytest.mark.parametrize(("worst", "count"), [(2, 2), (1, 1), (0, 0), (-1, 0)])
def test_compare_explains_the_cells_that_differ_most(monkeypatch, tmp_path, worst, count):
    asked, explained = [], []
    records = published_runs()
    monkeypatch.setattr(engines, "compute", lambda specs, *_, **__: (asked.extend(specs), finished(records))[1])

    def explain(cell, *, draws):
        explained.append((cell.record, draws))
        return Explanation(cell, -1.0, 0.0, -2.0)

    monkeypatch.setattr(compare, "explain", explain)
    status, said = run(compare.run_compare, compare.Compare(("gridworld-1",), worst=worst, draws=1, out=tmp_path))
    assert status == 0
    assert {(spec.environment, spec.noise_model, spec.steps) for spec in asked} == {("gridworld-1", "published", 200)}
    assert explained == [(one, 1) for one in records[::-1][:count]]  # Each is further from its number than the last.
    assert ("the cells that differ most" in said) == (count > 0)
    assert "relative error against the published numbers" in said
    assert "against the published numbers, 5 cells" in said


def test_compare_needs_a_draw_only_where_it_explains(monkeypatch, tmp_path, refused):
    monkeypatch.setattr(engines, "compute", lambda *_, **__: finished(published_runs(), complete=False))
    assert run(compare.run_compare, compare.Compare(("gridworld-1",), worst=0, draws=0, out=tmp_path))[0] == 130
    with refused("--draws is 0"):
        run(compare.run_compare, compare.Compare(("gridworld-1",), worst=1, draws=0, out=tmp_path))
