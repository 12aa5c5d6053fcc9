"""Rewards planned with in changed worlds: the table that anybody can add a method to."""

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies import transfer
from robustirl.paper.studies.registry import Frame, StudyInterrupted
from robustirl.paper.studies.transfer import RewardTransfer, curves, interval, regrets_of, summarize
from robustirl.paper.studies.transfer_methods import register_method
from robustirl.sweeps import Store
from tests.commands import robustirl
from tests.paper.studies.tiny_family import tiny

__all__ = ["tiny"]  # A fixture.


def test_an_interval_of_one_draw_has_no_width():
    mean, width = interval(np.array([0.25]))
    assert mean == 0.25
    assert np.isnan(width)


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
