"""Reward models: their gradients are all the loop needs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.rewards import LinearReward, TabularReward


def test_linear_with_one_hot_features_is_tabular():
    theta = jnp.array([1.0, -2.0, 0.5])
    assert jnp.array_equal(LinearReward(np.eye(3))(theta), TabularReward(3)(theta))


def test_gradient_of_a_linear_reward_is_its_features():
    features = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(jax.jacobian(LinearReward(features))(jnp.zeros(2)), features)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros(3), r"shape \(3,\), but \(S, d\)"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
        ([[1.0, np.inf]], "not finite at state 0, feature 1"),
        ([["a"]], "not a rectangular array of real numbers"),
    ],
)
def test_bad_features_are_named(features, message):
    with pytest.raises(InvalidInputError, match=message):
        LinearReward(features)
