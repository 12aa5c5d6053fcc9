"""Methods of the study, ours and those of others."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies import transfer_methods
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.transfer import RewardTransfer
from robustirl.paper.studies.transfer_families import make_family
from robustirl.paper.studies.transfer_methods import METHODS
from robustirl.paper.studies.transfer_runs import TransferContext, TransferSpec, specs_of
from tests.paper.studies.tiny_family import tiny

__all__ = ["tiny"]  # A fixture.


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
