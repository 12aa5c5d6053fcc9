"""What commands print: foreign text as data, and one line for whatever no check has foreseen."""

import pytest

from robustirl import cli
from robustirl._runtime import printable
from robustirl.cli.console import PlainConsole


@pytest.mark.parametrize("name", ["a[red]b", "[/x]", ":smile:", "50 % of $x$"])
def test_markup_in_a_name_is_printed_as_it_is(capsys, name):
    PlainConsole(width=80).print(name)
    assert capsys.readouterr().out == f"{name}\n"


def test_control_characters_do_not_reach_the_terminal(capsys):
    PlainConsole(width=80).print("a\x1b[31mb\x07")
    assert capsys.readouterr().out == "a\\x1b[31mb\\x07\n"


def test_a_text_without_end_is_cut():
    assert len(printable("x" * 10**6)) < 30_000


@pytest.mark.parametrize("error", [ValueError("odd.\nMore."), MemoryError(), RecursionError("deep")])
def test_what_no_check_foresaw_is_one_line_with_a_hint(capsys, monkeypatch, error):
    def fall(_):
        raise error

    monkeypatch.setattr("robustirl.cli.doctor.run_doctor", fall)
    assert cli.main(["doctor"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "ROBUSTIRL_TRACEBACK=1" in said
    monkeypatch.setenv("ROBUSTIRL_TRACEBACK", "1")
    with pytest.raises(type(error)):
        cli.main(["doctor"])


def test_a_module_is_imported_only_when_asked(capsys, here):
    (here / "evil.py").write_text("open('ran', 'w')\n")
    assert cli.main(["fit", "--env", "evil:World-v0", "--demos", "x.csv", "--out", "out"]) == 2
    assert "--allow-import" in capsys.readouterr().err
    assert not (here / "ran").exists()
