"""The pendulum and the adapter of functional environments, against Gymnasium's own Pendulum-v1."""

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import RewardedWorld, collect, evaluate, linear_policy
from robustirl.control.vector import collect_vector
from robustirl.envs.gymnasium.functional import FunctionalWorld
from robustirl.envs.pendulum import EQUATIONS, PendulumParameters, pendulum, pendulum_features
from tests.control.worlds import fast_key


@pytest.mark.parametrize(("length", "mass", "gravity"), [(1.0, 1.0, 10.0), (0.8, 1.3, 3.0)])
def test_a_step_is_that_of_gymnasium(length, mass, gravity):
    world = pendulum(length=length, mass=mass, gravity=gravity)
    env: Any = gymnasium.make("Pendulum-v1").unwrapped
    env.l, env.m, env.g = length, mass, gravity
    env.reset(seed=0)
    step = eqx.filter_jit(world.step)
    state = jnp.asarray([*env.state, 0.0])
    for action in np.random.default_rng(0).uniform(-3, 3, size=(50, 1)):
        shown, paid, *_ = env.step(action)
        state = step(state, jnp.asarray(action), jnp.zeros(1))
        np.testing.assert_allclose(state[:2], env.state, atol=1e-9)
        np.testing.assert_allclose(world.reward(state), paid, atol=1e-9)
        np.testing.assert_allclose(world.features(state), pendulum_features(jnp.asarray(shown, float)), atol=1e-5)
    assert abs(state[0]) > 1  # It has moved.
    env.close()


def test_the_vector_collector_on_gymnasium_gives_the_same_returns():
    """Both collectors, the same policy: returns agree within sampling error."""
    weights = jnp.zeros((7, 1)).at[2, 0].set(6.0).at[3, 0].set(-8.0).at[1, 0].set(-3.0)
    policy = linear_policy(7, 1, deviation=0.5)
    policy = type(policy)((weights,), (), policy.log_deviation)
    environments = gymnasium.make_vec("Pendulum-v1", num_envs=200, vectorization_mode="sync")
    theirs = collect_vector(environments, policy, features=pendulum_features, horizon=100, seed=0, key=fast_key(0))
    environments.close()
    ours = collect(pendulum(), policy, episodes=200, horizon=100, key=fast_key(1))
    assert theirs.observed_rewards is not None
    returns = [np.asarray(theirs.observed_rewards.sum(0)), np.asarray(ours.rewards(pendulum().reward).sum(0))]
    error = np.sqrt(sum(r.var(ddof=1) / len(r) for r in returns))
    assert abs(returns[0].mean() - returns[1].mean()) < 4 * error
    assert error < 0.1 * abs(returns[0].mean())
    np.testing.assert_array_equal(theirs.lengths, ours.lengths)
    # Another policy has other returns: the agreement above says something.
    still = evaluate(pendulum(), linear_policy(7, 1), episodes=200, horizon=100, key=fast_key(2))
    assert abs(float(still.mean_return) - returns[0].mean()) > 4 * error


def test_worlds_of_different_mass_stack_into_one_batch():
    worlds = [pendulum(mass=mass) for mass in (0.5, 2.0)]
    assert all(isinstance(world, RewardedWorld) for world in worlds)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)
    states = jax.vmap(lambda w: w.step(jnp.array([jnp.pi, 0.0, 0.0]), jnp.ones(1), jnp.zeros(1)))(stacked)
    np.testing.assert_allclose(states[:, 1], [0.3, 0.075])


def test_gymnasiums_own_functional_pendulum_fits_the_adapter():
    pytest.importorskip("flax", reason="gymnasium.envs.phys2d needs flax")
    from gymnasium.envs.phys2d.pendulum import PendulumFunctional, PendulumParams

    params: Any = PendulumParams
    world = FunctionalWorld(PendulumFunctional(), params(l=0.8, m=1.3), features=pendulum_features)
    own = pendulum(length=0.8, mass=1.3)
    state = jnp.array([2.0, -1.0, 0.0])
    for action in (-3.0, 0.5, 2.0):
        theirs, ours = (w.step(state, jnp.array([action]), jnp.array([0.3])) for w in (world, own))
        np.testing.assert_allclose(theirs, ours, atol=1e-6)
        state = own.step(state, jnp.array([action]), jnp.zeros(1))
    np.testing.assert_allclose(world.features(state), own.features(state), atol=1e-6)


def test_what_is_no_functional_environment_is_refused(refused):
    with refused("dict", "`initial`", "PendulumFunctional"):
        FunctionalWorld({})

    class Discrete(type(EQUATIONS)):
        action_space = gymnasium.spaces.Discrete(2)

    with refused("Discrete", "Box"):
        FunctionalWorld(Discrete())
    with refused("the mass", "-1.0"):
        pendulum(mass=-1.0)
    assert float(FunctionalWorld(EQUATIONS).params.length) == PendulumParameters().length
