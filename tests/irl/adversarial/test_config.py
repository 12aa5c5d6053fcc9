"""Settings of robust imitation: their limits, and the form of the reward."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import PPOConfig, require_training
from robustirl.demonstrations import Recordings
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.irl import ImitationConfig
from robustirl.irl.adversarial.config import choose_reward
from robustirl.irl.adversarial.fit import _discriminator

WALK = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("within", "beyond", "words"),
    [
        *(({name: 1}, {name: 0}, f"{name} is 0") for name in ("steps", "discriminator_steps", "batch")),
        *(({name: 1e-9}, {name: 0.0}, f"{name} is 0.0") for name in ("learning_rate", "penalty")),
        ({"hidden": (1,)}, {"hidden": (8, 0)}, "the width of a hidden layer is 0"),
    ],
)
def test_settings_at_their_limits_are_accepted_and_beyond_them_refused(within, beyond, words):
    made = ImitationConfig(**within)
    assert {name: getattr(made, name) for name in within} == within
    with pytest.raises(InvalidInputError, match=words):
        ImitationConfig(**beyond)


def test_the_form_of_a_reward_follows_how_the_expert_ended():
    ends = [[True, True], [True, False], [False], [True, True, False]]
    assert [choose_reward(ImitationConfig(), one).reward for one in ends] == ["logit", "positive", "positive", "logit"]
    assert choose_reward(ImitationConfig(reward="negative"), [True]).reward == "negative"
    seen = Recordings.from_arrays([WALK, WALK], terminated=[True, True])
    assert _discriminator(seen, ImitationConfig(), 8).config.reward == "logit"


def test_settings_are_numbers_of_python_whatever_they_were_given_as(refused):
    """Counts of 32 bits overflow in products, and lists are no keys of compiled programs."""
    large, two = np.int32(2**20), jnp.asarray(2)
    ppo = PPOConfig(environments=large, segment=large, minibatches=two, learning_rate=np.float32(0.5), hidden=[two])
    assert ppo == PPOConfig(environments=2**20, segment=2**20, minibatches=2, learning_rate=0.5, hidden=(2,))
    assert ppo.batch == 2**40
    made = ImitationConfig(steps=large, batch=two, hidden=[np.int64(4)], penalty=np.float32(0.5))
    assert hash(made) == hash(ImitationConfig(steps=2**20, batch=2, hidden=(4,), penalty=0.5))
    with refused("needs about", "of memory"):
        require_training(physics.make("pendulum"), ppo, steps=1)
    for kind in (PPOConfig, ImitationConfig):
        with refused("hidden is Array(2", "but a sequence of widths is needed"):
            kind(hidden=two)
