"""Every door of the library refuses every fault of its class by one printable sentence, in time."""

import ast
import subprocess
import sys
import time

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from torture import classes
from torture.classes import BadInput, attempt
from torture.classes.walk import CALLS, COMMANDS, Outcome, walk
from torture.targets import UnclearError

MISTYPED = ("contents", "numbers")
"""Classes with values of other types than annotated, at which a run-time type checker would speak first."""
WALK = "from torture.classes.walk import CALLS, walk; print(repr(tuple(walk(CALLS[{name!r}]()))))"


def walk_unchecked(name):
    """Walk a class in a process of its own, without the run-time type checker of this one."""
    done = subprocess.run([sys.executable, "-c", WALK.format(name=name)], capture_output=True, text=True, check=True)
    return Outcome(*ast.literal_eval(done.stdout))


@pytest.mark.parametrize("name", CALLS)
def test_every_fault_of_a_class_is_one_sentence(name, pytestconfig):
    checked = pytestconfig.getoption("--jaxtyping-packages") and name in MISTYPED
    outcome = walk_unchecked(name) if checked else walk(CALLS[name]())
    assert outcome.broken == []
    assert outcome.slowest < classes.SLOWEST


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_every_fault_with_one_sentence(name):
    outcome = walk(COMMANDS[name]())
    assert outcome.broken == []


def test_the_classes_are_large():
    counts = {name: sum(1 for _ in make()) for name, make in (CALLS | COMMANDS).items()}
    assert sum(counts.values()) >= 1_500, counts
    names = [bad.name for make in (CALLS | COMMANDS).values() for bad in make()]
    assert len(names) == len(set(names))


def raised(error):
    raise error


def hanging():
    time.sleep(60)


@pytest.mark.parametrize(
    ("request_made", "complaint"),
    [
        (lambda: None, "accepted"),
        (lambda: raised(InvalidInputError("no full stop")), "not one sentence"),
        (lambda: classes.Command(["version"]), "status 0"),
        (hanging, "hangs"),
    ],
    ids=["accepted", "no sentence", "a command that works", "a hang"],
)
def test_what_does_not_end_in_a_sentence_is_noticed(request_made, complaint, monkeypatch):
    monkeypatch.setattr(classes, "SLOWEST", 0.3)
    with pytest.raises(UnclearError, match=complaint):
        attempt(BadInput("bad", request_made))


def test_what_is_raised_by_others_is_passed_on():
    assert walk([BadInput("bad", lambda: np.zeros(2)[7])]).broken == [
        "bad: IndexError: index 7 is out of bounds for axis 0 with size 2"
    ]
