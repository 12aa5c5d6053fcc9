"""What a policy achieves: the several definitions of value, occupancy and return must agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.mdp import MDP
from robustirl.mdp.dense import DenseKernel
from robustirl.planning import discounted_return, policy_value, state_occupancy, total_return
from robustirl.planning.evaluation import state_action_occupancy
from robustirl.planning.verdict import _unit_of
from tests.strategies import tasks

WORLD = MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9)
POLICY, REWARD = [[0.5, 0.5], [1.0, 0.0]], [1.0, -1.0]


@given(tasks())
def test_occupancies_are_distributions(task):
    mdp, policy, _ = task
    occupancy = np.asarray(state_occupancy(mdp, policy))
    assert (occupancy >= 0).all()
    np.testing.assert_allclose(occupancy.sum(), 1, atol=1e-11)


@given(tasks())
def test_occupancies_satisfy_the_flow_equation(task):
    mdp, policy, _ = task
    occupancy, discount = state_occupancy(mdp, policy), float(mdp.discount)
    arriving = np.einsum("s,sa,sat->t", occupancy, policy, mdp.kernel.probabilities)
    np.testing.assert_allclose(occupancy, (1 - discount) * mdp.initial + discount * arriving, atol=1e-14)


@given(tasks(discounts=(0.0, 0.5, 0.9)))
def test_occupancies_are_the_discounted_visits(task):
    mdp, policy, _ = task
    chain, discount = np.einsum("sa,sat->st", policy, mdp.kernel.probabilities), float(mdp.discount)
    visits, now = np.zeros(mdp.num_states), np.asarray(mdp.initial)
    for time in range(300):
        visits += (1 - discount) * discount**time * now
        now = now @ chain
    np.testing.assert_allclose(state_occupancy(mdp, policy), visits, atol=1e-12)


@given(tasks())
def test_pairs_are_visited_as_their_states_are_and_as_the_policy_acts(task):
    mdp, policy, _ = task
    pairs = state_action_occupancy(mdp, policy)
    np.testing.assert_allclose(pairs.sum(-1), state_occupancy(mdp, policy), atol=1e-14)
    np.testing.assert_allclose(pairs, pairs.sum(-1, keepdims=True) * policy, atol=1e-14)
    assert (np.asarray(pairs)[~np.asarray(mdp.mask)] == 0).all()


@given(tasks())
def test_the_value_satisfies_the_bellman_equation(task):
    mdp, policy, reward = task
    value = policy_value(mdp, policy, reward)
    future = (policy * mdp.kernel.expect(value)).sum(-1)
    np.testing.assert_allclose(value, reward + mdp.discount * future, atol=1e-12 * max(1, np.abs(value).max()))


@given(tasks())
def test_the_discounted_return_is_value_at_the_start_and_reward_along_the_occupancy(task):
    mdp, policy, reward = task
    found = discounted_return(mdp, policy, reward)
    atol = 1e-11 * max(1.0, float(np.abs(reward).max())) / (1 - float(mdp.discount))
    np.testing.assert_allclose(found, mdp.initial @ policy_value(mdp, policy, reward), atol=atol)
    np.testing.assert_allclose(found, state_occupancy(mdp, policy) @ reward / (1 - mdp.discount), atol=atol)


@pytest.mark.parametrize("horizon", [0, 1, 17])
@given(tasks(shapes=((2, 2), (5, 4))))
def test_the_total_return_is_the_sum_of_rewards(horizon, task):
    mdp, policy, reward = task
    chain = np.einsum("sa,sat->st", policy, mdp.kernel.probabilities)
    now = np.asarray(mdp.initial)
    total = now @ reward
    for _ in range(horizon):
        now = now @ chain
        total += now @ reward
    found = total_return(mdp, jnp.asarray(policy), jnp.asarray(reward), horizon=horizon)
    np.testing.assert_allclose(found, total, rtol=1e-12, atol=1e-11)


def test_the_total_return_takes_a_thousand_steps_unless_told_otherwise():
    assert total_return(MDP([[[1.0]]], discount=0.5), [[1.0]], [1.0]).item() == 1001


def test_horizon_zero_is_the_reward_of_the_start():
    world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[0.25, 0.75])
    assert total_return(world, [[1.0], [1.0]], [4.0, 8.0], horizon=0).item() == 7


def test_a_leaky_world_loses_occupancy():
    leaky = MDP(DenseKernel([[[0.5]]], leaky=True), discount=0.8)
    np.testing.assert_allclose(state_occupancy(leaky, [[1.0]]), [0.2 / (1 - 0.4)])


def test_returns_of_a_leaky_world_are_refused(refused):
    leaky = MDP(DenseKernel([[[0.5]]], leaky=True), discount=0.8)
    for function in (policy_value, discounted_return, total_return):
        with refused("leaky world", "evaluation_mdp"):
            function(leaky, [[1.0]], [3.0])


FUNCTIONS = {
    "value": policy_value,
    "discounted return": discounted_return,
    "total return": total_return,
    "occupancy": lambda mdp, policy, _: state_occupancy(mdp, policy),
    "pair occupancy": lambda mdp, policy, _: state_action_occupancy(mdp, policy),
}


def functions(*names):
    return [pytest.param(FUNCTIONS[n], id=n) for n in names]


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("function", functions(*FUNCTIONS))
def test_a_bad_policy_is_refused(function, kind, refused):
    with refused("the policy", "action 1 in state 1"):
        function(WORLD, kind([[1.0, 0.0], [0.5, 0.5]]), kind(REWARD))
    with refused("the policy", "state 0", "1.1"):
        function(WORLD, kind([[0.5, 0.6], [1.0, 0.0]]), kind(REWARD))


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("function", functions("value", "discounted return", "total return"))
def test_a_bad_reward_is_refused(function, kind, refused):
    with refused("the reward", "state 1", "nan"):
        function(WORLD, kind(POLICY), kind([1.0, float("nan")]))


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_policy_of_the_wrong_shape_is_refused(function, refused):
    with refused("the policy", "(2, 1)", "(2, 2)"):
        function(WORLD, np.ones((2, 1)), np.asarray(REWARD))


def test_a_negative_horizon_is_refused(refused):
    with refused("horizon", "-1"):
        total_return(WORLD, POLICY, REWARD, horizon=-1)


def test_inside_compiled_code_occupancies_and_units_are_the_same():
    policy = jnp.asarray(POLICY)
    states, pairs = jax.jit(lambda p: (state_occupancy(WORLD, p), state_action_occupancy(WORLD, p)))(policy)
    np.testing.assert_allclose(states, state_occupancy(WORLD, policy), rtol=1e-6)
    np.testing.assert_allclose(pairs, state_action_occupancy(WORLD, policy), rtol=1e-6)
    unit = jax.jit(_unit_of)
    assert [float(unit(jnp.array(reward))) for reward in ([7.0, -9.0], [0.0, 0.0])] == [4.5, 1.0]
