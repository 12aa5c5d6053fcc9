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
