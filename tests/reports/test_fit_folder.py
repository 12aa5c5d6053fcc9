"""The folder of a fit, and the commands to try next."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl.reports import next_steps
from robustirl.reports.fit_folder import _changed, _theory, _value, is_fit_folder


def test_commands_are_changed_in_place_or_at_their_end():
    words = ["robustirl", "fit", "--env", "e", "--alpha", "0.9", "--out"]
    assert _changed(["fit", "--out", "a"], out="b") == "fit --out b"
    assert _changed(words, alpha="1", out="x") == "robustirl fit --env e --alpha 1 --out --out x"
    assert (_value(words, "--alpha"), _value(words, "--out"), _value(words, "--noise")) == ("0.9", None, None)
    words = shlex.split("robustirl fit --env e --noise 0.1 --discount 0.5 --noise-model m --env-arg a=1 --allow-import")
    assert _theory(words, "found") == (
        "robustirl theory e --occupancy found --learner-noise 0.1 --noise-model m --discount 0.5 --env-arg a=1"
        " --allow-import"
    )
    assert _theory(["robustirl", "fit", "--env", "e"], "found") == "robustirl theory e --occupancy found"


@pytest.mark.parametrize(
    "line", ["robustirl fit --demos w", "robustirl study x --env e", "python fit.py --env e", "robustirl"]
)
def test_what_was_no_fit_of_a_world_has_no_command_to_try(line):
    record = SimpleNamespace(command=tuple(line.split()), interrupted=False)
    (only,) = next_steps(SimpleNamespace(folder=Path("found"), model=None, record=record))
    assert only.command.startswith("from robustirl import RobustIRL")


def test_a_folder_is_that_of_a_fit_if_it_has_a_model(tmp_path):
    assert not is_fit_folder(tmp_path)
    assert not is_fit_folder(tmp_path / "none")
    (tmp_path / "model.npz").write_bytes(b"")
    assert is_fit_folder(tmp_path)
