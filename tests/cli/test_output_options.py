"""Options that every command has: quiet, one line of JSON, and a log."""

import io
import json
import logging
import math
import os
import socket
import sys
from pathlib import Path

import pytest

from robustirl.cli.console import answer, console, errors, take_answers
from robustirl.cli.output_options import OutputOptions, _plain, output, print_answers, split_options
from tests.cli.running import printed


@pytest.mark.parametrize(
    ("quiet", "json", "hushed"), [(False, False, False), (True, False, True), (False, True, True), (True, True, True)]
)
def test_a_quiet_command_and_one_that_answers_in_json_print_no_text(quiet, json, hushed):
    before = console.quiet
    with output(OutputOptions(quiet=quiet, json=json), "fit"):
        assert console.quiet is hushed
    assert console.quiet is before


def test_the_answer_of_a_command_is_one_line_of_json(capsys):
    take_answers()
    answer(name="α", gap=float("nan"))
    print_answers("fit", 0)
    print_answers("fit", 2, "no.")
    assert capsys.readouterr().out == (
        '{"command": "fit", "exit_status": 0, "name": "α", "gap": null}\n'
        '{"command": "fit", "exit_status": 2, "error": "no."}\n'
    )


def test_json_on_a_terminal_of_ascii_is_json_still(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    take_answers()
    answer(name="ö α", path="\udcff")
    print_answers("fit", 0)
    found = json.loads(raw.getvalue().decode("ascii"))
    assert found == {"command": "fit", "exit_status": 0, "name": "ö α", "path": "\udcff"}


def test_a_log_takes_names_that_are_no_text(tmp_path, capfd):
    path = tmp_path / "run.log"

    def say():
        with output(OutputOptions(log_file=path), "fit --out \udcff"):
            console.print("wrote \udcff")

    printed(say)
    assert capfd.readouterr().err == ""
    lines = [line.split(" ", 2)[2] for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [r"INFO robustirl fit --out \udcff", r"INFO wrote \udcff"]


def test_a_log_has_what_was_said_line_by_line(tmp_path):
    path = tmp_path / "run.log"

    def say():
        with output(OutputOptions(log_file=path), "fit --env e"):
            console.print("first\nsecond")
            console.print("")
            errors.print("wrong")
            logging.getLogger("robustirl.somewhere").info("noted")
        console.print("after")

    printed(say)
    lines = [line.split(" ", 2)[2] for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == ["INFO robustirl fit --env e", "INFO first | second", "ERROR wrong", "INFO noted"]
    assert logging.getLogger("robustirl").level == logging.NOTSET


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a socket"])
def test_a_log_that_is_no_file_is_refused(here, refused, kind, linked):
    place = Path("log")
    match kind:
        case "a pipe":
            os.mkfifo(place)
        case "a device":
            place = Path("/dev/null")
        case _:
            with socket.socket(socket.AF_UNIX) as door:
                door.bind("log")
    if linked:
        Path("link").symlink_to(place)
        place = Path("link")
    with (
        refused(f"--log-file {place} cannot be written (it is {kind}, not a regular file)"),
        output(OutputOptions(log_file=place), "fit"),
    ):
        pytest.fail("the command has begun")
    assert not logging.getLogger("robustirl").handlers


def test_options_of_all_commands_are_found_wherever_they_stand(refused):
    options, rest = split_options(["--json", "fit", "--no-cache", "--log-file=x", "--", "--quiet"])
    assert options == OutputOptions(json=True, log_file=Path("x"), cache=False)
    assert rest == ["fit", "--", "--quiet"]
    for words in (["--log-file"], ["--log-file="]):
        with refused("--log-file needs a file"):
            split_options(words)


def test_json_has_no_numbers_that_are_none():
    given = {1: (math.inf, -math.inf, math.nan, 1.5), "path": Path("x"), "none": None, "yes": True}
    assert _plain(given) == {"1": [None, None, None, 1.5], "path": "x", "none": None, "yes": True}


@pytest.mark.parametrize("log", ["walks.csv", "./walks.csv", "link", "hard", "new.csv", "nul\udcff.log"])
def test_a_log_is_a_file_of_its_own(here, refused, log):
    """Lines of a log, appended to demonstrations, would have damaged them."""
    Path("walks.csv").write_text("episode,state\n0,1\n")
    Path("link").symlink_to("walks.csv")
    Path("hard").hardlink_to("walks.csv")
    words = ["convert", "walks.csv", "new.csv"]
    if log.endswith(".log"):
        assert split_options([*words, "--log-file", log])[1] == words
        return
    for given in ([*words], ["fit", "--demos=walks.csv", "--out=new.csv"]):
        with refused(f"--log-file is {Path(log)}, but the command reads or writes", "choose another file."):
            split_options([*given, "--log-file", log])
