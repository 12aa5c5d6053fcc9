"""The version, by either name."""

import json

import pytest

import robustirl
from robustirl.cli import main


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("robustirl 0.")


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_the_version(capsys, arguments):
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"robustirl {robustirl.__version__}\n"


def test_the_version_in_json_is_one_object(capsys):
    assert main(["version", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"command": "version", "exit_status": 0, "version": robustirl.__version__}
