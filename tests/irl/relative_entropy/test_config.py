"""The settings of relative-entropy IRL: those that the tables were made with, and what is refused."""

import dataclasses
import inspect

import pytest

from robustirl.irl import fit, fit_relative_entropy
from robustirl.irl.relative_entropy.config import GAME, PAPER, RelativeEntropyConfig


def differing(config, other):
    """The fields in which two settings differ."""
    return {k: v for k, v in dataclasses.asdict(config).items() if v != dataclasses.asdict(other)[k]}


def test_the_defaults_are_those_of_the_published_tables():
    # A change here is a change of every result of the continuous experiment: docs/continuous.md is to be made anew.
    assert {k: v for k, v in dataclasses.asdict(RelativeEntropyConfig()).items() if k != "game"} == {
        "rounds": 300,
        "reward_steps": 10,
        "reward_rate": 0.1,
        "reward_final_rate": 1.0,
        "ridge": 1.0,
        "summary": "mean",
        "center": "expert",
        "theta": "free",
        "importance": "none",
        "weight_range": None,
        "least_effective": 1.01,
        "opponent_delay": 0.0,
        "reuse": True,
        "attempts": 1,
        "deviation": 0.5,
    }
    played = dataclasses.asdict(GAME)
    assert {name: played[name] for name in ("steps", "horizon", "final_rate", "excess", "deviations")} == {
        "steps": 1,
        "horizon": 200,
        "final_rate": 0.02,
        "excess": 1.0,
        "deviations": (0.05, 0.5),
    }


def test_settings_are_not_changed_but_replaced():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RelativeEntropyConfig().rounds = 5  # pyright: ignore[reportAttributeAccessIssue]


def test_the_papers_settings_are_algorithm_3_as_printed():
    changed = differing(PAPER, RelativeEntropyConfig())
    assert changed.pop("game")["steps"] == 5
    assert changed == {"ridge": 0.0, "center": "none", "least_effective": 0.5, "reuse": False}
    assert PAPER.game.horizon == 200


def test_the_papers_numbers_are_the_defaults_of_a_fit():
    chosen = {name: parameter.default for name, parameter in inspect.signature(fit).parameters.items()}
    assert (chosen["alpha"], chosen["steps"], chosen["temperatures"], chosen["throw"]) == (
        "auto",
        200,
        (1.0, 0.0),
        True,
    )
    sampled = {
        name: parameter.default for name, parameter in inspect.signature(fit_relative_entropy).parameters.items()
    }
    assert (sampled["alpha"], sampled["every"], sampled["throw"]) == (1.0, 10, True)


@pytest.mark.parametrize(
    "change",
    [
        *({name: 0.0} for name in ("ridge", "opponent_delay")),
        *({name: 1} for name in ("opponent_delay", "rounds", "reward_steps", "attempts")),
        *(
            {name: 1e-9}
            for name in ("reward_rate", "reward_final_rate", "weight_range", "least_effective", "deviation")
        ),
        {"summary": "discounted", "center": "none"},
    ],
)
def test_what_is_just_within_is_accepted(change):
    assert differing(RelativeEntropyConfig(**change), RelativeEntropyConfig()).keys() <= change.keys()


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"ridge": float("inf")}, "ridge is inf, but a finite number of at least 0 is needed."),
        ({"ridge": "1"}, "ridge is '1'"),
        ({"opponent_delay": -0.1}, "opponent_delay is -0.1, but a share between 0 and 1 is needed."),
        ({"opponent_delay": "1"}, "opponent_delay is '1'"),
        ({"reward_steps": 0}, "reward_steps"),
        ({"weight_range": 0.0}, "weight_range"),
        ({"ridge": -1e-9}, "ridge is -1e-09"),
        ({"opponent_delay": 1.001}, "opponent_delay is 1.001"),
        ({"rounds": 0}, "rounds is 0"),
        ({"attempts": 0}, "attempts is 0"),
        ({"deviation": 0.0}, "deviation is 0.0"),
        ({"summary": "discounted"}, "center is 'expert' with the discounted summary"),
    ],
)
def test_what_is_just_beyond_is_refused(change, culprit, refused):
    unchecked = inspect.unwrap(RelativeEntropyConfig.__init__)  # The type checks that only tests run under come first.
    with refused(culprit):
        unchecked(object.__new__(RelativeEntropyConfig), **change)
