"""Rust (1987), Table IX: group 4, 90 bins, linear cost; every printed digit.

The published estimates maximize the likelihood of choices and increments together; the standard errors are those of
the outer product of the scores. With the increments fixed at their shares, the maximum is 2.2931 and 10.0749.
"""

import numpy as np
import pytest

from robustirl.demonstrations import recorded_choices
from robustirl.envs.recorded import buses
from robustirl.irl import JointModel, MixtureDynamics, RobustIRL, select_alpha
from robustirl.rewards import LinearReward

ENV = buses(4)
CHOICES = recorded_choices(ENV)
DYNAMICS = MixtureDynamics(ENV.increment_kernels, ENV.increments, names=["p0", "p1"])
MODEL = JointModel(LinearReward(ENV.features, names=ENV.feature_names), DYNAMICS)


def learn(discount=0.9999):
    world = buses(4, discount=discount).mdp()
    return RobustIRL(1.0, reward=MODEL, objective="likelihood").fit(world, CHOICES)


@pytest.fixture(scope="module")
def published():
    return learn()


def printed(numbers, digits):
    return [f"{number:.{digits}f}" for number in numbers]


def test_table_ix_is_reproduced_digit_by_digit(published):
    found = published.inference_
    assert printed(found.parameters, 4) == ["2.2930", "10.0750", "0.3919", "0.5953"]
    assert printed(found.standard_errors("outer")[:2], 3) == ["0.639", "1.582"]
    assert printed([found.choice_log_likelihood, found.log_likelihood], 3) == ["-163.584", "-3304.155"]
    assert found.observations == 4292
    assert 1 - found.parameters[2:].sum() == pytest.approx(0.0128, abs=5e-5)
    assert found.unidentified == ()
    low, high = published.confidence_intervals_[1]
    assert (high - low) / 2 == pytest.approx(1.959964 * published.standard_errors_[1])
    share = found.parameters[2]
    alone = np.sqrt(share * (1 - share) / 4292)  # Of a binomial share; the choices say almost nothing about it.
    assert found.standard_errors()[2] == pytest.approx(alone, rel=2e-3)


def test_without_looking_ahead_the_table_is_reproduced_as_well():
    found = learn(discount=0.0).inference_
    assert printed(found.parameters[:2], 4) == ["71.5133", "7.6358"]
    # Choices do not depend on the increments here, so that the scores of the two costs are a block of their own.
    errors = np.sqrt(np.diag(np.linalg.inv(found.outer_product[:2, :2])))
    assert printed(errors, 3) == ["13.778", "0.720"]
    # The paper prints -165.458; the maximum rounds to -165.459 (its last digit was cut off).
    assert found.choice_log_likelihood == pytest.approx(-165.458522, abs=1e-6)


def test_discounts_beyond_9999_converge_to_a_limit(published):
    near, nearer = (learn(discount).inference_.parameters for discount in (0.999999, 0.9999999))
    # The published discount is 1e-4 from 1, and the limit is ten thousand times closer to these two.
    assert np.abs(nearer - near).max() < 1e-2 * np.abs(near - published.inference_.parameters).max()


def test_an_opponent_does_not_make_the_choices_more_likely():
    found = select_alpha(ENV.mdp(), CHOICES, candidates=[0.98], reward=MODEL, objective="likelihood")
    assert found.alpha == 1
    assert found.gaps[1] > found.gaps[0]  # An opponent who replaces new engines is refuted by the data.
