"""Extrapolation of value and occupancy from the last steps, on sequences that can be continued by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.irl import ADAM
from robustirl.irl.mce import accuracy
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.prediction import DIFFERENCES, Trail, first_trail
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.planning import Temperatures

STATES = 6
RNG = np.random.default_rng(0)
RESPONSE, FLOW = RNG.normal(size=(2, STATES, STATES))  # Of value and occupancy to the reward: linear.


def at(reward):
    return Neighbor(jnp.asarray(RESPONSE @ reward), jnp.asarray(FLOW @ reward), None, jnp.asarray(0.0))


def trail_along(rewards):
    blank, none = jnp.zeros(STATES), jnp.zeros((DIFFERENCES, STATES))
    trail = Trail(blank, blank, blank, none, none, none)
    for step, reward in enumerate(rewards):
        trail = trail.after(jnp.asarray(reward), at(reward), jnp.asarray(step == 0))
    return trail


def test_what_is_linear_in_the_reward_is_continued_exactly():
    start, first, second = RNG.normal(size=(3, STATES))
    rewards = [start, start + first, start + first + second]
    following = rewards[-1] + 0.5 * second - 2 * first
    value, occupancy = trail_along(rewards).predict(jnp.asarray(following))
    np.testing.assert_allclose(value, RESPONSE @ following, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(occupancy, FLOW @ following, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_a_direction_that_was_never_taken_is_not_predicted(count):
    start = RNG.normal(size=STATES)
    direction = np.eye(STATES)[0]
    rewards = [start + step * direction for step in range(count)]
    value, occupancy = trail_along(rewards).predict(jnp.asarray(rewards[-1] + direction[::-1]))
    np.testing.assert_allclose(value, RESPONSE @ rewards[-1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(occupancy, FLOW @ rewards[-1], rtol=1e-6, atol=1e-6)


def test_parallel_steps_share_what_is_predicted():
    start, direction = RNG.normal(size=(2, STATES))
    following = start + 3 * direction
    value, _ = trail_along([start, start + direction, start + 2 * direction]).predict(jnp.asarray(following))
    np.testing.assert_allclose(value, RESPONSE @ following, rtol=1e-6, atol=1e-6)


def test_only_large_worlds_leave_a_trail(monkeypatch):
    env = envs.GridWorld("grid", rewards=np.zeros((15, 15)))
    settings = Settings(ADAM, 10, None, False, Temperatures(), None)
    problem = prepare([env.mdp(0.0, "uniform-action")], [np.full(225, 1 / 225)], [0.9], None, None, settings).problems[
        0
    ]
    assert first_trail(problem, jnp.zeros(225)) is None
    monkeypatch.setattr(accuracy, "LEAST_STATES", 200)
    found = first_trail(problem, jnp.zeros(225))
    assert found is not None
    assert found.values.shape == (DIFFERENCES, 225)
