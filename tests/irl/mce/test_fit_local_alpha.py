"""Fits whose α differs by state and action."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import RobustIRL
from robustirl._runtime import working_precision
from robustirl.envs import ThreeState
from robustirl.irl import fit, fit_many, load_fit, save_fit
from robustirl.irl.mce.curvature import Curvature
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import solve, state_occupancy

WORLD = ThreeState().mdp(noise=0.0)
RHO = [0.1, 0.8, 0.1]
ALPHA = np.array([[0.95, 1.0], [1.0, 1.0], [1.0, 1.0]])


def test_the_three_state_example_by_hand():
    """The mixture must lead to state 1 with probability 8/9, and does so when the player tries with 8/9/0.95."""
    found = fit(WORLD, RHO, alpha=ALPHA, tolerance=1e-8)
    assert found.player[0, 0] == pytest.approx(8 / 9 / 0.95, abs=1e-6)
    assert found.mixture[0, 0] == pytest.approx(8 / 9, abs=1e-7)
    np.testing.assert_array_equal(found.alpha, ALPHA)


def test_a_constant_array_learns_what_the_number_learns():
    number, array = (fit(WORLD, RHO, alpha=alpha, tolerance=1e-8) for alpha in (0.95, np.full(3, 0.95)))
    np.testing.assert_allclose(array.player, number.player, atol=1e-10)
    np.testing.assert_allclose(array.reward, number.reward, atol=1e-8)


@pytest.mark.slow
def test_ones_are_standard_irl():
    assert fit(WORLD, RHO, alpha=np.ones(3)).verdict.steps == fit(WORLD, RHO).verdict.steps


@pytest.mark.slow
def test_batches_mix_numbers_and_arrays():
    alone = fit(WORLD, RHO, alpha=ALPHA, steps=20)
    number = fit(WORLD, RHO, alpha=0.9, steps=20)
    batch = fit_many([WORLD] * 2, [RHO] * 2, [0.9, ALPHA], steps=20)
    np.testing.assert_allclose(batch[0].player, number.player, atol=1e-9)
    np.testing.assert_allclose(batch[1].player, alone.player, atol=1e-9)


@pytest.mark.slow
def test_padded_worlds_are_cut_back():
    """Eleven states are padded to sixteen; the array of α with them."""
    kernel = np.zeros((11, 2, 11))
    kernel[np.arange(11), 0, np.minimum(np.arange(11) + 1, 10)] = 1
    kernel[np.arange(11), 1, np.maximum(np.arange(11) - 1, 0)] = 1
    world = MDP(kernel, discount=0.8, initial=np.eye(11)[0])
    rho = state_occupancy(world, np.tile([0.8, 0.2], (11, 1)))
    alpha = np.linspace(0.8, 1, 22).reshape(11, 2)
    found = fit(world, rho, alpha=alpha, steps=5)
    np.testing.assert_array_equal(found.alpha, alpha)
    game = solve(MarkovGame(world, alpha), found.reward)
    np.testing.assert_allclose(found.player, game.player, atol=1e-8)
    np.testing.assert_allclose(found.occupancy, state_occupancy(world, game.mixture), atol=1e-8)


def test_files_and_summaries(tmp_path):
    model = RobustIRL(alpha=ALPHA, tolerance=1e-8).fit(WORLD, RHO)
    assert "α from 0.95 to 1 by state and action, as given" in model.summary()
    save_fit(model.fit_, tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.alpha, ALPHA)
    model.save(tmp_path / "model.npz")
    loaded = RobustIRL.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.alpha, ALPHA)
    np.testing.assert_array_equal(loaded.alpha_, ALPHA)


@working_precision
def test_the_curvature_is_the_derivative_of_the_occupancy():
    world = MDP(np.random.default_rng(3).dirichlet(np.ones(3), (3, 2)), discount=0.9, initial=[0.2, 0.3, 0.5])
    game = MarkovGame(world, [[0.8, 0.6], [0.9, 0.7], [0.5, 1.0]])
    reward, step = np.array([0.5, 2.0, 1.0]), 1e-4

    def occupancy(reward):
        return np.asarray(state_occupancy(world, solve(game, reward).mixture))

    numeric = [(occupancy(reward + step * e) - occupancy(reward - step * e)) / (2 * step) for e in np.eye(3)]
    found = solve(game, reward)
    curvature = Curvature(
        game,
        jnp.asarray(found.player),
        jnp.asarray(found.opponent),
        jnp.asarray(found.mixture),
        jnp.asarray(occupancy(reward)),
        None,
        temperature=1.0,
    )
    matrix = curvature.matrix()
    np.testing.assert_allclose(matrix, np.array(numeric).T, atol=1e-6)
    direction = jnp.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(curvature.apply(direction), matrix @ direction, atol=1e-10)
