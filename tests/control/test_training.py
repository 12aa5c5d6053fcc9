"""Trainings by PPO: a known optimum, the same numbers however they are cut, and clear refusals."""

from types import SimpleNamespace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl._jax import single_precision
from robustirl._progress import Interrupted
from robustirl.control import PPOConfig, measure_returns, train_policy
from robustirl.control import training as module
from robustirl.control.policies import linear_policy, network_policy, require_policy
from robustirl.control.training import train_policies
from robustirl.control.worlds import action_units, as_key, list_worlds
from robustirl.envs import from_gymnasium_vector, physics
from tests.control.worlds import Line, Scripted

SMALL = PPOConfig(environments=8, segment=16, hidden=(8,))  # The shapes of the examples in docstrings.
KEY = jax.random.key(0)


def test_ppo_finds_the_optimum_of_a_line():
    line = Line([0.0, -1.0, -1.0, -1.0, 5.0], slip=0.0)
    config = PPOConfig(environments=8, segment=16, hidden=(8,), learning_rate=1e-2)
    result = train_policy(line, steps=128 * 30, config=config, horizon=20, key=KEY)
    returns = measure_returns([line], [result.policy], episodes=4, horizon=20, keys=[KEY])
    np.testing.assert_array_equal(returns, [[4.0] * 4])  # Right, right: -1 + 5.


def test_numbers_of_a_training_are_as_before():
    result = train_policy(physics.make("pendulum"), steps=384, config=SMALL, key=KEY)
    np.testing.assert_allclose(result.progress.reward, [-7.3011570, -7.0017362, -7.2656384], rtol=1e-5)
    np.testing.assert_allclose(np.abs(np.asarray(result.policy.weights[0])).sum(), 9.8705244, rtol=1e-5)


def test_a_stretch_is_the_same_in_however_many_calls_it_is_taken(monkeypatch):
    whole = train_policy(physics.make("pendulum"), steps=128 * 46, config=SMALL, key=KEY)  # Stretches of two.
    assert whole.progress.reward.shape == (46,)
    monkeypatch.setattr(module, "ROOM", 1)
    cut = train_policy(physics.make("pendulum"), steps=128 * 46, config=SMALL, key=KEY)
    for one, two in zip(jax.tree.leaves(whole), jax.tree.leaves(cut), strict=True):
        np.testing.assert_array_equal(one, two)
    # The learning rate falls over all updates, so that a longer training differs from the second update on.
    short = train_policy(physics.make("pendulum"), steps=384, config=SMALL, key=KEY)
    first, second = (np.asarray(one.progress.reward) for one in (short, whole))
    assert first[0] == second[0]
    assert not np.array_equal(first[1:], second[1:3])


def test_callbacks_see_end_and_interrupt_a_training():
    options, seen = {"steps": 128 * 3, "config": SMALL, "key": KEY}, []
    ended = train_policy(physics.make("pendulum"), callbacks=[seen.append, lambda step: step.steps < 256], **options)
    assert [(step.steps, step.total) for step in seen] == [(128, 384), (256, 384)]
    assert ended.progress.reward.shape == (2,)

    def press(step):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        train_policy(physics.make("pendulum"), callbacks=[press], **options)
    assert caught.value.fit[0].progress.reward.shape == (1,)


def test_one_program_measures_mean_and_drawn_actions():
    world = physics.make("pendulum")
    policy = network_policy(3, 1, hidden=(4,), key=KEY)
    mean, drawn = (
        np.asarray(measure_returns([world], [policy], episodes=3, horizon=5, mean_action=way, keys=[KEY]))
        for way in (True, False)
    )
    assert mean.shape == drawn.shape == (1, 3)
    assert not np.allclose(mean, drawn)


def test_what_a_training_is_put_together_from():
    class Longer(Line):
        horizon = 37

    line = Line([0.0, -1.0, 5.0], discount=0.7)
    with single_precision():
        settings = [
            module.training_setting(line, 0.9, 128 * 146, SMALL, None),
            module.training_setting(Longer([0.0, -1.0, 5.0]), 0.9, 128, SMALL, None),
            module.training_setting(line, 0.9, 128, SMALL, 50),
            module.training_setting(Scripted(), 0.9, 3 * 16 * 2, SMALL, None),
        ]
    assert [setting.horizon for setting in settings] == [200, 37, 50, 4]
    assert [int(setting.updates) for setting in settings] == [147, 1, 1, 2]  # 147 are 21 stretches of seven.
    assert settings[0].units is None  # Its actions lie within ±1.
    np.testing.assert_allclose([float(settings[0].alpha), float(settings[0].discount)], [0.9, 0.7], rtol=1e-6)
    assert settings[3].config.environments == 3


@pytest.mark.parametrize(
    ("low", "high", "units"), [([-2.0, -1], [2.0, 1], [2, 1]), ([-1.0], [1.0], None), ([-np.inf], [np.inf], None)]
)
def test_units_are_the_largest_actions(low, high, units):
    found = action_units(SimpleNamespace(bounds=(np.array(low), np.array(high))))
    assert (found if found is None else found.tolist()) == units


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_training_in_gymnasium_s_environments_learns_in_every_mode_of_beginning_anew(mode):
    kwargs = {"autoreset_mode": gymnasium.vector.AutoresetMode(mode)}
    envs = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync", vector_kwargs=kwargs)
    world = from_gymnasium_vector(envs, seed=1)
    result = train_policy(world, steps=4 * 32 * 2, config=PPOConfig(segment=32, hidden=(8,)), key=KEY)
    assert result.progress.reward.tolist() == [1, 1]  # Every row is a step that was taken, and pays one.
    assert np.isfinite(result.policy.weights[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("CartPole-v1", 300), ("Acrobot-v1", -200)])
def test_policies_learn_in_gymnasium_s_worlds(name, least):
    world = from_gymnasium_vector(name, environments=16)
    policy = train_policy(world, steps=80_000, config=PPOConfig(segment=128), key=KEY).policy
    assert float(np.asarray(measure_returns([world], [policy], episodes=16, keys=[KEY])).mean()) > least


PENDULUM, CART = physics.make("pendulum"), physics.make("cart-pole")
REFUSED = {
    "make one with robustirl.envs.physics.make(name)": lambda: list_worlds("pendulum"),
    "make one with robustirl.envs.from_gymnasium_vector": lambda: list_worlds(SimpleNamespace(observation_space=3)),
    "worlds of numbered states are for robustirl.RobustIRL": lambda: list_worlds(envs.make("three-state")),
    "the world is []": lambda: list_worlds([]),
    "key is None, but a key of JAX is needed": lambda: as_key(None),
    "world 1 is of another kind than world 0": lambda: train_policies([PENDULUM, CART], keys=[KEY] * 2),
    "2 worlds and 1 keys were given": lambda: train_policies([PENDULUM] * 2, keys=[KEY]),
    "0 worlds and 0 keys": lambda: train_policies([], keys=[]),
    "steps is 5, but a whole number of at least 4096": lambda: train_policy(PENDULUM, steps=5, key=KEY),
    "config is 7, but a PPOConfig is needed": lambda: train_policy(PENDULUM, config=7, key=KEY),
    "the horizon is 0": lambda: train_policy(PENDULUM, horizon=0, key=KEY),
    "horizon is 7, but environments that step themselves": lambda: train_policy(Scripted(), horizon=7, key=KEY),
    "takes 3 numbers of a state and gives 2 of an action": lambda: require_policy(PENDULUM, linear_policy(3, 2)),
    "the policy is a function, but a GaussianPolicy": lambda: measure_returns([PENDULUM], [print], keys=[KEY]),
    "the reward does not take what the world shows, 4 numbers a state": lambda: train_policy(
        CART, reward=lambda before, after: (after @ jnp.ones((3, 1)))[..., 0], key=KEY
    ),
    "needs about": lambda: train_policy(
        PENDULUM, steps=10**9, config=PPOConfig(environments=2**15, segment=2**14), key=KEY
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
@pytest.mark.usefixtures("mistyped")
def test_what_cannot_be_used_is_refused(sentence, refused):
    with refused(sentence.replace("a function", "a builtin_function_or_method")):
        REFUSED[sentence]()
