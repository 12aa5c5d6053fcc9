"""A training is put together, reported and refused; whole ones end in a policy."""

import inspect
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import single_precision
from robustirl.control import PPOConfig, measure_returns, network_policy, train_policy
from robustirl.control.ppo_training import _measure_batch, _require_fitting, train_policies, training_setting
from robustirl.control.segments import Field
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from tests.control.worlds import Line

SMALL = PPOConfig(environments=8, segment=16, hidden=(8,))  # The shapes of the examples in docstrings.


def test_what_a_training_is_put_together_from():
    class Endless(Line):
        horizon = 37

    given, line = [0.0, -1.0, 5.0], Line([0.0, -1.0, 5.0], discount=0.7)
    with single_precision():
        settings = [
            training_setting(line, 0.9, 128 * 45, SMALL, None),
            training_setting(Endless(given), 0.9, 128, SMALL, None),
            training_setting(line, 0.9, 128, SMALL, 50),
        ]
    assert [setting.horizon for setting in settings] == [200, 37, 50]
    assert settings[0].units is None  # Its actions lie within ±1.
    assert [int(setting.updates) for setting in settings] == [46, 1, 1]  # Stretches of two.
    np.testing.assert_allclose([float(settings[0].alpha), float(settings[0].discount)], [0.9, 0.7], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="the horizon is 0"), single_precision():
        training_setting(line, 0.9, 128, SMALL, 0)
    with pytest.raises(InvalidInputError, match="1 worlds and 2 keys were given, but one key a world is needed"):
        train_policies([line], keys=[jax.random.key(0)] * 2)
    with pytest.raises(InvalidInputError, match="0 worlds and 0 keys"):
        train_policies([], keys=[])


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InvalidInputError, match="minibatches is 7, which does not divide"):
        PPOConfig(minibatches=7)
    with pytest.raises(InvalidInputError, match="the world is a dict"):
        inspect.unwrap(train_policies)([{}], keys=[jax.random.key(0)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="steps is 5"):
        train_policy(physics.make("pendulum"), steps=5, key=jax.random.key(0))


def test_one_program_measures_mean_and_drawn_actions():
    world, key = physics.make("pendulum"), jax.random.key(0)
    policy = network_policy(3, 1, hidden=(8,), key=key)
    before = len(_measure_batch)
    measure = lambda mean: np.asarray(  # noqa: E731
        measure_returns([world], [policy], episodes=3, horizon=5, mean_action=mean, keys=[key])
    )
    mean, drawn = measure(True), measure(False)
    assert len(_measure_batch) == before + 1
    still = network_policy(3, 1, hidden=(8,), deviation=1e-12, key=key)  # Its mean actions are those of the other one.
    nearly = measure_returns([world], [still], episodes=3, horizon=5, mean_action=False, keys=[key])
    np.testing.assert_allclose(mean, np.asarray(nearly), rtol=1e-3)
    assert (np.abs(mean - drawn) > 0.01).all()


@pytest.mark.slow
def test_ppo_swings_a_pole_up():
    world = physics.make("cart-pole-swing-up")
    found = train_policy(world, steps=600_000, key=jax.random.key(0))
    returns = np.asarray(measure_returns([world], [found.policy], episodes=16, keys=[jax.random.key(1)]))
    assert returns.mean() > 165  # Of 250; hanging pays 0, and the way up takes time.


def test_a_reward_that_does_not_fit_what_a_world_shows_is_refused():
    line = Line([0.0, -1.0, 5.0])  # It shows three numbers.
    _require_fitting(lambda now, after: (now @ jnp.ones(3)) + after[..., 0], line)
    parts = ("discount", "action_size", "environments", "horizon", "reset", "advance")
    for world in (line, SimpleNamespace(width=3, **dict.fromkeys(parts, len))):  # The second steps itself.
        with pytest.raises(InvalidInputError, match="does not take what the world shows, 3 numbers a state"):
            _require_fitting(lambda now, after: now @ jnp.ones(2) + after[..., 0], world)


def test_copies_of_a_world():
    field = Field({"mass": np.array([1.0, 2.0, 3.0])}, each=True)
    assert field.take(2).world["mass"].tolist() == [1, 2]
    assert field.take(2).each
    alike = Field({"mass": np.array([1.0])}, each=False)
    assert alike.take(2) is alike
    assert alike.paid(jnp.ones((2, 5))).tolist() == [0, 0]  # A world without a reward.
