"""Libraries that cannot be imported for a variable of the environment: an error of ours names it."""

import os
import sys

import pytest

from robustirl import _libraries
from robustirl.errors import InvalidInputError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork and other signals")


def test_in_a_script_it_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr(_libraries, "READERS", ("jax", "tests.cli.refuses"))
    monkeypatch.setitem(os.environ, "ROBUSTIRL_TEST", "x" * 200)

    def refuse(name):
        if name != "jax":
            raise ValueError("Invalid value for JAX flag robustirl_test")

    monkeypatch.setattr(_libraries.importlib, "import_module", refuse)
    with pytest.raises(InvalidInputError, match=r"cannot be imported with ROBUSTIRL_TEST='x{100}\.\.\.' in the envi"):
        _libraries.import_libraries()


def test_what_no_variable_explains_is_passed_on(monkeypatch):
    def fail(name):
        raise RuntimeError(f"{name} is broken")

    monkeypatch.setattr(_libraries.importlib, "import_module", fail)
    with pytest.raises(RuntimeError, match="jax is broken"):
        _libraries.import_libraries()


@pytest.mark.parametrize(
    ("argv", "original"),
    [
        ([], ["python"]),
        (["-m", "fit"], ["python", "-m", "pytest", "fit"]),
        (["-m", "robustirl"], ["python", "-m", "pytest", "robustirl"]),
        (["/bin/robustirl"], ["python", "-c", "from multiprocessing", "--multiprocessing-fork"]),
    ],
)
def test_other_processes_are_not_the_command(argv, original):
    assert not _libraries.is_command(argv, original)
