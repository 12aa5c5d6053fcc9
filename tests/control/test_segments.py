"""Segments of many episodes: where they begin anew, in which world, at which age, and in which units."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import single_precision
from robustirl.control import network_policy
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo import as_field, folded
from robustirl.control.segments import Field, Walkers, start, walk
from robustirl.envs import physics
from tests.control.worlds import Line


def test_episodes_that_end_begin_anew():
    with single_precision():
        world = physics.make("cart-pole")
        field = Field(world, each=False)
        policy = network_policy(4, 1, hidden=(4,), key=jax.random.key(0))
        walkers = start(field, 6, 1000, jax.random.key(1))
        onwards, segment = eqx.filter_jit(walk)(
            field,
            Players(policy, policy),
            Scale.empty(4),
            jnp.array(0.5),
            walkers,
            steps=60,
            horizon=1000,
            key=jax.random.key(2),
        )
    over = np.asarray(segment.over)
    assert over.any()
    assert (over == np.asarray(segment.terminated)).all()  # Nothing was cut off.
    assert np.isnan(np.asarray(segment.returns)[~over]).all()
    ages = np.asarray(walkers.ages)
    for column in range(6):
        ends = np.flatnonzero(over[:, column])
        if len(ends):
            first = ends[0] + 1
            assert np.asarray(segment.lengths)[ends[0], column] == first + ages[column]
            assert np.asarray(segment.returns)[ends[0], column] == first  # One a step since the segment began.
    assert 0.3 < np.asarray(segment.by_player).mean() < 0.7
    assert np.abs(np.asarray(onwards.states)[:, 2]).max() < 0.3


def test_several_worlds_are_spread_over_the_environments():
    worlds = [physics.make("pendulum", mass=mass) for mass in (1.0, 2.0, 3.0)]
    field = as_field(worlds, 7)
    np.testing.assert_allclose(field.world.parameters["mass"], [1, 2, 3, 1, 2, 3, 1])


class Echo(eqx.Module):
    """The state is the last action."""

    draw_size = 1

    def initial(self, *, key):
        del key
        return jnp.zeros(2)

    def step(self, state, action, draws):
        del state, draws
        return action

    def terminal(self, state):
        del state
        return jnp.zeros((), bool)

    def features(self, state):
        return state


def test_policies_act_in_units_of_the_largest_action():
    with single_precision():
        policy = GaussianPolicy((jnp.eye(2), jnp.ones((2, 2))), (jnp.ones(2),), jnp.log(jnp.array([0.5, 0.6])))
        walkers, units = Walkers(jnp.zeros((3, 2)), jnp.zeros(3, int), jnp.zeros(3)), jnp.array([2.0, 3.0])
        field, scale, key = Field(Echo(), each=False), Scale.empty(2), jax.random.key(0)
        players, alone = Players(policy, policy), jnp.ones(())
        _, taken = walk(field, players, scale, alone, walkers, steps=1, horizon=9, units=units, key=key)
        np.testing.assert_allclose(taken.next_features, taken.actions * units, rtol=1e-6)
        np.testing.assert_allclose(taken.log_densities, policy.log_density(taken.features, taken.actions), rtol=1e-5)
        whole, seen = folded(policy, scale, units), jnp.array([0.3, -0.2])
        np.testing.assert_allclose(whole.mean(seen), policy.mean(seen) * units, rtol=1e-6)
        np.testing.assert_allclose(whole.deviation, [1.0, 1.8], rtol=1e-6)


def test_episodes_begin_at_ages_spread_over_half_of_the_horizon():
    with single_precision():
        field = Field(Line([0.0, -1.0, 5.0]), each=False)
        walkers = start(field, 4, 11, jax.random.key(0))
    assert walkers.ages.tolist() == [0, 1, 2, 3]  # 5 · n // 4.
    np.testing.assert_array_equal(walkers.states, [[1.0]] * 4)
    assert not walkers.totals.any()
