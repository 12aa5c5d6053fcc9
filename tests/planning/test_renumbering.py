"""Games in another order of their states: what differs by state goes along."""

import jax.numpy as jnp
import numpy as np

from robustirl.mdp import MDP, MarkovGame, SuccessorKernel, renumbering
from robustirl.planning import Temperatures, ValueIteration, solve
from robustirl.planning.operators import two_player_backup
from robustirl.planning.problem import planning_problem
from robustirl.planning.renumbering import in_good_order


def test_alpha_goes_with_its_states_when_they_are_renumbered(monkeypatch):
    """The limits of size are lowered, so that a small ring in a random order is renumbered."""
    monkeypatch.setattr(renumbering, "LEAST_STATES", 2)
    monkeypatch.setattr(renumbering, "FAR", 1)
    monkeypatch.setattr(renumbering, "LEAST_GAIN", 1)
    rng = np.random.default_rng(0)
    place = rng.permutation(64)
    after = np.empty((64, 2, 1), int)
    after[place, 0, 0], after[place, 1, 0] = np.roll(place, -1), np.roll(place, 1)
    world = MDP(SuccessorKernel(after, np.ones((64, 2, 1))), discount=0.5)
    alpha, reward = rng.uniform(0.5, 1, (64, 2)), rng.normal(size=64)
    problem = planning_problem(MarkovGame(world, alpha), reward, Temperatures(), None, None)
    moved, order = in_good_order(problem)
    assert order is not None
    np.testing.assert_array_equal(moved.game.alpha, alpha[np.asarray(order.order)])
    found = solve(MarkovGame(world, alpha), reward, solver=ValueIteration())
    np.testing.assert_array_equal(found.alpha, alpha)
    backup = two_player_backup(MarkovGame(world, alpha), jnp.asarray(reward), jnp.asarray(found.value))
    np.testing.assert_allclose(backup.value, found.value, atol=1e-7)
