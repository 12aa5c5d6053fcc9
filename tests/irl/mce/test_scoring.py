"""Steps of Fisher scoring on a quadratic landscape, beside NumPy from the formulas."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.mce.descent import newton_path
from robustirl.irl.mce.scoring import FALL, PATIENCE, RISE, ScoringState, damped_solve, is_scoring, scoring
from tests.irl.mce.quadratic import GRADIENT, THETA, VALUE, H, steep_height


@jax.jit
def _score(state, steepness):
    landscape = SimpleNamespace(
        curvature=jnp.asarray(H), objective=lambda theta: (steep_height(theta, steepness), jnp.array(True))
    )
    return scoring().update(GRADIENT, state, jnp.asarray(THETA), value=VALUE, landscape=landscape)


@pytest.mark.parametrize(("steepness", "length"), [(1.0, 1.0), (5.0, 0.3), (20.0, 0.09), (1e30, 0.0)])
def test_a_step_of_scoring_is_that_of_the_formulas(steepness, length):
    state = ScoringState(jnp.array(0.01), jnp.array(2.0), jnp.array(3), jnp.array(5.0))
    moved, after = _score(state, jnp.array(steepness))
    direction = -np.linalg.solve(H + 0.01 * np.diag(np.diag(H)), GRADIENT)
    np.testing.assert_allclose(moved, length * direction, rtol=1e-9)
    # A whole step lowers the damping, a cut one raises it.
    ratio = float(after.damping) / 0.01
    assert ratio == pytest.approx(FALL if length == 1 else RISE)
    size = np.abs(GRADIENT).sum()
    np.testing.assert_allclose([after.gradient, after.value], [size, VALUE])
    assert int(after.idle) == 0


def test_when_scoring_stands_still():
    size = float(np.abs(GRADIENT).sum())

    def idle(gradient, value, before=3):
        state = ScoringState(jnp.array(1e-3), jnp.array(gradient), jnp.array(before), jnp.array(value))
        moved, after = _score(state, jnp.array(1.0))
        np.testing.assert_allclose([after.gradient, after.value], [min(size, gradient), min(VALUE, value)])
        return int(after.idle), bool(np.any(moved))

    assert idle(size / 0.89, VALUE) == (0, True)  # The gradient has fallen,
    assert idle(size, VALUE + 1e-3) == (0, True)  # or the objective;
    assert idle(size / 0.91, VALUE) == (4, True)  # or neither by enough.
    assert idle(size, VALUE, PATIENCE - 2) == (PATIENCE - 1, True)
    assert idle(size, VALUE, PATIENCE - 1) == (PATIENCE, False)
    lowest = ScoringState(jnp.array(1e-12), jnp.array(2.0), jnp.array(0), jnp.array(5.0))
    assert float(_score(lowest, jnp.array(1.0))[1].damping) == 1e-12
    first = scoring().init(jnp.zeros(2))
    assert (float(first.damping), int(first.idle)) == (1e-3, 0)
    assert np.isinf(first.gradient)
    assert np.isinf(first.value)
    assert is_scoring(scoring())
    assert not is_scoring(newton_path())


def test_the_damped_solution_does_not_depend_on_units():
    right, units = np.array([1.0, -2.0, 0.5]), np.diag([1.0, 100.0, 0.1])
    plain = damped_solve(jnp.asarray(H), jnp.asarray(right), jnp.array(0.1))
    np.testing.assert_allclose(plain, np.linalg.solve(H + 0.1 * np.diag(np.diag(H)), right))
    other = damped_solve(jnp.asarray(units @ H @ units), jnp.asarray(units @ right), jnp.array(0.1))
    np.testing.assert_allclose(units @ other, plain, rtol=1e-9)
    # What the data tell nothing about is held in place.
    flat = np.diag([1.0, 2e-14, 0.5e-14])
    found = damped_solve(jnp.asarray(flat), jnp.ones(3), jnp.array(0.0))
    np.testing.assert_allclose(found, [1.0, 0.5e14, 0.0])
