"""GaussianGrid against the paper's formulas, and its Gymnasium version against itself."""

import inspect
import math
import subprocess
import sys

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from robustirl.control.interface import RewardedWorld
from robustirl.envs.gaussian_grid import GAUSSIAN_NOISE_MODELS as NOISE_MODELS
from robustirl.envs.gaussian_grid import PUBLISHED_SCALES, GaussianGrid
from robustirl.envs.gymnasium.continuous import gaussian_grid_env, register_gaussian_grid

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


@pytest.mark.parametrize("noise_model", NOISE_MODELS)
def test_both_versions_walk_the_same_path_from_the_same_draws(noise_model):
    draws = np.random.default_rng(1).random((80, 3))
    actions = np.random.default_rng(2).normal(size=(80, 2)) * 0.4 + [0.3, -0.3]
    world = GaussianGrid(0.3, noise_model=noise_model, scales=PUBLISHED_SCALES)
    env = gaussian_grid_env(0.3, noise_model=noise_model, scales=PUBLISHED_SCALES)

    def step(state, inputs):
        after = world.step(state, *inputs)
        return after, (after, world.reward(after), world.terminal(after), world.features(after))

    start = world.initial(key=jax.random.key(0))
    _, expected = jax.jit(lambda: jax.lax.scan(step, start, (jnp.asarray(actions), jnp.asarray(draws))))()
    first, info = env.reset(options={"draws": draws})
    np.testing.assert_array_equal(first, start)
    np.testing.assert_array_equal(info["features"], world.features(start))
    for index, action in enumerate(actions):
        state, reward, terminated, truncated, info = env.step(action)
        np.testing.assert_allclose(state, expected[0][index], rtol=0, atol=1e-14)
        np.testing.assert_allclose(float(reward), expected[1][index], rtol=1e-12)
        assert (terminated, truncated) == (bool(expected[2][index]), False)
        np.testing.assert_allclose(info["features"], expected[3][index], rtol=1e-12, atol=1e-14)


def test_the_spaces_are_the_square_and_the_bounds_of_the_world():
    env = gaussian_grid_env()
    assert (env.observation_space.low.tolist(), env.observation_space.high.tolist()) == ([-1.0] * 2, [1.0] * 2)
    low, high = GaussianGrid().bounds
    assert (env.action_space.low.tolist(), env.action_space.high.tolist()) == (list(low), list(high))


def test_gymnasiums_own_checker_is_content():
    check_env(gymnasium.make(register_gaussian_grid(), noise=0.1).unwrapped)


def test_the_gymnasium_version_is_seeded_and_truncates():
    env = gaussian_grid_env(0.5, horizon=3)
    paths = []
    for _ in range(2):
        env.reset(seed=7)
        steps = [env.step(np.array([0.1, 0.1])) for _ in range(3)]
        paths.append([state.tolist() for state, *_ in steps])
        assert [truncated for *_, truncated, _ in steps] == [False, False, True]
    assert paths[0] == paths[1]


def test_importing_the_package_leaves_gymnasium_alone():
    program = (
        "import sys; import robustirl.envs.gymnasium.continuous, robustirl.control.vector;"
        " assert 'gymnasium' not in sys.modules; sys.modules['gymnasium'] = None;"
        " robustirl.envs.gymnasium.continuous.gaussian_grid_env()"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert "InvalidInputError" in run.stderr
    assert "robustirl[gymnasium]" in run.stderr


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan"), "0.1", [0.1, 0.2]])
def test_a_noise_that_is_no_probability_is_refused(noise, refused):
    with refused("noise", repr(noise)):
        _unchecked(noise)


@pytest.mark.parametrize("scales", [(1.0,) * 6, (0.0,) * 7, (float("inf"),) * 7])
def test_bad_scales_are_refused(scales, refused):
    with refused("feature scales", "seven"):
        GaussianGrid(scales=scales)


def test_other_bad_settings_are_refused(refused):
    with refused("noise model", "'windy'", "uniform-action"):
        GaussianGrid(noise_model="windy")
    with refused("discount", "1.5"):
        GaussianGrid(discount=1.5)
    env = gaussian_grid_env()
    with refused("draws", "(3,)"):
        env.reset(options={"draws": np.zeros(3)})
    env.reset(options={"draws": np.zeros((1, 3))})
    env.step(np.zeros(2))
    with refused("step 1", "1 rows"):
        env.step(np.zeros(2))


def _unchecked(noise):
    inspect.unwrap(GaussianGrid.__init__)(object.__new__(GaussianGrid), noise)
