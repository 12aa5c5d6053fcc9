"""Sampled demonstrations against the worlds they come from, Gymnasium's among them."""

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, rollout_gymnasium, sample_demonstrations
from robustirl.demonstrations.dynamics import count_array
from robustirl.envs import from_gymnasium, make
from robustirl.mdp import MDP, uniform_policy

RNG = np.random.default_rng(1)
KERNEL = RNG.dirichlet(np.full(5, 0.4), size=(5, 2))
KERNEL[4], KERNEL[2, 1] = np.eye(5)[4], 0  # An absorbing goal, and an action that is missing.
POLICY = RNG.dirichlet(np.ones(2), size=5)
POLICY[2] = [1, 0]
WORLD = MDP(KERNEL, discount=0.9, initial=RNG.dirichlet(np.ones(5)))


def test_moves_actions_and_starts_have_the_right_frequencies():
    demos = sample_demonstrations(WORLD, POLICY, episodes=20_000, horizon=5, key=jax.random.key(0))
    starts = np.bincount(demos.states[demos.offsets[:-1]], minlength=5) / 20_000
    np.testing.assert_allclose(starts, WORLD.initial, atol=4 * 0.5 / np.sqrt(20_000))
    joint = count_array(demos, (5, 2))
    left = joint.sum((1, 2))
    expected = left[:, None, None] * POLICY[..., None] * KERNEL
    assert left[4] == 0  # The goal is never left.
    assert (joint[expected == 0] == 0).all()
    assert np.abs((joint - expected) / np.sqrt(expected + 1)).max() < 4.5


def test_absorbing_states_end_and_the_horizon_truncates():
    world = make("gridworld-4").mdp(0.1)
    demos = sample_demonstrations(world, uniform_policy(world.mask), episodes=300, horizon=20, key=jax.random.key(3))
    assert 0 < demos.terminated.sum() < 300
    np.testing.assert_array_equal(demos.terminated, demos.last_states == 0)
    assert (demos.lengths[~demos.terminated] == 21).all()
    assert not (demos.states[demos.moves] == 0).any()
    walk = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
    for horizon, ended in ((0, False), (1, True), (2, True)):
        demos = sample_demonstrations(walk, [[1.0], [1.0]], episodes=2, horizon=horizon, key=jax.random.key(0))
        assert demos.terminated.tolist() == [ended] * 2
        assert demos.lengths.tolist() == [min(horizon, 1) + 1] * 2


def test_the_same_key_gives_the_same_episodes_and_another_does_not():
    one, again, other = (
        sample_demonstrations(WORLD, POLICY, episodes=50, horizon=9, key=jax.random.key(k)) for k in (1, 1, 2)
    )
    assert one == again != other
    silent = sample_demonstrations(WORLD, POLICY, episodes=50, horizon=9, key=jax.random.key(1), with_actions=False)
    assert silent == one.without_actions()


def test_requests_that_cannot_be_met_are_refused(refused):
    key = jax.random.key(0)
    endless = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.9)
    for world, policy, episodes, horizon, culprits in (
        (WORLD, POLICY, 0, 5, ["the number of episodes is 0"]),
        (WORLD, POLICY, 1, -1, ["the horizon is -1"]),
        (WORLD, np.full((5, 2), 0.5), 1, 5, ["the policy", "state 2"]),
        (endless, [[1.0]] * 2, 10**6, 10**9, ["1000000 episodes with a horizon of 1000000000 needs", "fewer"]),
    ):
        with refused(*culprits):
            sample_demonstrations(world, policy, episodes=episodes, horizon=horizon, key=key)


@pytest.fixture
def lake():
    gymnasium = pytest.importorskip("gymnasium")
    with gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=True) as env:
        yield env


def test_gymnasium_rollouts_follow_the_environment(lake):
    policy = np.full((16, 4), 0.25)
    demos = rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=7)
    demos.check_possible(from_gymnasium(lake).mdp())
    assert (demos.states[demos.offsets[:-1]] == 0).all()
    np.testing.assert_array_equal(demos.terminated, np.isin(demos.last_states, [5, 7, 11, 12, 15]))
    assert demos.terminated.any()
    assert rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=7) == demos
    assert rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=8) != demos
    cut = rollout_gymnasium(lake, lambda _: 0, episodes=5, horizon=10_000, seed=0)
    assert cut.lengths.max() <= 101  # The environment's own limit.


def test_functions_agents_and_arrays_act_alike(lake):
    class Agent:
        def predict(self, observation):
            return np.array(int(observation) % 4), None

    by_function, by_agent, by_array, wider = (
        rollout_gymnasium(lake, policy, episodes=20, horizon=15, seed=1)
        for policy in (lambda state: state % 4, Agent(), np.tile(np.eye(4), (4, 1)), np.eye(4)[np.arange(17) % 4])
    )
    assert by_function == by_agent == by_array == wider
    assert by_function.actions is not None
    np.testing.assert_array_equal(by_function.actions, by_function.states[by_function.moves] % 4)


def test_spaces_that_start_elsewhere_number_from_zero():
    gymnasium = pytest.importorskip("gymnasium")

    class Counter(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(5, start=10)
        action_space = gymnasium.spaces.Discrete(2, start=-1)

        def reset(self, *, seed=None, options=None):
            self.at = 10
            return self.at, {}

        def step(self, action):
            assert action in (-1, 0)
            self.at += action + 1
            return self.at, 0.0, self.at == 14, False, {}

    demos = rollout_gymnasium(Counter(), lambda state: int(state != 1), episodes=1, horizon=3, seed=0)
    assert demos == Demonstrations.from_arrays([[0, 1, 1, 1]], [[1, 0, 0]], terminated=False)


def test_gymnasium_requests_that_cannot_be_met_are_refused(lake, refused):
    gymnasium = pytest.importorskip("gymnasium")
    for env, policy, culprits in (
        (gymnasium.make("CartPole-v1"), lambda _: 0, ["observations", "Box", "cells"]),
        (lake, np.full((3, 4), 0.25), ["the policy", "(3, 4)", "(16, 4)"]),
        (lake, lambda _: 4, ["action 4", "state 0", "there are 4"]),
        ("lake", lambda _: 0, ["a Gymnasium environment is needed", "str"]),
    ):
        with refused(*culprits):
            rollout_gymnasium(env, policy, episodes=1, horizon=1, seed=0)
