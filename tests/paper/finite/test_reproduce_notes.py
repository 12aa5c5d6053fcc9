"""The notes that `reproduce` keeps beside its runs: whatever else is found in their place counts as absent."""

import json
import os
from types import SimpleNamespace

import pytest

from robustirl.envs.noise import PUBLISHED
from robustirl.errors import InvalidInputError
from robustirl.paper.finite import reproduce
from robustirl.paper.finite.comparison import Explanation
from robustirl.sweeps import writing_to

GOOD = [1.0, 2, 3.0]
STRANGE = {
    "a list": b"[]",
    "a number": b"3",
    "nothing": b"",
    "not UTF-8": b'{"run": "\xff"}',
    "deep": b"[" * 100_000,
    "a number for a run": b'{"run": 3}',
    "two numbers": b'{"run": [1, 2]}',
    "four numbers": b'{"run": [1, 2, 3, 4]}',
    "words": b'{"run": ["a", "b", "c"]}',
    "three letters": b'{"run": "abc"}',
    "truth": b'{"run": [true, 1, 2]}',
}


@pytest.fixture
def explanations(tmp_path, monkeypatch):
    """The explanations of one missed cell, and how often it was worked out."""
    cell = SimpleNamespace(relative_error=1.0, record=SimpleNamespace(spec=SimpleNamespace(identity="run")))
    asked = []
    monkeypatch.setattr(reproduce, "compare", lambda records: [cell])
    monkeypatch.setattr(reproduce.catalog, "main_records", lambda *_: [])
    monkeypatch.setattr(reproduce, "explain", lambda cell, *, draws: asked.append(1) or Explanation(cell, *GOOD))
    plan = SimpleNamespace(explain=True, noise_models=(PUBLISHED,), grid=None)

    def call():
        with writing_to(tmp_path):
            (found,) = reproduce._explanations(plan, [], tmp_path, lambda *_: None)
        return [found.lowest, found.highest, found.halfway], len(asked)

    return call


@pytest.mark.parametrize("what", STRANGE)
def test_strange_explanations_are_worked_out_again(tmp_path, explanations, what):
    (tmp_path / "explanations.json").write_bytes(STRANGE[what])
    assert explanations() == (GOOD, 1)
    assert explanations() == (GOOD, 1)  # Now they are known.


def test_explanations_beside_strange_ones_are_kept(tmp_path, explanations):
    (tmp_path / "explanations.json").write_text(json.dumps({"run": [4, 5, 6], "other": None}))
    assert explanations() == ([4, 5, 6], 0)


@pytest.mark.parametrize(("make", "reason"), [(os.mkfifo, "explanations.json is a pipe"), (os.mkdir, "Is a directory")])
def test_a_pipe_or_a_folder_is_neither_waited_for_nor_replaced(tmp_path, explanations, make, reason):
    make(tmp_path / "explanations.json")
    with pytest.raises(InvalidInputError, match=rf"cannot be written to \({reason}"):
        explanations()
    assert not (tmp_path / "explanations.json").is_file()


def test_only_a_file_that_says_what_is_wanted_says_that_all_is_drawn(tmp_path):
    (tmp_path / "good").write_text("wanted\n")
    (tmp_path / "other").write_bytes(b"\xff")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = ["good", "other", "folder", "pipe", "nothing"]
    assert [name for name in names if reproduce._is_drawn(tmp_path / name, "wanted\n")] == ["good"]
