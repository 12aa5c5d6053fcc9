"""Rust (1987), Table IX: group 4, 90 bins, linear cost; every printed digit.

The published estimates maximize the likelihood of choices and increments together; the standard errors are those of
the outer product of the scores. With the increments fixed at their shares, the maximum is 2.2931 and 10.0749.
"""

import math
import time

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import recorded_choices
from robustirl.irl import JointModel, MixtureDynamics, RobustIRL, infer, profile_alpha
from robustirl.rewards import LinearReward

ENV = envs.buses(4)
CHOICES = recorded_choices(ENV)
DYNAMICS = MixtureDynamics(ENV.increment_kernels, ENV.increments, names=["p0", "p1"])
MODEL = JointModel(LinearReward(ENV.features, names=ENV.feature_names), DYNAMICS)


def learn(discount=0.9999):
    world = envs.buses(4, discount=discount).mdp()
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


def test_without_looking_ahead_the_table_is_reproduced_as_well():
    found = learn(discount=0.0).inference_
    assert printed(found.parameters[:2], 4) == ["71.5133", "7.6358"]
    # Choices do not depend on the increments here, so that the scores of the two costs are a block of their own.
    errors = np.sqrt(np.diag(np.linalg.inv(found.outer_product[:2, :2])))
    assert printed(errors, 3) == ["13.778", "0.720"]
    assert found.choice_log_likelihood == pytest.approx(-165.458522, abs=1e-6)


def test_the_likelihood_printed_for_no_discounting_is_above_the_largest_there_is():
    """Without discounting the choice is a logit in .001 θ₁ x - RC, and its log-likelihood is concave.

    Newton's method in plain NumPy finds the maximum, -165.458522, at the printed estimates. It rounds to -165.459. The
    paper prints -165.458, which only numbers of at least -165.4585 round to, and no parameters reach that. Estimates
    that had not converged would have a smaller likelihood. The last digit is therefore one of the printing: the digits
    after it were cut off, or lost, while those of the estimates were rounded (7.63578 is printed as 7.6358).
    """
    features = np.stack([0.001 * ENV.choice_states, -np.ones(4292)], 1)
    theta, information = np.array([70.0, 7.0]), np.zeros((2, 2))
    for _ in range(20):
        replace = 1 / (1 + np.exp(-features @ theta))
        information = (features * (replace * (1 - replace))[:, None]).T @ features
        theta = theta + np.linalg.solve(information, features.T @ (ENV.choice_actions - replace))
    assert np.linalg.eigvalsh(information).min() > 0
    assert printed(theta, 4) == ["71.5133", "7.6358"]

    def likelihood(theta):
        gain = features @ np.asarray(theta)
        return math.fsum(ENV.choice_actions * gain - np.logaddexp(0, gain))

    assert likelihood(theta) == pytest.approx(-165.4585222, abs=1e-7)
    assert likelihood([71.5133, 7.6358]) == pytest.approx(-165.4585222, abs=1e-7)
    assert likelihood(theta) < -165.4585


def test_a_second_fit_takes_less_than_a_second(published):
    del published
    began = time.process_time()  # Not the clock: others may use the machine.
    learn()
    assert time.process_time() - began < 1


def test_discounts_beyond_9999_converge_to_a_limit(published):
    near, nearer = (learn(discount).inference_.parameters for discount in (0.999999, 0.9999999))
    # The published discount is 1e-4 from 1, and the limit is ten thousand times closer to these two.
    assert np.abs(nearer - near).max() < 1e-2 * np.abs(near - published.inference_.parameters).max()


def test_the_summary_names_the_parameters_with_errors_and_intervals(published):
    text = published.summary()
    row = next(line for line in text.splitlines() if line.startswith("theta1"))
    assert row.split()[:3] == ["theta1", "2.293", "0.554"]
    assert "log-likelihood -3304.155" in text
    assert published.judgment_.trust == "trust"
    low, high = published.confidence_intervals_[1]
    assert (low + high) / 2 == pytest.approx(10.075, abs=1e-3)
    assert (high - low) / 2 == pytest.approx(1.959964 * published.standard_errors_[1])


def test_the_information_is_the_derivative_of_the_score(published):
    found = published.inference_
    share = found.parameters[2]
    alone = np.sqrt(share * (1 - share) / 4292)  # Of a binomial share; the choices say almost nothing about it.
    assert found.standard_errors()[2] == pytest.approx(alone, rel=2e-3)
    assert found.unidentified == ()


def test_saved_and_read_estimators_keep_their_standard_errors(published, tmp_path):
    with pytest.warns(UserWarning, match="JointModel"):
        published.save(tmp_path / "buses.npz")
    again = RobustIRL.load(tmp_path / "buses.npz")
    assert again.objective == "likelihood"
    assert again.standard_errors_.tolist() == published.standard_errors_.tolist()
    assert again.inference_.names == ("theta1", "RC", "p0", "p1")
    assert again.summary() == published.summary()


def test_an_opponent_does_not_make_the_choices_more_likely():
    estimate, fits = profile_alpha(ENV.mdp(), CHOICES, candidates=[0.98], reward=MODEL)
    assert estimate.alpha == 1
    assert len(fits) == 2
    found = infer(fits[1], ENV.mdp(), CHOICES, MODEL)
    # Probabilities of the mixture: an opponent who replaces new engines is refuted by the data.
    assert found.log_likelihood < -3304.155
