"""`robustirl layouts`: its tables. What takes minutes to compute has a stand-in."""

import dataclasses

from robustirl.cli import engines, layouts
from tests.cli.running import finished, run
from tests.invented_runs import layouts as runs_of_layouts


def test_layouts_prints_a_table_for_every_measure(monkeypatch, tmp_path, refused):
    settled = {0: -10.0, 1: -30.0, 2: -19.0, 3: -21.0}
    records = [dataclasses.replace(one, optimal_return=settled[one.spec.seed]) for one in runs_of_layouts()]
    drawn, complete = [], [True, False]
    monkeypatch.setattr(engines, "compute", lambda *_, **__: finished(records, complete=complete.pop(0)))
    monkeypatch.setattr(layouts, "write_layout_tables", lambda *_: [tmp_path / "layouts.csv"])
    monkeypatch.setattr(layouts, "draw_layouts", lambda found, model, out: drawn.append(model) or [])
    judged, shapes = [], layouts.shapes
    monkeypatch.setattr(layouts, "shapes", lambda found, of: judged.append(len(found)) or shapes(found, of))
    request = layouts.Layouts(4, alphas=(1.0, 0.9), learner_noise=(0.0,), expert_noise=(0.1,), out=tmp_path)
    status, said = run(layouts.run_layouts, request)
    assert (status, drawn) == (0, ["uniform-state"])
    assert judged == [len(records), len(records), len(records) // 2]  # All layouts, or the settled ones alone.
    assert "2 of 4 layouts are settled" in said
    assert said.count("the paper's shape") == 3
    assert said.count(f"wrote {tmp_path / 'layouts.csv'}") == 1
    assert run(layouts.run_layouts, request)[0] == 130
    for alphas in ((1.0,), (0.9, 0.8)):
        with refused(f"--alphas are {alphas}"):
            run(layouts.run_layouts, dataclasses.replace(request, alphas=alphas))
    with refused("--layouts is 3"):
        run(layouts.run_layouts, dataclasses.replace(request, layouts=3))


def test_more_layouts_than_a_sweep_takes_are_refused_before_they_are_listed(tmp_path, refused):
    request = layouts.Layouts(10**9, alphas=(1.0, 0.9), learner_noise=(0.0,), expert_noise=(0.1,), out=tmp_path)
    with refused("there are 2000000000 runs", "1000000000 seeds", "at most 1000000"):
        run(layouts.run_layouts, request)
