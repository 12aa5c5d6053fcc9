"""A budget that actions share: closed forms and brute force."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from robustirl._runtime import working_precision
from robustirl.mdp import MDP
from robustirl.theory import as_uncertainty
from robustirl.theory.shared_ball import SharedBall
from robustirl.theory.uncertainty import Ball

COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)


def random_world(seed=0, states=3, actions=2):
    rng = np.random.default_rng(seed)
    return MDP(rng.dirichlet(np.ones(states), (states, actions)), discount=0.9, initial=rng.dirichlet(np.ones(states)))


@working_precision
def test_a_shared_budget_of_one_action_is_the_ball():
    value = jnp.array([1.0, 0.0])
    shared, ball = (as_uncertainty(COIN, radius=0.4, kind=kind) for kind in ("shared", "ball"))
    assert (type(shared), type(ball)) == (SharedBall, Ball)
    np.testing.assert_allclose(shared.lowest(value), ball.lowest(value), rtol=1e-12)


@working_precision
def test_like_actions_share_evenly():
    twice = MDP([[[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2], discount=0.5)
    found = as_uncertainty(twice, radius=0.4, kind="shared").lowest(jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(found, 0.4, rtol=1e-12)  # Each loses 0.1 of its 0.5.


@working_precision
def test_a_budget_that_is_split_by_hand():
    """Mass of the first action counts double until it has lost (τ/γ) log 2; what is left takes as much from both."""
    rows = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]  # Both are worth 1 under V = (2, 1, 0).
    world = MDP([rows] * 3, discount=0.5)
    found = as_uncertainty(world, radius=0.5, kind="shared", temperature=0.3).lowest(jnp.array([2.0, 1.0, 0.0]))
    first = 0.6 * np.log(2)
    second_loss = (0.25 - first / 2) / 1.5  # Of the mass 0.25: (first + x) / 2 off the first action, x off the second.
    np.testing.assert_allclose(found[0], [1 - first - second_loss, 1 - second_loss], rtol=1e-12)


@working_precision
@pytest.mark.parametrize("temperature", [0.3, 2.0])
def test_a_shared_budget_against_brute_force(temperature):
    """min τ log Σ exp(γ T'_a·V / τ) over all rows within the budget, by a general solver."""
    world, value = random_world(2), np.array([0.3, -1.0, 2.0])
    shared = as_uncertainty(world, radius=0.5, kind="shared", temperature=temperature)
    kernel = np.asarray(shared.kernel(jnp.asarray(value)).to_array())
    rows = np.asarray(world.kernel.to_array())
    np.testing.assert_allclose(np.abs(kernel - rows).sum((-2, -1)), 0.5, atol=1e-9)
    assert np.all(kernel >= -1e-15)

    def objective(rows):
        return temperature * np.log(np.exp(0.9 * rows @ value / temperature).sum())

    for state in range(3):
        # Variables: mass taken off each successor of each action; it goes to the state of the lowest value, 1.
        def moved(taken, own=rows[state]):
            out = own - taken.reshape(2, 3)
            out[:, 1] += taken.reshape(2, 3).sum(-1)
            return objective(out)

        found = scipy.optimize.minimize(
            moved,
            np.full(6, 0.01),
            bounds=[(0, mass) for mass in rows[state].ravel()],
            constraints={"type": "ineq", "fun": lambda taken: 0.25 - taken.sum()},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert objective(kernel[state]) <= found.fun + 1e-9
        assert objective(kernel[state]) == pytest.approx(found.fun, abs=1e-6)
