"""Radii around an estimated occupancy, by the formulas at the top of `concentration.py`."""

import math

import pytest

from robustirl.demonstrations.estimation.concentration import (
    as_confidence,
    episodes_needed,
    l1_radius,
    l1_radius_from_data,
)


@pytest.mark.parametrize(("episodes", "states"), [(50, 1), (50, 4), (1000, 30)])
def test_the_radius_before_the_data(episodes, states):
    expected = math.sqrt((states - 1) / episodes) + math.sqrt(2 * math.log(1 / 0.1) / episodes)
    assert l1_radius(episodes, states, confidence=0.9) == pytest.approx(expected, rel=1e-12)
    assert l1_radius(1, 1000) == 2


def test_the_radius_from_the_data():
    # Half of the risk of 0.1 is for the radius before the data, and the other half, in two parts, for the spread.
    deviation = math.sqrt(2 * math.log(1 / 0.025) / 400)
    constant = 2 / (1 - 2 / 20)
    found = l1_radius_from_data(400, 10_000, 0.03, bias=0.01, confidence=0.9)
    assert found == pytest.approx(constant * (0.04 + deviation) + deviation, rel=1e-12)
    # Where states are few, the radius before the data is the smaller one; with four episodes it is the only one.
    assert l1_radius_from_data(400, 2, 0.5, confidence=0.9) == l1_radius(400, 2, confidence=0.95)
    assert l1_radius_from_data(4, 2, -9.0, confidence=0.9) == l1_radius(4, 2, confidence=0.95)
    assert l1_radius_from_data(5, 2, -9.0, confidence=0.9) < 0


@pytest.mark.parametrize("goal", [0.05, 0.3, 1.0, 1.99])
@pytest.mark.parametrize("states", [1, 7])
def test_the_fewest_episodes(goal, states):
    needed = episodes_needed(goal, states, confidence=0.9)
    assert l1_radius(needed, states, confidence=0.9) <= goal
    assert needed == 1 or l1_radius(needed - 1, states, confidence=0.9) > goal
    assert episodes_needed(2.0, 10_000) == 1


def test_the_fewest_episodes_by_hand():
    # One state: sqrt(2 log(1/δ) / m). At δ = exp(-1/2) that is 1 / sqrt(m), and four episodes give a half.
    for goal, needed in ((1.0, 1), (0.99, 2), (0.5, 4), (0.49, 5), (0.1, 100)):
        assert episodes_needed(goal * (1 + 1e-12), 1, confidence=1 - math.exp(-0.5)) == needed


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_confidence_is_refused(refused):
    assert as_confidence(0.5) == 0.5
    for confidence in (0, 1, 1.0, 0.0, float("nan"), "0.9"):
        with refused("the confidence is", repr(confidence)):
            as_confidence(confidence)
