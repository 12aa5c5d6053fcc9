"""Steps of the default method on a quadratic landscape, beside NumPy from the formulas."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.mce.descent import PathState, _lowered, is_newton_path, newton_path
from tests.irl.mce.quadratic import GRADIENT, THETA, VALUE, H, steep_height

SCALES = np.array([1.0, 2.0, 0.5])
WEIGHTS = np.array([0.5, 0.3, 0.2])


@jax.jit
def _step(state, steepness, entropy):
    landscape = SimpleNamespace(
        scales=lambda: SCALES,
        curvature=SimpleNamespace(solve=lambda right, penalty: jnp.linalg.solve(H + jnp.diag(penalty), right)),
        entropy=entropy,
        objective=lambda theta: (steep_height(theta, steepness), jnp.array(True)),
        magnitude=jnp.array(1.0),
    )
    return newton_path().update(GRADIENT, state, jnp.asarray(THETA), value=VALUE, landscape=landscape)


def _expected(state, steepness):
    """The step by the formulas: λ and the weights first, then the longest of the lengths that lowers F enough."""
    g, theta = GRADIENT / SCALES, THETA * SCALES
    gap = np.abs(g).sum()
    ridge, weights = state.ridge, np.asarray(state.weights)
    if np.abs(g + ridge * weights * theta).sum() <= 0.3 * gap:
        raw = np.maximum(np.abs(g), 0.05 * gap / 3)
        ridge, weights = 0.3 * ridge, raw / raw.sum()
    penalty = ridge * weights * SCALES**2
    slope_vector = GRADIENT + penalty * THETA
    direction = -np.linalg.solve(H + np.diag(penalty), slope_vector)

    def height(theta):
        return steep_height(theta, steepness) + penalty @ theta**2 / 2

    length = 1.0
    while height(THETA + length * direction) > height(THETA) + 1e-4 * length * slope_vector @ direction + 1e-12:
        length /= 4
    return ridge, weights, length, length * direction


@pytest.mark.parametrize(("steepness", "length"), [(1.0, 1.0), (5.0, 0.25), (20.0, 0.0625)])
@pytest.mark.parametrize("ridge", [1e-2, 20.0])
def test_a_step_is_that_of_the_formulas(steepness, length, ridge):
    state = PathState(jnp.array(ridge), jnp.asarray(WEIGHTS), jnp.array(3.0), jnp.array(4))
    moved, after = _step(state, jnp.array(steepness), jnp.array(1.0))
    new_ridge, weights, cut, expected = _expected(state, steepness)
    if ridge < 1:
        assert cut == length
    np.testing.assert_allclose(moved, expected, rtol=1e-9)
    np.testing.assert_allclose([after.ridge, *after.weights], [new_ridge, *weights], rtol=1e-12)
    gap = np.abs(GRADIENT / SCALES).sum()
    np.testing.assert_allclose(after.gap, gap)
    assert int(after.idle) == 0


def test_a_step_is_not_taken_where_nothing_is_gained():
    state = PathState(jnp.array(1e-2), jnp.asarray(WEIGHTS), jnp.array(3.0), jnp.array(0))
    # Too steep for ten cuts: 4⁻¹⁰ of a step is the shortest that is tried.
    assert not np.any(_step(state, jnp.array(5e6), jnp.array(1.0))[0])
    assert np.any(_step(state, jnp.array(5e5), jnp.array(1.0))[0])
    # Settled, where the gap times the reward, here 0.94, is worth more than 100 times what entropy can buy.
    worth = np.abs(GRADIENT / SCALES).sum() * np.abs(THETA * SCALES).max()
    assert np.any(_step(state, jnp.array(1.0), jnp.array(worth / 99))[0])
    assert not np.any(_step(state, jnp.array(1.0), jnp.array(worth / 101))[0])


def test_when_the_ridge_falls_and_the_fit_settles():
    gradient, theta = jnp.array([0.6, -0.2, 0.0]), jnp.array([-2.0, 1.0, 5.0])
    lowered = jax.jit(_lowered)

    def after(ridge=1.0, weights=(0.3, 0.2, 0.5), gap=2.0, idle=0):
        given = PathState(jnp.array(ridge), jnp.array(weights), jnp.array(gap), jnp.array(idle))
        found, settled = lowered(given, gradient, theta)
        return found, bool(settled)

    # Left are |0.6 - 0.6|, |-0.2 + 0.2| and 2.5 of a parameter without a gradient: too much.
    found, settled = after()
    np.testing.assert_allclose([found.ridge, *found.weights], [1.0, 0.3, 0.2, 0.5])
    assert not settled
    # Without it nothing is left: weights are shares of |g| among parameters with a gradient, the floor 0.05 · 0.8 / 2.
    found, _ = after(weights=(0.3, 0.2, 0.0))
    np.testing.assert_allclose([found.ridge, *found.weights], [0.3, 0.75, 0.25, 0.025])
    # At the first step weights are alike, one half each; left are 0.4, 0.3 and 2.5.
    np.testing.assert_allclose(after(gap=np.inf)[0].weights, [0.5, 0.5, 0.5])
    # At most 0.99 of the smallest gap is progress: 0.8 beside 0.81 and 0.8.
    for smallest, idle, kept in ((0.81, 0, 0.8), (0.8, 4, 0.8), (0.79, 4, 0.79)):
        found, _ = after(gap=smallest, idle=3)
        assert int(found.idle) == idle
        np.testing.assert_allclose(found.gap, kept)
    assert [after(gap=0.5, idle=idle)[1] for idle in (13, 14)] == [False, True]
    assert [after(ridge=ridge)[1] for ridge in (1e-9, 0.9e-9)] == [False, True]


def test_the_beginning_of_the_path():
    state = newton_path().init({"a": jnp.zeros(3), "b": jnp.zeros(1)})
    np.testing.assert_allclose([state.ridge, *state.weights], [1e-2, 0.25, 0.25, 0.25, 0.25])
    assert np.isinf(state.gap)
    assert is_newton_path(newton_path())
    assert not is_newton_path(None)
