"""Logs of one's own on the command line: numbering, names and columns."""

import typing

import pytest

from robustirl.cli.log_options import LogOptions, parse_columns
from robustirl.demonstrations import load
from tests.cli.own_world import FIT, world
from tests.commands import robustirl

__all__ = ["world"]  # A fixture.


def test_logs_that_count_from_one_are_told_how_to_say_so(world, capsys):
    (world / "log.csv").write_text("episode,state\n" + "".join(f"{e},{s}\n" for e in range(4) for s in (1, 2, 3)))
    status, _, err = robustirl(f"{FIT} world.npz --demos log.csv --out found", capsys)
    assert status == 2
    assert "--first-state 1" in err
    assert robustirl("demos inspect log.csv --first-state 1 --env world.npz", capsys)[0] == 0


def test_names_are_numbered_with_a_word_and_may_be_given(world, capsys):
    (world / "log.csv").write_text("trip,room\na,hall\na,door\nb,hall\n")
    columns = "--columns episode=trip,state=room"
    _, out, _ = robustirl(f"demos inspect log.csv {columns}", capsys)
    assert "2 states by name in alphabetical order (door = 0, hall = 1)" in " ".join(out.split())
    (world / "names.txt").write_text("hall\ndoor\nend\n")
    robustirl(f"convert log.csv log.npz {columns} --state-names names.txt", capsys)
    assert load("log.npz").states.tolist() == [0, 1, 0]
    assert load("log.npz").state_names == ("hall", "door", "end")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--columns state=room", "say which one it is with --columns episode=NAME."),
        ("--columns state=room,state=trip", "names state more than once"),
    ],
)
def test_sentences_about_columns_speak_the_language_of_the_command_line(world, capsys, options, said):
    (world / "log.csv").write_text("trip,room\na,1\n")
    status, _, err = robustirl(f"demos inspect log.csv {options}", capsys)
    assert status == 2
    assert said in " ".join(err.split())
    assert "{" not in err


def test_columns_are_pairs_and_named_once(tmp_path, refused):
    assert parse_columns(None) is None
    for text in ("episode", "episode=", "=trip", "a=b,,"):
        with refused(f"--columns is {text!r}, but pairs"):
            parse_columns(text)
    with refused("names state more than once"):
        parse_columns("state=a,state=b")
    for option in ("first_state", "first_action"):  # What the command line takes for an answer.
        assert typing.get_type_hints(LogOptions)[option] == typing.Literal[0, 1] | None


def test_a_name_has_the_number_of_its_line(tmp_path, refused):
    names = tmp_path / "names.txt"

    def read(text):
        names.write_bytes(text.encode())
        return LogOptions(state_names=names).table_options().state_names

    for end in ("\n", "\r\n", "\r"):
        for text in ("hall{} yard ", "hall{}yard{}", "\ufeffhall{}yard{}{}  {}"):
            assert read(text.format(*[end] * 5)) == ["hall", "yard"]
        for text, line in (("hall{}{}yard{}", 2), ("{}hall{}", 1), ("hall{}yard{}  {}attic", 3)):
            with refused(f"line {line} of", "is blank, which would move all later names by one"):
                read(text.format(*[end] * 5))
    assert read("a\x0cb\nc\x85d\ne\u2028f") == ["a\x0cb", "c\x85d", "e\u2028f"]  # No ends of lines.
    for text, count in (("hall\nhall\n", 2), ("\n", 0)):
        with refused("must hold different names", f"it holds {count} lines"):
            read(text)
