"""`robustirl doctor` looks and reckons, and does not call a wrong answer right."""

import dataclasses
import tomllib
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import robustirl
from robustirl.cli import doctor, main
from tests.cli.running import run

ROOT = Path(__file__).parents[2]


def test_a_sound_installation_is_called_well(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"robustirl {robustirl.__version__}, Python 3." in said
    assert "device 0: " in said
    assert "dtype: float64" in said
    assert said.count("right") == len(doctor.ALPHAS)
    assert "check: all is well" in said
    for extra in doctor.extras():
        assert f"extra {extra}: " in said


def test_a_wrong_answer_is_exit_status_1(capsys, monkeypatch):
    # What a broken planner would give: the closed form asked for at the wrong noise.
    wrong = [dataclasses.replace(check, probability=check.probability + 1e-3) for check in doctor.self_check()]
    monkeypatch.setattr(doctor, "self_check", lambda: wrong)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert said.count("WRONG") == len(wrong)
    assert "3 of 3 are off" in said


def test_what_is_not_a_number_is_not_right():
    assert not doctor.Check(1.0, float("nan"), 0.8, 3.6, 3.6).passed


def test_a_check_that_breaks_off_is_exit_status_1(capsys, monkeypatch):
    def broken():
        raise RuntimeError("no cuSOLVER.\nLong story")

    monkeypatch.setattr(doctor, "self_check", broken)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err.strip() == snapshot("robustirl: the check broke off: no cuSOLVER.")


def test_extras_are_read_from_the_metadata(monkeypatch):
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    lines = [f"{needed}; extra == '{extra}'" for extra, many in stated.items() for needed in many]
    lines += ["numpy>=2.0", "no-such-library>=1; python_version > '3' and extra == \"dreams\""]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: lines)
    found = doctor.extras()
    assert set(found) == {*stated, "dreams"} - {"all"}
    assert found["dreams"] == {"no-such-library": None}
    assert found["gymnasium"].keys() == {"gymnasium"}
    assert found["minari"].keys() == {"minari"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tyro_writes_shell_completions(tmp_path, shell):
    script = tmp_path / "completion"
    with pytest.raises(SystemExit) as ended:
        main(["--tyro-write-completion", shell, str(script)])
    assert ended.value.code in (0, None)
    assert "reproduce" in script.read_text(encoding="utf-8")
    assert "doctor" in script.read_text(encoding="utf-8")


def test_doctor_says_which_extras_are_there(monkeypatch):
    extras = {"one": {"a": "1.0", "b": "2.0"}, "two": {"a": "1.0", "c": None, "d": None}}
    monkeypatch.setattr(doctor, "extras", lambda: extras)
    monkeypatch.setattr(doctor, "self_check", list)
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "pyarrow" else "9")
    _, said = run(doctor.run_doctor, doctor.Doctor())
    lines = said.splitlines()
    assert "extra one: present; a 1.0, b 2.0" in lines
    assert "extra two: not installed, and optional; pip install 'robustirl[two]' brings c, d" in lines
    assert lines[1] == ("jax 9, jaxlib 9, equinox 9, optax 9, numpy 9, scipy 9, matplotlib 9, pyarrow missing, tyro 9")
