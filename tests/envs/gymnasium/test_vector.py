"""Spaces of vector environments: what their actions are, and which are refused."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from robustirl.envs import from_gymnasium_vector
from robustirl.envs.gymnasium.vector import VectorWorld, _actions_of, _flattener
from robustirl.errors import InvalidInputError

spaces = gymnasium.spaces


def test_actions_are_choices_or_numbers_within_bounds():
    choices, low, high = _actions_of(spaces.Discrete(4))
    assert (choices, low.size, high.size) == (4, 0, 0)
    choices, low, high = _actions_of(
        spaces.Box(np.array([[-1.0, -2.0]], np.float32), np.array([[0.5, 3.0]], np.float32))
    )
    assert (choices, low.tolist(), high.tolist()) == (0, [-1, -2], [0.5, 3])
    for space in (spaces.Box(0, 5, (2,), np.int64), spaces.MultiBinary(3), spaces.MultiDiscrete([2, 3])):
        with pytest.raises(InvalidInputError, match="but a Box of real numbers or a Discrete space is needed"):
            _actions_of(space)


def test_observations_become_rows_of_numbers():
    flatten = _flattener(spaces.Discrete(3, start=2))
    np.testing.assert_array_equal(flatten(np.array([2, 4])), [[1, 0, 0], [0, 0, 1]])
    rows = _flattener(spaces.Box(-1, 1, (2, 2)))(np.arange(8.0).reshape(2, 2, 2))
    np.testing.assert_array_equal(rows, [[0, 1, 2, 3], [4, 5, 6, 7]])
    with pytest.raises(InvalidInputError):
        _flattener(spaces.MultiBinary(3))


def test_actions_are_translated_for_the_environments():
    carts = from_gymnasium_vector("CartPole-v1", environments=2)
    assert repr(carts) == "VectorWorld(CartPole-v1: 2 environments, 4 numbers seen, one of 2 actions)"
    assert carts._as_actions(np.array([[0.1, 0.9], [0.3, 0.2]])).tolist() == [1, 0]
    counted = SimpleNamespace(envs=SimpleNamespace(single_action_space=spaces.Discrete(2, start=5)), _choice=2)
    assert VectorWorld._as_actions(counted, np.array([[0.1, 0.9], [0.3, 0.2]])).tolist() == [6, 5]  # pyright: ignore
    poles = from_gymnasium_vector("Pendulum-v1", environments=2)
    assert repr(poles) == "VectorWorld(Pendulum-v1: 2 environments, 3 numbers seen, 1 numbers an action)"
    assert poles._as_actions(np.array([[-5.0], [0.5]])).tolist() == [[-2], [0.5]]
    for world in (carts, poles):
        world.close()


def test_seeds_and_horizons_have_limits(refused):
    for given in ({"seed": 0, "horizon": 1}, {"seed": 2**32 - 1}):
        from_gymnasium_vector("CartPole-v1", environments=1, **given).close()
    for given, words in (({"seed": 2**32}, "the seed is 4294967296"), ({"horizon": 0}, "the horizon is 0")):
        with refused(words):
            from_gymnasium_vector("CartPole-v1", environments=1, **given)


def test_one_late_episode_is_enough_to_refuse_environments_that_begin_anew_together():
    carts = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
    world = from_gymnasium_vector(carts, horizon=5)
    world._ages[:] = [4, 0, 0]  # The first is a step before the horizon.
    with pytest.raises(InvalidInputError, match="an episode has not ended after 5 steps"):
        world.advance(np.zeros((3, 2)))
    world.close()
