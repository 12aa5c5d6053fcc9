"""The study of physics: refusals, and a small run to its tables."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.cli import main
from robustirl.errors import InvalidInputError
from robustirl.paper.figures import physics as physics_figures
from robustirl.paper.studies import physics
from robustirl.paper.studies.physics import PhysicsStudy, _read
from robustirl.paper.studies.physics_experts import PhysicsExpertRecord, read_experts
from robustirl.paper.studies.physics_results import (
    RUN_COLUMNS,
    run_rows,
)
from robustirl.paper.studies.physics_runs import CONTROLS, PhysicsSpec, specs_of
from robustirl.paper.studies.registry import Frame
from robustirl.sweeps import RunResult, Store
from robustirl.sweeps.store.packing import pack_store
from tests.paper.studies.hand_made import records_of


def test_options_that_cannot_be_run_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="there is no world 'hoper' in this study; choose among cart-pole"):
        PhysicsStudy(worlds=("hoper",)).requested()
    with pytest.raises(InvalidInputError, match="need at least one value each"):
        PhysicsStudy(factors=()).requested()
    with pytest.raises(InvalidInputError, match="--steps is 5"):
        PhysicsStudy(steps=5).requested()
    with pytest.raises(InvalidInputError, match="cart-pole-swing-up has no parameter 'weight'"):
        PhysicsStudy(parameters=("weight",)).requested()
    for option in ("seeds", "episodes", "fewer"):
        with pytest.raises(InvalidInputError, match=f"--{option} is 0"):
            PhysicsStudy(**{option: (0,) if option == "fewer" else 0}).requested()
    small = PhysicsStudy(
        worlds=("cart-pole-swing-up",), factors=(2.0,), alphas=(1.0,), seeds=1, episodes=1, parameters=("mass",)
    )
    assert len(small.requested()) == len(dataclasses.replace(small, fewer=(1,)).requested()) == 1 + len(CONTROLS)
    monkeypatch.setattr(Frame, "compute", None)  # Of stores that are named nothing is computed.
    assert main(["study", "physics", "--stores", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2


def test_the_request_is_complete_and_shares_experts():
    study = PhysicsStudy(parameters=("mass", "gravity"), factors=(1.0, 2.0), alphas=(1.0, 0.9), fewer=(4,), seeds=3)
    runs = study.requested()
    assert len(runs) == 3 * 2 * (2 + len(CONTROLS)) * 3  # Cases, levels, methods, seeds.
    assert {(run.parameter, run.episodes) for run in runs} == {("mass", 16), ("gravity", 16), ("mass", 4)}
    experts = {expert for run in runs for expert in (*run.shown_experts, *run.local_experts)}
    assert {(one.parameter, one.factor) for one in experts} == {("", 1.0), ("mass", 2.0), ("gravity", 2.0)}
    assert len({expert.attempt for expert in experts}) == 2
    first = specs_of("hopper", "mass", [1.0], [0.95], 16, 1)[0]
    assert first.alpha == 0.95
    assert dataclasses.replace(first, method="randomized").alpha == 1
    assert dataclasses.replace(first, method="cloned").alpha is None


def test_runs_of_a_batch_that_train_alike_are_trained_once():
    cases = [specs_of("hopper", parameter, [1.0, 2.0], [0.9], 16, 2) for parameter in ("mass", "friction")]
    cases.append(specs_of("hopper", "mass", [1.0, 2.0], [0.9], 4, 2))
    trained = [{spec.training for spec in case if spec.alpha is not None} for case in cases]
    # Two seeds of 0.9 at both levels, and of domain randomization, which does not know the level.
    assert [len(one) for one in trained] == [6, 6, 6]
    # Where nothing differs, mass and friction are one world; other demonstrations are another training.
    assert len(trained[0] & trained[1]) == 2
    assert not trained[0] & trained[2]


@pytest.mark.slow
def test_a_small_study_ends_with_its_tables_and_is_not_computed_twice(tmp_path, capsys):
    out, again = tmp_path / "out", tmp_path / "again"
    given = ["--expert-steps", "4096", "--steps", "4096", "--seeds", "2", "--factors", "1", "2", "--alphas", "1", "0.9"]
    here = ["--workers", "1", "--log-file", str(tmp_path / "log")]  # Other processes do not write to the log.
    assert main(["study", "physics", *given, "--out", str(out), *here]) == 0
    trained = re.findall(r"(\d+) imitations, 4096 of 4096 steps", (tmp_path / "log").read_text())
    assert sum(map(int, trained)) == 10  # 2 x 2 x 2, and 2 randomized.
    table = (out / "physics-alpha.md").read_text()
    stamp = sorted((path.name, path.stat().st_mtime_ns) for path in (out / "batches").iterdir())
    assert main(["study", "physics", *given, "--out", str(out)]) == 0
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (out / "batches").iterdir()) == stamp
    assert main(["study", "physics", "--stores", str(out), "--out", str(again)]) == 0
    assert (again / "physics-alpha.md").read_text() == table
    assert len((again / "physics.csv").read_text().splitlines()) == 1 + 2 * 7 * 2
    capsys.readouterr()
    # Experts first, imitations of one level, and then another level, into one folder: the same runs.
    parts = tmp_path / "parts"
    given[6:9] = ["--factors", "1"]
    assert main(["study", "physics", *given, "--experts", "--out", str(parts)]) == 0
    assert "| cart-pole-swing-up | usual | 1.0 | 0 | 4096 |" in " ".join(capsys.readouterr().out.split())
    assert main(["study", "physics", *given, "--extend", "--out", str(parts)]) == 0
    given[6:8] = ["--factors", "2"]
    assert main(["study", "physics", *given, "--extend", "--out", str(parts)]) == 0
    levels = {(row.spec.factor, row.spec.method, row.spec.seed): row for row in _read((parts,))}
    for row in _read((out,)):
        found = levels.pop((row.spec.factor, row.spec.method, row.spec.seed))
        assert found.learner_return == pytest.approx(row.learner_return, rel=0.02)
    assert not levels
    capsys.readouterr()


def test_tables_and_a_figure_for_every_world(tmp_path, monkeypatch):
    records = [
        *records_of("hopper", "mass", 2.0, {"alpha=1": (60, 60)}),
        *records_of("walker-2d", "mass", 2.0, {}),
    ]
    drawn, asked = {}, []
    monkeypatch.setattr(physics_figures, "figure_physics", lambda own: {one.spec.world for one in own})
    monkeypatch.setattr(Frame, "save_figure", lambda _, name, figure: drawn.update({name: figure}))

    def compute(frame, specs, given):
        assert not given
        asked.append(specs)
        frame.outcomes.append(SimpleNamespace(records=[PhysicsExpertRecord(specs[0], 12.0, 0.0), *records]))
        return frame.outcomes[-1].records[:1]

    monkeypatch.setattr(Frame, "compute", compute)
    frame = Frame(tmp_path, say=lambda _: None)
    study = PhysicsStudy(parameters=("mass",), factors=(1.0, 2.0), alphas=(1.0,), seeds=1, fewer=(4, 16))
    study.run(frame)
    assert drawn == {"physics-hopper": {"hopper"}, "physics-walker-2d": {"walker-2d"}}
    runs = [spec for spec in asked[0] if isinstance(spec, PhysicsSpec)]
    assert len(runs) == 2 * 2 * (1 + len(CONTROLS))  # Of 16 and of 4 episodes; 16 are not asked for twice.
    assert len(asked[0]) - len(runs) == 2 * 2  # Two attempts at two levels.
    assert (tmp_path / "physics.csv").read_text().count("hopper") == 12
    assert not (tmp_path / "physics-sampled.md").exists()  # Nothing was measured with drawn actions.
    dataclasses.replace(study, experts=True).run(Frame(tmp_path / "experts", say=lambda _: None))
    assert asked[1] == asked[0][:4]
    rows = (tmp_path / "experts" / "physics-experts.md").read_text().splitlines()
    assert rows[2:] == [f"| cart-pole-swing-up | usual | 1.0 | 0 | {asked[1][0].steps} | 12 |"]
    # Of stores nothing is computed, whatever else is asked for.
    monkeypatch.setattr(
        physics.Store, "read", lambda folder: SimpleNamespace(records=lambda: records[: int(folder.name)])
    )
    dataclasses.replace(study, experts=True, stores=(tmp_path / "12",)).run(
        Frame(tmp_path / "stores", say=lambda _: None)
    )
    assert len(asked) == 2
    assert (tmp_path / "stores" / "physics.csv").read_text().count("walker") == 0
    with pytest.raises(InvalidInputError, match=r"0 hold no finished run of this study; give folders that --out named"):
        _read((tmp_path / "0",))
    # A run that was done again stands in its old place.
    again = dataclasses.replace(records[3], learner_return=-5.0)
    held = {"old": records, "new": [again]}
    monkeypatch.setattr(physics.Store, "read", lambda folder: SimpleNamespace(records=lambda: held[folder.name]))
    assert _read((tmp_path / "old", tmp_path / "new")) == [*records[:3], again, *records[4:]]
    assert _read((tmp_path / "new", tmp_path / "old"))[0] == records[3]


def _packed_experts(tmp_path, specs):
    """Return a folder with experts that earn 5, and a file that it was packed into."""
    with Store.open(tmp_path / "trained", specs) as store:
        arrays = {"weights_0": np.arange(6.0).reshape(3, 2), "biases_0": np.zeros(2), "log_deviation": np.ones(2)}
        store.append([RunResult(PhysicsExpertRecord(spec, 5.0, 0.0), arrays) for spec in specs])
    return tmp_path / "trained", pack_store(tmp_path / "trained", tmp_path / "experts.npz")


def test_experts_are_taken_from_a_store_or_a_file_of_one(tmp_path, monkeypatch, caplog):
    study = PhysicsStudy(parameters=("mass",), factors=(1.0, 2.0), alphas=(1.0,), seeds=1)
    runs = study.requested()
    needed = study._needed(runs)
    folder, file = _packed_experts(tmp_path, needed)
    asked = []

    def compute(frame, specs, given):
        asked.append(specs)
        held = Store.read(frame.out)
        assert list(given) == [spec for spec in specs if spec in held]
        assert held.specs == tuple(specs)
        return [held.result(spec).record for spec in needed]

    monkeypatch.setattr(Frame, "compute", compute)
    for place in (folder, file):
        given = dataclasses.replace(study, experts=True, experts_from=place)
        out = tmp_path / f"out-{place.name}"
        for _ in range(2):  # A second time they are there already.
            given.run(Frame(out, say=lambda _: None))
            assert (out / "physics-experts.md").read_text().count("| 5 |") == 4
        assert len(list((out / "batches").iterdir())) == 1
        assert np.array_equal(Store.read(out).result(needed[3]).arrays["weights_0"], [[0, 1], [2, 3], [4, 5]])
    assert asked == [needed] * 4
    # The folder of another request is extended if that is asked for, and not else.
    more = dataclasses.replace(study, experts_from=file)
    with pytest.raises(InvalidInputError, match="holds results of another request"):
        more._compute(Frame(out), [*needed, *runs])
    assert len(more._compute(Frame(out, extend=True), [*needed, *runs])) == 4
    # Experts that a file has are taken from it, and the others are left to be trained; one that has none is refused.
    with caplog.at_level("INFO", "robustirl"):
        held = read_experts(file, study._needed(dataclasses.replace(study, factors=(1.0, 3.0)).requested()))
    assert [(spec.factor, spec.attempt) for spec in held] == [(1.0, 0), (1.0, 1)]
    assert caplog.messages == [f"2 of 4 experts are taken from {file}, and the others are trained"]
    lacking = dataclasses.replace(more, expert_steps=999_424)
    with pytest.raises(InvalidInputError, match=r"experts.npz has none of the 4 experts that are needed, .*steps=9994"):
        lacking.run(Frame(tmp_path / "lacking"))
    assert not (tmp_path / "lacking").exists()


def test_tables_of_runs_are_read_as_they_were_written(tmp_path):
    records = [*records_of("hopper", "mass", 2.0, {"alpha=1": (60.25, 61)})]
    records[0] = dataclasses.replace(records[0], gap=float("nan"))
    file = tmp_path / "physics.csv"
    Frame(tmp_path).write_csv("physics", RUN_COLUMNS, run_rows(records))
    found = _read((file,))
    assert [one.spec for one in found] == [one.spec for one in records]
    assert run_rows(found) == run_rows(records)
    assert [type(part) for part in dataclasses.astuple(found[0].spec)] == [str, str, float, str, int, int, int, int]
    assert np.isnan(found[0].gap)
    earlier = [",".join(line.split(",")[:-2]) for line in file.read_text().splitlines()]
    (tmp_path / "earlier.csv").write_text("\n".join(earlier))
    assert run_rows(_read((tmp_path / "earlier.csv",))) == run_rows(records)
    for text, reason in (("a,b\n1,2\n", "'world'"), (file.read_text().replace("60.25", "high"), "'high'")):
        file.write_text(text)
        with pytest.raises(InvalidInputError, match=rf"physics.csv is no table of runs \(.*{reason}.*\); give a"):
            _read((file,))


def test_runs_of_a_packed_store_are_read_as_those_of_its_folder(tmp_path):
    records = [*records_of("hopper", "mass", 2.0, {"alpha=1": (60.25, 61)})]
    with Store.open(tmp_path / "runs", [one.spec for one in records]) as store:
        store.append([RunResult(one, {}) for one in records])
    file = pack_store(tmp_path / "runs", tmp_path / "runs.npz")
    assert run_rows(_read((file,))) == run_rows(_read((tmp_path / "runs",))) == run_rows(records)


def test_counts_of_the_study_of_physics_are_at_least_one():
    small = {"parameters": ("mass",), "factors": (1.0,), "alphas": (1.0,)}
    assert len(PhysicsStudy(**small, seeds=1, episodes=1, fewer=(1,)).requested()) == 1 + len(CONTROLS)
    for name in ("worlds", "parameters", "factors", "alphas"):
        with pytest.raises(InvalidInputError, match="need at least one value each"):
            PhysicsStudy(**small | {name: ()}).requested()
    for bad in ({"seeds": 0}, {"episodes": 0}, {"fewer": (0,)}):
        with pytest.raises(InvalidInputError, match="at least 1 is needed"):
            PhysicsStudy(**small | bad).requested()
