"""Keys, worlds and policies that cannot be used are refused in a sentence."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.control import linear_policy, measure_returns, train_policies
from robustirl.control.checks import as_key, list_worlds, refuse_world, require_policy
from robustirl.demonstrations import record
from robustirl.envs import physics
from robustirl.errors import InvalidInputError

KEY = jax.random.key(0)


def test_keys_are_those_of_jax():
    assert as_key(KEY) is KEY
    old = jax.random.PRNGKey(0)
    assert as_key(old) is old
    for wrong in (0, None, np.zeros(2), jax.random.split(KEY, 2)):
        with pytest.raises(InvalidInputError, match=r"key is .*, but a key of JAX is needed, such as jax.random.key"):
            as_key(wrong)


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        ("pendulum", r"the world is text ('pendulum'), .*; make one with robustirl.envs.physics.make(name)."),
        (
            SimpleNamespace(observation_space=3),
            "the world is a SimpleNamespace, .*; make one with robustirl.envs.from_gymnasium_vector(name).",
        ),
        (envs.make("three-state").mdp(), "the world is an MDP, .*; worlds of numbered states are for robustirl.Rob"),
        (envs.make("three-state"), "the world is a .*; worlds of numbered states are for robustirl.RobustIRL."),
        ([], "the world is an empty list, .*; see robustirl.control.World."),
        ({}, "the world is a dict, which lacks some of what a sampled world offers; see robustirl.control.World."),
    ],
)
def test_what_cannot_be_sampled_is_named_with_what_can(world, sentence):
    pattern = sentence.replace("(", r"\(").replace(")", r"\)")
    for refuse in (refuse_world, list_worlds):
        with pytest.raises(InvalidInputError, match=pattern):
            refuse(world)


def test_worlds_of_one_batch_differ_in_numbers_alone():
    light, heavy, cart = physics.make("pendulum"), physics.make("pendulum", mass=2.0), physics.make("cart-pole")
    assert list_worlds([light, heavy]) == [light, heavy]
    with pytest.raises(InvalidInputError, match="world 1 is of another kind than world 0; give worlds that differ"):
        list_worlds((light, cart))
    with pytest.raises(InvalidInputError, match="world 2 is of another kind than world 0"):
        train_policies([light, heavy, cart], keys=[KEY] * 3)
    fitting = [linear_policy(3, 1), linear_policy(4, 1)]
    with pytest.raises(InvalidInputError, match="world 1 is of another kind"):
        measure_returns([light, cart], fitting, keys=[KEY] * 2)


def test_policies_fit_their_world():
    world = physics.make("pendulum")
    require_policy(world, linear_policy(3, 1))
    sentence = "takes 3 numbers of a state and gives 2 of an action, but the world shows 3 and takes 1"
    with pytest.raises(InvalidInputError, match=sentence):
        require_policy(world, linear_policy(3, 2))
    with pytest.raises(InvalidInputError, match="the policy is a function, but a GaussianPolicy is needed"):
        record(world, lambda seen: seen, key=KEY)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="the policy takes 4 numbers of a state"):
        measure_returns([world], [linear_policy(4, 1)], keys=[KEY])
