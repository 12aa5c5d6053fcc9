"""Rewards planned with in changed worlds: what the changes do, and the table that anybody can add a method to."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.paper.studies import transfer, transfer_families, transfer_methods
from robustirl.paper.studies.registry import Frame, StudyInterrupted
from robustirl.paper.studies.transfer import RewardTransfer, curves, interval, regrets_of, summarize
from robustirl.paper.studies.transfer_families import Family, make_family, never_replace
from robustirl.paper.studies.transfer_methods import METHODS, register_method
from robustirl.paper.studies.transfer_runs import TransferContext, TransferSpec, as_learned, regret, specs_of
from robustirl.sweeps import Store
from tests.commands import robustirl
from tests.goldens import as_lines, require_golden


def test_changes_are_what_they_are_called():
    family = make_family("gridworld")
    calm = np.asarray(family.learner.kernel.to_array())
    found = {(kind, strength): world for kind, strength, world in family.changes}
    assert {kind for kind, _ in found} == {"noise", "blocked cells", "moved start", "permuted actions"}
    blocked = np.asarray(found["blocked cells", 0.3].kernel.to_array())
    entered = blocked.copy()
    entered[np.arange(36), :, np.arange(36)] = 0
    assert (entered.sum((0, 1)) == 0).sum() >= 10
    assert found["moved start", 1.0].initial[-1] == 1
    permuted = np.asarray(found["permuted actions", 0.3].kernel.to_array())
    assert np.sort(permuted, axis=1) == pytest.approx(np.sort(calm, axis=1))
    assert (permuted != calm).any()
    for kind in ("blocked cells", "moved start", "permuted actions"):
        assert np.asarray(found[kind, 0.0].kernel.to_array()) == pytest.approx(calm)


def test_groups_of_buses_come_in_the_order_of_their_growth():
    family = make_family("buses")
    assert [round(change.strength, 3) for change in family.changes] == [0.62, 0.621, 0.703, 0.817]  # 2, 4, 3, 1.
    assert family.reward[10].tolist() == pytest.approx([-0.02293, -10.075])
    assert never_replace(family.learner)[:, 1].max() == 0


def test_regret_is_zero_for_the_truth_and_one_for_what_acts_like_chance():
    world = MDP([[[1.0], [1.0]]], discount=0.5)
    truth = np.array([[0.0, 1.0]])
    assert regret(world, truth, truth) == 0
    assert regret(world, truth, np.zeros((1, 2))) == pytest.approx(1)
    # Against a plain policy that always takes the worse action, chance has a regret of a half.
    assert regret(world, truth, np.zeros((1, 2)), lambda _: np.array([[1.0, 0.0]])) == pytest.approx(0.5)


def test_rewards_that_are_none_are_refused_by_the_name_of_their_method():
    world = MDP([[[1.0], [1.0]]], discount=0.5)
    assert as_learned("mine", [[1, 2]], world).tolist() == [[1.0, 2.0]]
    for reward, reason in (([1.0, 2.0], r"of shape \(2,\)"), ([np.nan], "entries"), (["much"], "entries")):
        with pytest.raises(InvalidInputError, match=f"the method 'mine' returned a reward .*{reason}"):
            as_learned("mine", reward, world)


def test_an_interval_of_one_draw_has_no_width():
    mean, width = interval(np.array([0.25]))
    assert mean == 0.25
    assert np.isnan(width)


@pytest.fixture
def tiny(monkeypatch):
    """Two states that take turns, two actions: regrets are known; methods from outside the package alone."""
    world = MDP([[[0.0, 1.0]] * 2, [[1.0, 0.0]] * 2], discount=0.5)
    changes = (transfer_families.Change("nothing", 0.0, world),)
    family = Family("tiny", np.array([[0.0, 1.0]] * 2), world, world, changes, 1.0, 3, transfer_families.random_policy)
    monkeypatch.setitem(transfer_families.FAMILIES, "tiny", lambda: family)
    before = dict(METHODS)
    METHODS.clear()
    yield family
    METHODS.clear()
    METHODS.update(before)


def test_a_method_from_outside_is_one_function_and_a_column(tiny, tmp_path):
    @register_method("counting")
    def counting(task):
        chosen = np.concatenate([episode.actions for episode in task.demonstrations])
        return np.tile(np.bincount(chosen, minlength=2) / len(chosen), (2, 1))

    @register_method("contrary")
    def contrary(task):
        return -counting(task)

    with pytest.raises(InvalidInputError, match="there is a method 'counting' already"):
        register_method("counting")(counting)
    frame = Frame(tmp_path, say=lambda text: None)
    RewardTransfer(families=("tiny",), episodes=50, draws=2).run(frame)
    lines = (tmp_path / "transfer.md").read_text().splitlines()
    assert lines[0] == "| change | strength | counting | contrary |"
    assert lines[2] == "| nothing | 0 | 0.0000 ± 0.0000 | 2.0000 ± 0.0000 |"
    assert {path.name for path in frame.files} >= {"transfer.md", "transfer-summary.md", "transfer.png", "results.csv"}
    found = regrets_of(tiny, frame.outcomes[0].records)
    assert found.values.tolist() == [[[0.0, 0.0]], [[2.0, 2.0]]]
    assert summarize([found]) == [("nothing", "0.0000 ± 0.0000", "2.0000 ± 0.0000")]
    assert curves([found])["nothing"]["contrary"] == [(0.0, 2.0, 0.0)]


def test_a_study_that_was_interrupted_learns_what_is_missing(tiny, tmp_path):
    learned = []

    @register_method("truth")
    def truth(task):
        learned.append("truth")
        return tiny.reward

    @register_method("contrary")
    def contrary(task):
        learned.append("contrary")
        return -tiny.reward

    def stop(activity, done, of):
        if done == 3:
            raise KeyboardInterrupt

    study = RewardTransfer(families=("tiny",), episodes=2, draws=2)
    with pytest.raises(StudyInterrupted, match="interrupted after 3 of 4 runs"):
        study.run(Frame(tmp_path, stop, say=lambda text: None))
    assert learned == ["truth", "contrary", "truth"]
    assert [record.regret for record in Store.read(tmp_path).records()] == [0.0, 2.0, 0.0]
    study.run(Frame(tmp_path, say=lambda text: None))
    assert learned == ["truth", "contrary", "truth", "contrary"]
    assert (tmp_path / "transfer.md").read_text().endswith("| nothing | 0 | 0.0000 ± 0.0000 | 2.0000 ± 0.0000 |\n")


def test_a_method_that_a_process_does_not_know_is_named(tiny):
    spec = TransferSpec("tiny", 2, 0, "mine", 0)
    with pytest.raises(InvalidInputError, match=r"there is no method 'mine' in this process; .* pass --workers 1\."):
        TransferContext(tiny).results([spec], 1)


def test_an_installed_package_brings_its_method_along(tiny, tmp_path, monkeypatch):
    (tmp_path / "my_methods.py").write_text(
        "from robustirl.paper.studies.transfer_methods import register_method\n\n\n"
        "@register_method('mine')\ndef mine(task):\n    return [[0.0, 1.0], [0.0, 1.0]]\n"
    )
    (tmp_path / "my_methods-1.0.dist-info").mkdir()
    (tmp_path / "my_methods-1.0.dist-info" / "METADATA").write_text("Name: my-methods\nVersion: 1.0\n")
    (tmp_path / "my_methods-1.0.dist-info" / "entry_points.txt").write_text(
        "[robustirl.transfer_methods]\nmine = my_methods\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    RewardTransfer(families=("tiny",), episodes=5, draws=2).run(Frame(tmp_path / "out", say=lambda text: None))
    assert (tmp_path / "out/transfer.md").read_text().splitlines()[2] == "| nothing | 0 | 0.0000 ± 0.0000 |"
    del sys.modules["my_methods"]


def test_bad_requests_are_one_sentence(tmp_path):
    with pytest.raises(InvalidInputError, match="there is no family 'lake'; choose of gridworld, frozen-lake, buses"):
        RewardTransfer(families=("lake",)).run(Frame(tmp_path))
    with pytest.raises(InvalidInputError, match="--draws is 0, but at least 1 is needed"):
        RewardTransfer(draws=0).run(Frame(tmp_path))
    assert not list(tmp_path.iterdir())


def test_the_earlier_name_is_still_found(tiny, here, capsys, monkeypatch):
    monkeypatch.setattr(transfer.RewardTransfer, "run", lambda self, frame: frame.say(f"{self.draws} draws"))
    status, out, err = robustirl("study reward-transfer --draws 3", capsys)
    assert (status, out) == (0, "3 draws")
    assert "the study reward-transfer is now called transfer" in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gridworld", "frozen-lake", "buses"])
def test_every_method_learns_in_every_family(name):
    family = dataclasses.replace(make_family(name), horizon=60)
    context = TransferContext(family)
    for method in METHODS:
        runs = [spec for spec in specs_of({name: family}, 40, 1) if spec.method == method]
        found = [one.record.regret for one in context.results(runs, len(runs))]
        assert len(found) == len(family.changes)
        assert np.isfinite(found).all()
        assert min(found) >= 0


def test_the_families_are_the_worlds_that_the_page_names():
    # Strengths of the changes, kind by kind, and the worlds that are learned in and planned in.
    found = {name: make() for name, make in transfer_families.FAMILIES.items()}
    told = {
        name: {kind: [round(c.strength, 4) for c in family.changes if c.kind == kind] for kind in kinds(family)}
        for name, family in found.items()
    }
    require_golden("tables/transfer-families.txt", "\n".join(as_lines(told)))
    assert [len(change.world.initial) for change in found["buses"].changes] == [90] * 4


def kinds(family):
    return list(dict.fromkeys(change.kind for change in family.changes))


def test_what_every_method_asks_for(monkeypatch):
    task = SimpleNamespace(
        world="world",
        occupancy=lambda: "occupancy",
        demonstrations="walks",
        model="model",
        others=(("first", "walks 1"), ("second", "walks 2")),
    )
    answer = lambda *given, **options: SimpleNamespace(reward=(given, options))  # noqa: E731
    monkeypatch.setattr(transfer_methods, "fit", answer)
    monkeypatch.setattr(transfer_methods, "fit_jointly", answer)
    monkeypatch.setattr(
        transfer_methods, "select_alpha", lambda *given, **told: SimpleNamespace(fit=answer(*given, **told))
    )
    matched, usual = ("world", "occupancy"), {"reward": "model", "throw": False}
    likely = {"objective": "likelihood", "penalty": 1.0, "alpha": 1.0}
    asked = {
        "standard": (matched, usual | {"alpha": 1.0}),
        "robust, 0.95": (matched, usual | {"alpha": 0.95}),
        "robust, auto": (("world", "walks"), {"reward": "model"}),
        "several experts": ((("first", "second"), ("walks 1", "walks 2")), usual),
        "likelihood": (("world", "walks"), usual | likely),
    }
    # Programs of the pages, run in this process, may have registered methods of their own.
    assert {name: METHODS[name](task) for name in list(METHODS)[: len(asked)]} == asked


def test_a_task_shows_the_expert_and_keeps_both(tiny):
    task = tiny.task(5, 3)
    assert [len(walks) for _, walks in task.others] == [5, 5]
    assert task.demonstrations is task.others[1][1]
    assert task.others[0][0] is tiny.learner
    assert [len(walk.actions) for walk in task.demonstrations] == [3] * 5
    drawn = [np.concatenate([walk.actions for walk in walks]).tolist() for _, walks in task.others]
    assert drawn[0] != drawn[1]  # Each has a key of its own.
