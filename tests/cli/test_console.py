"""What commands print: foreign text as data, and one line for whatever no check has foreseen."""

import io
import sys
from pathlib import Path

import pytest

from robustirl import cli
from robustirl._runtime import printable
from robustirl.cli.console import PhaseBars, PlainConsole, say_files, take_answers
from tests.cli.running import printed


def test_numbers_in_names_are_not_colored(monkeypatch):
    for variable in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    out = io.StringIO()
    PlainConsole(width=80, force_terminal=True, color_system="standard", file=out).print("ring-12 took 3.5 s, True")
    assert out.getvalue() == "ring-12 took 3.5 s, True\n"


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

    monkeypatch.setattr("robustirl.cli.version.run_version", fall)
    assert cli.main(["version"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "ROBUSTIRL_TRACEBACK=1" in said
    monkeypatch.setenv("ROBUSTIRL_TRACEBACK", "1")
    with pytest.raises(type(error)):
        cli.main(["version"])


def test_a_module_is_imported_only_when_asked(capsys, here):
    (here / "evil.py").write_text("open('ran', 'w')\n")
    assert cli.main(["fit", "--env", "evil:World-v0", "--demos", "x.csv", "--out", "out"]) == 2
    assert "--allow-import" in capsys.readouterr().err
    assert not (here / "ran").exists()


def test_bars_name_their_phase_and_say_what_is_compiled_first(monkeypatch):
    told = []

    class Bar:
        def __init__(self):
            self.start, self.stop = (lambda name=name: told.append(name) for name in ("start", "stop"))

        def add_task(self, note, *, total, completed):
            told.append((note, total, completed))
            return note

        def update(self, task, **changes):
            told.append((task, changes["completed"], changes["total"], changes["description"]))

    monkeypatch.setattr(sys.modules["robustirl.cli.console"], "progress_bar", Bar)
    bars = PhaseBars()
    bars.stop()
    for phase, done, of in (("learning", 0, 2), ("learning", 1, 2), ("drawing", 0, 3), ("there already", 2, 2)):
        bars.report(phase, done, of)
    bars.stop()
    bars.report("learning", 2, 2)
    slow = "learning (compiling first)"
    assert told == [
        "start",
        (slow, 2, 0),
        (slow, 0, 2, None),
        (slow, 1, 2, "learning"),
        ("drawing", 3, 0),
        ("drawing", 0, 3, None),
        ("there already", 2, 2),
        ("there already", 2, 2, "there already"),
        "stop",
        "start",
        ("learning", 2, 2),
        ("learning", 2, 2, "learning"),
    ]


def test_of_many_files_the_folders_of_the_others_are_named():
    files = [Path("out") / f"{n}.csv" for n in range(8)] + [Path("pages") / "report.html"]
    assert "and 6 more in out" in printed(say_files, files)
    assert "and 7 more in out and pages" in printed(say_files, [*files[:-1], Path("pages") / "a.png", files[-1]])
    take_answers()
