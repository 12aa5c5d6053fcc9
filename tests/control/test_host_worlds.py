# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""Gymnasium's vector environments as worlds: steps, ends of episodes in every autoreset mode, learning, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import PPOConfig, linear_policy, measure_returns, train_policy
from robustirl.control.host_training import collect_segment
from robustirl.control.networks import Scale
from robustirl.control.policy_gradient import Players
from robustirl.control.segments import Walkers
from robustirl.demonstrations import record
from robustirl.envs import from_gymnasium_vector
from robustirl.errors import InvalidInputError
from robustirl.irl import ImitationConfig, RobustImitation, fit_imitation

gymnasium = pytest.importorskip("gymnasium")
KEY = jax.random.key(0)
ALONE = jnp.ones(())
SMALL = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))


def _vector(mode, count=3, name="CartPole-v1", **options):
    kwargs = {} if mode is None else {"vector_kwargs": {"autoreset_mode": mode}}
    return gymnasium.make_vec(name, num_envs=count, vectorization_mode="sync", **kwargs, **options)


def _walk(world, steps, key=KEY):
    policy = linear_policy(world.width, world.action_size)
    seen = jnp.asarray(world.reset())
    walkers = Walkers(seen, jnp.zeros(len(seen), int), jnp.zeros(len(seen)))
    return collect_segment(world, Players(policy, policy), Scale.empty(world.width), ALONE, walkers, steps, key)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_rows_are_steps_whatever_the_mode_of_beginning_anew(mode):
    world = from_gymnasium_vector(_vector(gymnasium.vector.AutoresetMode(mode)), seed=1)
    walkers, rows = _walk(world, 60)
    assert rows.over.sum() >= 3  # A policy that acts at random keeps the pole up for some twenty steps.
    going_on = ~rows.over[:-1]
    np.testing.assert_allclose(rows.next_features[:-1][going_on], rows.features[1:][going_on], rtol=1e-6)
    fallen = (np.abs(rows.next_features[..., 2]) > 0.2095) | (np.abs(rows.next_features[..., 0]) > 2.4)
    np.testing.assert_array_equal(fallen, rows.terminated)  # The last observation is that of the fall.
    assert np.abs(rows.features[1:][~going_on]).max() <= 0.05  # What follows is a start.
    assert (rows.paid == 1).all()
    np.testing.assert_array_equal(rows.returns[rows.over], rows.lengths[rows.over])
    assert rows.lengths.sum() + np.asarray(walkers.ages).sum() == 60 * 3


def test_environments_that_begin_anew_by_themselves_repeat_a_step_meanwhile():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
    world = from_gymnasium_vector(envs, seed=1)
    walkers, rows = _walk(world, 60)
    ended = rows.lengths > 0
    place, env = (int(part[0]) for part in np.nonzero(ended[:-1]))
    for part in (rows.features, rows.next_features, rows.actions, rows.paid, rows.terminated, rows.over):
        np.testing.assert_array_equal(part[place + 1, env], part[place, env])
    assert not ended[place + 1, env]
    assert np.isnan(rows.returns[place + 1, env])
    assert np.abs(rows.features[place + 2, env]).max() <= 0.05
    counted = rows.lengths.sum() + np.asarray(walkers.ages).sum()
    assert counted == 60 * 3 - ended[:-1].sum()


def test_a_horizon_cuts_episodes_off_and_the_last_state_is_kept():
    world = from_gymnasium_vector(_vector(None, count=2, name="Pendulum-v1"), horizon=5, features=lambda o: o[:, :2])
    _, rows = _walk(world, 12)
    assert (world.width, world.action_size) == (2, 1)
    np.testing.assert_array_equal(np.flatnonzero(rows.over[:, 0]), [4, 9])
    assert not rows.terminated.any()


def test_the_largest_of_some_numbers_is_a_discrete_action():
    world = from_gymnasium_vector("Acrobot-v1", environments=2)
    np.testing.assert_array_equal(world._as_actions(np.array([[0.1, 0.9, 0.2], [3.0, 0.0, -1.0]])), [1, 0])
    box = from_gymnasium_vector("MountainCarContinuous-v0", environments=2)
    np.testing.assert_array_equal(box._as_actions(np.array([[7.0], [-0.5]])), np.float32([[1.0], [-0.5]]))
    table = from_gymnasium_vector("FrozenLake-v1", environments=2)
    assert (table.width, table.action_size, table.reset().sum(1).tolist()) == (16, 4, [1.0, 1.0])


@pytest.mark.slow
def test_a_fit_in_a_vector_environment_has_a_verdict():
    world = from_gymnasium_vector("CartPole-v1", environments=8)
    seen = record(world, linear_policy(4, 2), episodes=3, key=KEY).without_actions()
    assert (len(seen), seen.width, all(seen.terminated)) == (3, 4, True)
    model = RobustImitation(alpha=0.9, config=SMALL).fit(world, seen)
    assert model.fit_.verdict.status.value == "budget"
    assert int(model.fit_.verdict.updates) == 2
    assert model.predict(np.zeros(4)).shape == (2,)
    returns = np.asarray(measure_returns([world], [model.policy_], episodes=2, keys=[KEY]))
    assert returns.shape == (1, 2)
    assert (returns >= 5).all()


def test_bad_input_is_refused():
    with pytest.raises(InvalidInputError, match="the environments are a TimeLimit, but a gymnasium"):
        from_gymnasium_vector(gymnasium.make("Pendulum-v1"))
    with pytest.raises(InvalidInputError, match="Gymnasium cannot make 'Pendulum-v99'"):
        from_gymnasium_vector("Pendulum-v99")
    with pytest.raises(InvalidInputError, match="the observation space is Tuple"):
        from_gymnasium_vector("Blackjack-v1")
    world = from_gymnasium_vector("CartPole-v1", environments=2)
    seen = record(world, linear_policy(4, 2), episodes=1, key=KEY)
    with pytest.raises(InvalidInputError, match="horizon is 7, but environments that step themselves"):
        fit_imitation(world, seen, config=SMALL, horizon=7, key=KEY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "steps", "least"), [("CartPole-v1", 80_000, 300), ("Acrobot-v1", 80_000, -200), ("Pendulum-v1", 0, -1700)]
)
def test_policies_learn_in_gymnasium_s_worlds(name, steps, least):
    world = from_gymnasium_vector(name, environments=16)
    config = PPOConfig(segment=128)
    policy = train_policy(world, steps=max(steps, config.batch), config=config, key=KEY).policy
    assert float(np.asarray(measure_returns([world], [policy], episodes=16, keys=[KEY])).mean()) > least
