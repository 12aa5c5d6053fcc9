"""Reward models: their gradients are all the loop needs."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.errors import InvalidInputError
from robustirl.irl import fit
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, state_occupancy
from robustirl.rewards import LinearReward, NetworkReward, TabularReward, make_reward_model


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


def test_a_network_reward_is_two_hidden_layers_as_wide_as_the_features():
    features = np.random.default_rng(0).normal(size=(7, 5))
    model = NetworkReward(features, key=jax.random.key(1))
    first, second, last = model.initial_parameters()
    assert [layer.weight.shape for layer in (first, second, last)] == [(5, 5), (5, 5), (1, 5)]

    def relu(x):
        return np.maximum(x, 0)

    hidden = relu(features @ np.asarray(first.weight).T + np.asarray(first.bias))
    hidden = relu(hidden @ np.asarray(second.weight).T + np.asarray(second.bias))
    expected = hidden @ np.asarray(last.weight).T + np.asarray(last.bias)
    assert np.asarray(model(model.initial_parameters())) == pytest.approx(expected[:, 0], rel=1e-12)


def test_a_network_learns_what_no_linear_reward_can():
    # Two cells share a feature sum but not a reward: the xor of two features.
    features = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    moves = np.zeros((4, 3, 4))
    for state in range(4):
        for action, step in enumerate((-1, 0, 1)):
            moves[state, action, (state + step) % 4] = 1
    world = MDP(moves, discount=0.9)
    true = np.array([0.0, 2.0, 2.0, 0.0])
    rho = state_occupancy(world, expert_policy(world, true, temperature=1.0))
    gaps = {}
    for name, reward in (
        ("network", NetworkReward(features, key=jax.random.key(0), width=8)),
        ("linear", LinearReward(features)),
    ):
        result = fit(world, rho, alpha=1.0, reward=reward, optimizer=optax.adam(0.03), steps=400)
        gaps[name] = float(result.verdict.occupancy_gap)
    assert gaps["network"] < 0.02
    assert gaps["linear"] > 0.1


def test_a_model_is_made_by_its_name(refused):
    assert make_reward_model("tabular", 3, num_actions=2).shape == (3,)
    assert make_reward_model("tabular-action", 3, num_actions=2).shape == (3, 2)
    features = np.arange(6.0).reshape(3, 2)
    assert make_reward_model("linear", 3, features, feature_names=["a", "b"]).parameter_names() == ("a", "b")
    first, second = (make_reward_model("network", 3, features, seed=seed).initial_parameters() for seed in (0, 1))
    assert not np.array_equal(first[0].weight, second[0].weight)
    with refused("a reward of states and actions needs the number of actions; give num_actions."):
        make_reward_model("tabular-action", 3)
    with refused("the reward is 'table', but one of tabular, tabular-action, linear, network is needed."):
        make_reward_model("table", 3)
    with refused("the garden has no features for a network reward; choose a tabular one."):
        make_reward_model("network", 3, world="the garden")


def test_parameters_have_names(refused):
    assert TabularReward(2).parameter_names() == ("reward[0]", "reward[1]")
    assert TabularReward(1, 2).parameter_names() == ("reward[0,0]", "reward[0,1]")
    assert LinearReward(np.eye(2)).parameter_names() == ("theta[0]", "theta[1]")
    names = NetworkReward(np.eye(2), key=jax.random.key(0), width=1, depth=1).parameter_names()
    assert names == tuple(f"theta[{place}]" for place in range(2 + 1 + 1 + 1))
    for given in ("ab", ["a"], ["a", "a"]):
        with refused(f"the feature names are {given!r}, but 2 different words are needed."):
            LinearReward(np.eye(2), names=given)


def test_a_network_of_states_and_actions_has_a_reward_for_each_pair():
    features = np.arange(12.0).reshape(3, 2, 2)
    model = NetworkReward(features, key=jax.random.key(0))
    pairs = NetworkReward(features.reshape(6, 2), key=jax.random.key(0))
    found = model(model.initial_parameters())
    np.testing.assert_array_equal(found, pairs(pairs.initial_parameters()).reshape(3, 2))
