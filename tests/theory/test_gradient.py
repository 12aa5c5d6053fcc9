"""The gradient theorem against finite differences and automatic differentiation, implicit and unrolled."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import soft_backup, state_action_occupancy, state_occupancy
from robustirl.theory.existence import find_matching_policy
from robustirl.theory.gradient import log_loss, log_loss_gradient, soft_value
from tests.planners import newton
from tests.strategies import policies, vectors, worlds


@st.composite
def problems(draw):
    """A world, a reward, and any policy: whatever it is, it matches its own occupancy."""
    world = draw(worlds(shapes=((5, 4),), discounts=(0.5, 0.9)))
    return world, draw(vectors(world.num_states, scales=(1.0, 3.0))), draw(policies(world))


@hypothesis.given(problems())
def test_the_theorem_agrees_with_finite_differences(problem):
    world, reward, policy = problem
    step = 1e-5
    numeric = [
        (log_loss(world, reward + step * e, policy) - log_loss(world, reward - step * e, policy)) / (2 * step)
        for e in np.eye(world.num_states)
    ]
    assert np.allclose(numeric, log_loss_gradient(world, reward, policy), atol=1e-6)


@hypothesis.given(problems())
def test_the_theorem_agrees_with_implicit_differentiation(problem):
    world, reward, policy = problem
    found = jax.grad(lambda r: log_loss(world, r, policy))(jnp.asarray(reward, dtype=float))
    assert jnp.allclose(found, log_loss_gradient(world, reward, policy), atol=1e-9)


@hypothesis.given(problems())
def test_the_theorem_agrees_with_differentiation_through_value_iteration(problem):
    world, reward, policy = problem
    weights = state_action_occupancy(world, policy)

    def unrolled(r):
        def sweep(value, _):
            return soft_backup(world, r, value)[0], None

        value, _ = jax.lax.scan(sweep, jnp.zeros_like(r), length=400)
        q = r[:, None] + world.discount * world.kernel.expect(value)
        return jnp.sum(weights * jnp.where(world.mask, value[:, None] - q, 0))

    found = jax.grad(unrolled)(jnp.asarray(reward, dtype=float))
    assert jnp.allclose(found, log_loss_gradient(world, reward, policy), atol=1e-8)


@hypothesis.given(problems())
def test_the_log_loss_is_the_dual(problem):
    world, reward, policy = problem
    value = newton(MarkovGame(world), reward).value
    dual = (1 - world.discount) * world.initial @ value - state_occupancy(world, policy) @ reward
    assert log_loss(world, reward, policy) == pytest.approx(float(dual), abs=1e-7)


def test_every_matching_policy_shares_the_gradient():
    # Two identical actions: policies that differ in them have the same occupancy.
    kernel = np.zeros((3, 3, 3))
    kernel[:, 0, 1] = kernel[:, 1, 1] = kernel[:, 2, 2] = 1
    world = MDP(kernel, discount=0.9)
    reward = np.array([0.3, -1.0, 2.0])
    one, other = np.tile([0.7, 0.0, 0.3], (3, 1)), np.tile([0.2, 0.5, 0.3], (3, 1))
    assert jnp.allclose(state_occupancy(world, one), state_occupancy(world, other))
    assert jnp.allclose(log_loss_gradient(world, reward, one), log_loss_gradient(world, reward, other))
    assert log_loss(world, reward, one) == pytest.approx(float(log_loss(world, reward, other)))


def test_the_matching_policy_of_the_linear_program_serves_as_well():
    rng = np.random.default_rng(0)
    world = MDP(rng.dirichlet(np.ones(4), size=(4, 3)), discount=0.8)
    expert = newton(MarkovGame(world), rng.normal(size=4)).player
    matching = find_matching_policy(world, state_occupancy(world, expert)).policy
    reward = rng.normal(size=4)
    assert jnp.allclose(log_loss_gradient(world, reward, expert), log_loss_gradient(world, reward, matching), atol=1e-7)


def test_the_differentiable_value_is_the_value():
    world = MDP(np.random.default_rng(1).dirichlet(np.ones(4), size=(4, 2)), discount=0.95)
    reward = jnp.array([1.0, -2.0, 0.0, 0.5])
    assert jnp.allclose(soft_value(world, reward), newton(MarkovGame(world), reward).value, atol=1e-9)
