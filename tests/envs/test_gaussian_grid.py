"""GaussianGrid against the paper's formulas."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control.worlds import RewardedWorld
from robustirl.envs.gaussian_grid import PUBLISHED_SCALES, GaussianGrid

POINTS = np.array([[-1.0, 1.0], [0.0, 0.0], [0.3, -0.2], [0.95, -0.95], [1.0, -1.0], [0.949, -1.0], [1.0, 1.0]])
HEARD, UNHEARD = jnp.array([0.9, 0.25, 1.0 - 1e-9]), jnp.array([0.0, 0.25, 1.0 - 1e-9])


@pytest.mark.parametrize("scales", [(1.0,) * 7, PUBLISHED_SCALES])
def test_the_reward_is_the_papers_and_linear_in_the_features(scales):
    world = GaussianGrid(scales=scales)
    for x, y in POINTS:
        goal = x >= 0.95 and y <= -0.95
        expected = -((x - 1) ** 2) - (y + 1) ** 2 - 80 * math.exp(-8 * (x * x + y * y)) + 10 * goal
        state = jnp.array([x, y])
        np.testing.assert_allclose(world.reward(state), expected, rtol=1e-12)
        np.testing.assert_allclose(world.true_weights @ world.features(state), expected, rtol=1e-12)
        assert bool(world.terminal(state)) == goal


def test_the_features_are_the_papers_times_their_scales():
    state = jnp.array([0.3, -0.2])
    plain = [0.09, 0.04, 0.3, -0.2, math.exp(-8 * 0.13), 0.0, 1.0]
    np.testing.assert_allclose(GaussianGrid().features(state), plain)
    np.testing.assert_allclose(
        GaussianGrid(scales=PUBLISHED_SCALES).features(state), plain * np.array(PUBLISHED_SCALES)
    )


def test_an_action_heard_moves_by_a_tenth_of_it_within_the_square():
    world = GaussianGrid(0.2)
    np.testing.assert_allclose(world.step(jnp.zeros(2), jnp.array([0.2, -0.3]), HEARD), [0.02, -0.03])
    np.testing.assert_allclose(world.step(jnp.zeros(2), jnp.array([9.0, -9.0]), HEARD), [0.05, -0.05])
    np.testing.assert_allclose(world.step(jnp.array([-1.0, 0.99]), jnp.array([-0.5, 0.5]), HEARD), [-1.0, 1.0])


def test_noise_pushes_towards_the_origin_or_away_or_acts_uniformly():
    towards, uniform = GaussianGrid(0.2), GaussianGrid(0.2, noise_model="uniform-action")
    state, action = jnp.array([0.6, -0.8]), jnp.array([0.5, 0.5])
    np.testing.assert_allclose(towards.step(state, action, UNHEARD), [0.54, -0.72])
    away = GaussianGrid(0.2, noise_model="away-from-origin")
    np.testing.assert_allclose(away.step(state, action, UNHEARD), [0.66, -0.88])
    np.testing.assert_allclose(uniform.step(state, action, UNHEARD), [0.575, -0.75], atol=1e-9)
    np.testing.assert_allclose(towards.step(jnp.zeros(2), action, UNHEARD), [0.0, 0.0])
    assert np.isfinite(jax.jacobian(towards.step)(jnp.zeros(2), action, UNHEARD)).all()


@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_noise_strikes_with_its_probability(noise):
    draws = np.random.default_rng(0).random((20_000, 3))
    world = GaussianGrid(noise)
    after = jax.vmap(lambda d: world.step(jnp.array([0.0, 1.0]), jnp.array([0.5, 0.0]), d))(jnp.asarray(draws))
    share = float((np.asarray(after)[:, 0] == 0).mean())
    assert abs(share - noise) <= 4 * math.sqrt(noise * (1 - noise) / 20_000)


def test_it_is_a_world():
    assert isinstance(GaussianGrid(), RewardedWorld)


@pytest.mark.parametrize(
    ("given", "culprit"),
    [
        ({"noise": -0.1}, "the noise is -0.1"),
        ({"noise": float("nan")}, "the noise is nan"),
        ({"scales": (1.0,) * 6}, "seven"),
        ({"scales": (0.0,) * 7}, "seven"),
        ({"noise_model": "windy"}, "'windy'"),
        ({"discount": 1.5}, "1.5"),
    ],
)
def test_bad_settings_are_refused(given, culprit, refused):
    with refused(culprit):
        GaussianGrid(**given)
