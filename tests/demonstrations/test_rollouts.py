"""Sampled demonstrations against the worlds they come from."""

import jax
import numpy as np
import pytest

from robustirl.demonstrations import (
    Demonstrations,
    rollout_gymnasium,
    rollouts,
    sample_demonstrations,
    transition_counts,
)
from robustirl.envs import make
from robustirl.mdp import MDP, DenseKernel, SuccessorKernel, uniform_policy
from tests.planning.test_sampling import random_task


@pytest.mark.parametrize("listed", [False, True])
def test_moves_actions_and_starts_have_the_right_frequencies(listed):
    mdp, policy, _ = random_task(1)
    if listed:
        kernel = mdp.kernel.to_sparse().toarray().reshape(5, 2, 5)
        next_states = np.broadcast_to(np.arange(5), kernel.shape)
        mdp = MDP(SuccessorKernel(next_states, kernel), discount=0.9, initial=mdp.initial)
    demos = sample_demonstrations(mdp, policy, episodes=20_000, horizon=5, key=jax.random.key(0))
    found = transition_counts(demos, 5, with_actions=True)
    np.testing.assert_allclose(found.initial, mdp.initial, atol=4 * 0.5 / np.sqrt(20_000))
    assert found.actions is not None
    joint = np.zeros((5, 2, 5))
    joint[found.sources, found.actions, found.targets] = found.counts
    left = joint.sum((1, 2))
    expected = left[:, None, None] * policy[..., None] * np.asarray(mdp.kernel.to_sparse().toarray()).reshape(5, 2, 5)
    assert left[4] == 0  # The goal is never left.
    assert (joint[expected == 0] == 0).all()
    assert np.abs((joint - expected) / np.sqrt(expected + 1)).max() < 4.5


def test_absorbing_states_end_and_the_horizon_truncates():
    env = make("gridworld-4")
    world = env.mdp(0.1)
    demos = sample_demonstrations(world, uniform_policy(world.mask), episodes=300, horizon=20, key=jax.random.key(3))
    assert 0 < demos.terminated.sum() < 300
    np.testing.assert_array_equal(demos.terminated, demos.last_states == 0)
    assert (demos.lengths[~demos.terminated] == 21).all()
    assert not (demos.states[demos.moves] == 0).any()
    assert demos.lengths[demos.states[demos.offsets[:-1]] == 0].tolist() == [1] * (
        int((demos.states[demos.offsets[:-1]] == 0).sum())
    )


def test_the_goal_reached_with_the_last_step_terminates():
    walk = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
    for horizon, ended in ((0, False), (1, True), (2, True)):
        demos = sample_demonstrations(walk, [[1.0], [1.0]], episodes=2, horizon=horizon, key=jax.random.key(0))
        assert demos.terminated.tolist() == [ended] * 2
        assert demos.lengths.tolist() == [min(horizon, 1) + 1] * 2


def test_the_same_key_gives_the_same_episodes_and_another_does_not():
    mdp, policy, _ = random_task(0)
    one, again, other = (
        sample_demonstrations(mdp, policy, episodes=50, horizon=9, key=jax.random.key(k)) for k in (1, 1, 2)
    )
    assert one == again
    assert one != other
    silent = sample_demonstrations(mdp, policy, episodes=50, horizon=9, key=jax.random.key(1), with_actions=False)
    assert silent == one.without_actions()


def test_requests_that_cannot_be_met_are_refused(refused):
    mdp, policy, _ = random_task(0)
    with refused("episodes", "0"):
        sample_demonstrations(mdp, policy, episodes=0, horizon=5, key=jax.random.key(0))
    with refused("horizon", "-1"):
        sample_demonstrations(mdp, policy, episodes=1, horizon=-1, key=jax.random.key(0))
    with refused("the policy", "state 2"):
        sample_demonstrations(mdp, np.full((5, 2), 0.5), episodes=1, horizon=5, key=jax.random.key(0))
    leaky = MDP(DenseKernel([[[0.9]]], leaky=True), discount=0.5)
    with refused("leaky world", "evaluation_mdp"):
        sample_demonstrations(leaky, [[1.0]], episodes=1, horizon=5, key=jax.random.key(0))


@pytest.fixture
def lake():
    gymnasium = pytest.importorskip("gymnasium")
    with gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=True) as env:
        yield env


def lake_world(env):
    kernel = np.zeros((16, 4, 16))
    for state, moves in env.unwrapped.P.items():
        for action, outcomes in moves.items():
            for probability, successor, _, _ in outcomes:
                kernel[state, action, successor] += probability
    return MDP(kernel, discount=0.9)


def test_gymnasium_rollouts_follow_the_environment(lake):
    policy = np.full((16, 4), 0.25)
    demos = rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=7)
    demos.check_possible(lake_world(lake))
    assert (demos.states[demos.offsets[:-1]] == 0).all()
    ends = [5, 7, 11, 12, 15]
    np.testing.assert_array_equal(demos.terminated, np.isin(demos.last_states, ends))
    assert demos.terminated.any()
    assert rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=7) == demos
    assert rollout_gymnasium(lake, policy, episodes=60, horizon=30, seed=8) != demos


def test_gymnasium_rollouts_take_functions_and_certain_policies(lake):
    by_function = rollout_gymnasium(lake, lambda state: state % 4, episodes=20, horizon=15, seed=1)
    by_array = rollout_gymnasium(lake, np.tile(np.eye(4), (4, 1)), episodes=20, horizon=15, seed=1)
    assert by_function == by_array
    assert by_function.actions is not None
    np.testing.assert_array_equal(by_function.actions, by_function.states[by_function.moves] % 4)


def test_the_environments_own_limit_truncates(lake):
    demos = rollout_gymnasium(lake, lambda _: 0, episodes=5, horizon=10_000, seed=0)
    assert demos.lengths.max() <= 101  # FrozenLake's time limit.


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
    with refused("observations", "Box", "cells"):
        rollout_gymnasium(gymnasium.make("CartPole-v1"), lambda _: 0, episodes=1, horizon=1, seed=0)
    with refused("the policy", "(3, 4)", "(16, 4)"):
        rollout_gymnasium(lake, np.full((3, 4), 0.25), episodes=1, horizon=1, seed=0)
    with refused("action 4", "state 0", "there are 4"):
        rollout_gymnasium(lake, lambda _: 4, episodes=1, horizon=1, seed=0)
    with refused("the seed", "-1"):
        rollout_gymnasium(lake, lambda _: 0, episodes=1, horizon=1, seed=-1)


def test_a_machine_without_gymnasium_is_told_what_to_install(lake, monkeypatch, refused):
    monkeypatch.setitem(__import__("sys").modules, "gymnasium", None)
    with refused("gymnasium", "robustirl[gymnasium]"):
        rollout_gymnasium(lake, lambda _: 0, episodes=1, horizon=1, seed=0)


def test_more_states_than_memory_holds_are_refused_before_they_are_drawn(monkeypatch, refused):
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 2**34)
    walk = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.9)
    with refused("1000000000 episodes with a horizon of 1000000000 needs", "GiB", "fewer or shorter"):
        sample_demonstrations(walk, [[1.0]] * 2, episodes=10**9, horizon=10**9, key=jax.random.key(0))
    with refused("1 episodes with a horizon of 1000000000 needs", "GiB"):
        sample_demonstrations(walk, [[1.0]] * 2, episodes=1, horizon=10**9, key=jax.random.key(0))


def test_where_episodes_end_a_long_horizon_is_taken_as_long_as_memory_lasts(monkeypatch, refused):
    walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
    found = sample_demonstrations(walk, [[1.0]] * 2, episodes=9, horizon=10**9, key=jax.random.key(0))
    assert found.terminated.all()
    monkeypatch.setattr(rollouts, "LOOK", 300)
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 20_000)
    slow = MDP([[[0.999, 0.001]], [[0.0, 1.0]]], discount=0.9, initial=[1.0, 0.0])
    with refused("9 episodes with a horizon of 100000 needs"):
        sample_demonstrations(slow, [[1.0]] * 2, episodes=9, horizon=10**5, key=jax.random.key(0))
