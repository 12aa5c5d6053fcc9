"""Faults in JSON lines and in their header are named."""

import json

import pytest

from robustirl.demonstrations import load
from robustirl.demonstrations.io.versions import SCHEMA


def jsonl_file(tmp_path, *lines, **header):
    path = tmp_path / "demos.jsonl"
    top = {"format": "robustirl.demonstrations", "schema": 1, "episodes": len(lines), "has_actions": True} | header
    path.write_text("\n".join([json.dumps(top), *lines]) + "\n")
    return path


EPISODE = '{"states": [0, 1], "actions": [2], "terminated": true}'


@pytest.mark.parametrize(
    ("line", "culprits"),
    [
        ('{"states": [0, 1], "actions": [2], "termin', ["line 3", "not JSON"]),
        ("[0, 1]", ["line 3", "object"]),
        ('{"states": [0, NaN], "actions": [2], "terminated": true}', ["line 3", "nan", "step 1"]),
        ('{"states": [0, -4], "actions": [2], "terminated": true}', ["line 3", "-4"]),
        ('{"states": [0, 0.5], "actions": [2], "terminated": true}', ["line 3", "float64"]),
        ('{"states": "01", "actions": [2], "terminated": true}', ["line 3"]),
        ('{"states": [0, 1], "actions": [2, 2], "terminated": true}', ["line 3", "2 states and 2 actions"]),
        ('{"states": [0, 1], "terminated": true}', ["line 3", "'actions'"]),
        ('{"states": [0, 1], "actions": [2]}', ["line 3", "'terminated'"]),
        ('{"states": [0, 1], "actions": [2], "terminated": 1}', ["line 3", "true or false"]),
        ('{"states": [], "actions": [], "terminated": true}', ["line 3"]),
        ("", ["line 3"]),
    ],
)
def test_faults_in_json_lines_are_named(tmp_path, line, culprits, refused):
    assert len(load(jsonl_file(tmp_path, EPISODE, EPISODE))) == 2
    with refused("demos.jsonl", *culprits):
        load(jsonl_file(tmp_path, EPISODE, line))


def test_the_header_of_json_lines_is_held_against_them(tmp_path, refused):
    for header, culprits in (
        ({"schema": SCHEMA + 1}, ["schema 2", "upgrade"]),
        ({"schema": "1"}, ["schema '1'"]),
        ({"schema": True}, ["schema True"]),
        ({"format": "other"}, ["line 1", "header"]),
        ({"episodes": 2}, ["1 episodes", "says 2"]),
        ({"has_actions": None}, ["line 1", "header"]),
        ({"has_actions": False}, ["line 2", "'actions'"]),
    ):
        with refused(*culprits):
            load(jsonl_file(tmp_path, EPISODE, **header))
    (tmp_path / "bare.jsonl").write_text(EPISODE + "\n")
    with refused("line 1", "has_actions"):
        load(tmp_path / "bare.jsonl")


def test_a_byte_order_mark_and_any_line_end_are_accepted(tmp_path):
    path = jsonl_file(tmp_path, EPISODE, EPISODE)
    expected = load(path)
    content = path.read_bytes()
    for changed in (b"\xef\xbb\xbf" + content, content.replace(b"\n", b"\r\n"), content.removesuffix(b"\n")):
        path.write_bytes(changed)
        assert load(path) == expected


def test_only_line_ends_end_a_line(tmp_path):
    names = ["a\u2028b", "c\u0085d"]
    path = jsonl_file(tmp_path, EPISODE, state_names=names)
    path.write_text(path.read_text().replace("\\u2028", "\u2028").replace("\\u0085", "\u0085"), encoding="utf-8")
    assert load(path).state_names == tuple(names)


def test_fields_that_occur_twice_are_refused(tmp_path, refused):
    for line, name in (
        ('{"states": [0, 1], "states": [2, 3], "actions": [2], "terminated": true}', "states"),
        ('{"states": [0, 1], "actions": [2], "terminated": true, "terminated": false}', "terminated"),
    ):
        with refused("line 3", f"the field '{name}' occurs more than once"):
            load(jsonl_file(tmp_path, EPISODE, line))
    path = jsonl_file(tmp_path, EPISODE)
    path.write_text(path.read_text().replace('"episodes": 1', '"episodes": 1, "episodes": 1'))
    with refused("line 1", "the field 'episodes' occurs more than once"):
        load(path)
    with refused("line 3", "cannot be read"):
        load(jsonl_file(tmp_path, EPISODE, f'{{"states": [{"9" * 5000}]}}'))


def test_names_that_occur_twice_beside_a_table_are_refused(tmp_path, refused):
    named = '# robustirl.names {"state_names": ["a"], "state_names": ["b"]}'
    (tmp_path / "log.csv").write_text(f"{named}\nepisode,state\n0,0\n")
    with refused("the names in line 1", "the field 'state_names' occurs more than once"):
        load(tmp_path / "log.csv")
