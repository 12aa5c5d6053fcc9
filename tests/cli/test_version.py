"""The version, by either name."""

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
