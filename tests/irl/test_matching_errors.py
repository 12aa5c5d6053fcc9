"""The covariance of coefficients learned by matching: a closed form, simulated scatter, and what is refused."""

import dataclasses

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, estimate_occupancy
from robustirl.irl import fit, matching_covariance
from robustirl.irl.matching_errors import _require_features, _sandwich
from robustirl.mdp import MDP
from robustirl.rewards import LinearReward, TabularReward

DISCOUNT = 0.5


@pytest.fixture(scope="module")
def fork():
    """Return a world in which one goes to state 1 or 2 and stays, a reward of state 1, and a function that fits it."""
    table = np.zeros((3, 2, 3))
    table[0, [0, 1], [1, 2]] = table[[1, 2], :, [1, 2]] = 1
    world = MDP(table, discount=DISCOUNT, initial=[1.0, 0.0, 0.0])
    model = LinearReward([[0.0], [1.0], [0.0]])

    def learn(first, second):
        walks = Demonstrations.from_arrays([[0, 1]] * first + [[0, 2]] * second, terminated=True)
        return fit(world, estimate_occupancy(walks, world).occupancy, alpha=1.0, reward=model), walks

    return world, model, learn


@pytest.mark.parametrize(("first", "second"), [(75, 25), (30, 10)])
def test_the_variance_of_a_fork_is_that_of_a_log_odds_ratio(fork, first, second):
    world, model, learn = fork
    found, walks = learn(first, second)
    # The log-odds of going to 1 are θ γ/(1-γ), and the variance of log-odds is 1 / (n p (1-p)).
    share, count = first / (first + second), first + second
    expected = ((1 - DISCOUNT) / DISCOUNT) ** 2 / ((count - 1) * share * (1 - share))
    found_matrix = matching_covariance(found, world, walks, model)
    np.testing.assert_allclose(found_matrix, [[expected]], rtol=1e-3)
    assert isinstance(found_matrix, np.ndarray)


@pytest.mark.usefixtures("mistyped")
def test_what_has_no_covariance_is_refused(fork, refused):
    world, model, learn = fork
    found, walks = learn(75, 25)
    with refused("TabularReward", "LinearReward"):
        matching_covariance(found, world, walks, TabularReward(3))  # pyright: ignore[reportArgumentType]
    assert _require_features(found, world, walks[:2], model).shape == (3, 1)
    with refused("1 episode", "at least two"):
        matching_covariance(found, world, walks[:1], model)
    with refused("features of 4 states", "has 3"):
        matching_covariance(found, world, walks, LinearReward(np.ones((4, 1))))
    with refused("not identified", "remove a feature"):
        matching_covariance(found, world, walks, LinearReward(np.ones((3, 1))))
    with refused("likelihood", "irl.infer"):
        matching_covariance(dataclasses.replace(found, objective="likelihood"), world, walks, model)


def test_the_covariance_of_two_coefficients_by_hand(refused):
    matrix, scatter = np.array([[4.0, 1.0], [1.0, 2.0]]), np.array([[0.3, 0.1], [0.1, 0.2]])
    inverse = np.array([[2.0, -1.0], [-1.0, 4.0]]) / 7
    np.testing.assert_allclose(_sandwich(matrix, scatter), inverse @ scatter @ inverse, rtol=1e-12)
    # Features in very different units are told apart as well,
    units = np.array([1e-7, 1e7])
    scaled = matrix * units * units[:, None]
    expected = inverse @ scatter @ inverse / units / units[:, None]
    np.testing.assert_allclose(_sandwich(scaled, scatter * units * units[:, None]), expected, rtol=1e-9)
    # but not one that has no influence, or the same as another.
    for singular in ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]):
        with refused("the features of the reward are not identified"):
            _sandwich(np.array(singular), scatter)
