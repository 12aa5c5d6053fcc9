"""`robustirl continuous`: its cells, and packed stores. What takes minutes to compute has a stand-in."""

import dataclasses
from types import SimpleNamespace

from robustirl.cli import continuous
from tests.cli.running import finished, run
from tests.cli.test_cli_printed import learners


def test_continuous_prints_its_cells(monkeypatch, tmp_path):
    complete = [True, False]
    monkeypatch.setattr(
        continuous, "reproduce_continuous", lambda *_, **__: finished(learners(), complete=complete.pop(0))
    )
    request = continuous.Continuous(seeds=1, alphas=(1.0,), learner_noise=(0.0,), expert_noise=(0.1,), out=tmp_path)
    status, said = run(continuous.run_continuous, request)
    assert (status, "reach the goal" in said) == (0, True)
    assert run(continuous.run_continuous, request)[0] == 130


def test_continuous_draws_a_packed_store(monkeypatch, tmp_path, refused):
    records, specs = learners(), []
    monkeypatch.setattr(continuous, "unpack_store", lambda path, folder: SimpleNamespace(specs=specs))
    monkeypatch.setattr(continuous, "learners", lambda store: records)
    monkeypatch.setattr(continuous, "Store", SimpleNamespace(read=lambda folder: None))
    monkeypatch.setattr(
        continuous,
        "rebuild_report",
        lambda folder, progress: dataclasses.replace(finished(records), files=[folder / "report.html"]),
    )
    request = continuous.Continuous(records=tmp_path / "packed.npz", out=tmp_path / "out")
    status, said = run(continuous.run_continuous, request)
    assert status == 0
    assert f"wrote {tmp_path / 'out' / 'report.html'}" in said
    records = []
    with refused("packed.npz holds no runs, but --records draws continuous ones"):
        run(continuous.run_continuous, request)
