"""Logs of one's own on the command line: names and columns."""

import pytest

from robustirl.cli.log_options import LogOptions, parse_columns
from robustirl.demonstrations import load
from tests.cli.own_world import world
from tests.commands import robustirl

__all__ = ["world"]  # A fixture.


@pytest.mark.parametrize("columns", ["--columns episode=trip,state=room", "--columns episode=trip state=room"])
def test_columns_and_names_may_be_given(world, capsys, columns):
    (world / "log.csv").write_text("trip,room\na,hall\na,door\nb,hall\n")
    _, out, _ = robustirl(f"demos inspect log.csv {columns}", capsys)
    assert "2 states by name (door = 0, hall = 1)" in " ".join(out.split())
    (world / "names.txt").write_text("hall\ndoor\nend\n")
    robustirl(f"convert log.csv log.npz {columns} --state-names names.txt", capsys)
    assert load("log.npz").states.tolist() == [0, 1, 0]
    assert load("log.npz").state_names == ("hall", "door", "end")


def test_columns_are_pairs_and_named_once(refused):
    assert parse_columns([]) is None
    for text in ("episode", "episode=", "=trip", "a=b,,"):
        with refused(f"--columns is {text!r}, but pairs"):
            parse_columns([text])
    with refused("names a column twice"):
        parse_columns(["state=a", "state=b"])


def test_a_name_has_the_number_of_its_line(tmp_path, refused):
    names = tmp_path / "names.txt"

    def read(text):
        names.write_bytes(text.encode())
        return LogOptions(state_names=names).table_options().state_names

    for end in ("\n", "\r\n", "\r"):
        for text in ("hall{} yard ", "\ufeffhall{}yard{}{}  {}"):
            assert read(text.format(*[end] * 5)) == ("hall", "yard")
    for text in ("hall\n\nyard\n", "hall\nhall\n", "\n"):
        with refused("must hold different names"):
            read(text)
