"""Every door of the library refuses every fault of its class by one printable sentence, in time."""

import time

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from torture import classes
from torture.classes import BadInput, attempt
from torture.classes.walk import CALLS, COMMANDS, walk
from torture.targets import UnclearError


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("mistyped")
def test_every_fault_of_a_class_is_one_sentence(name):
    outcome = walk(CALLS[name]())
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
