"""The curvature of the dual at made-up policies, beside its formula in NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import working_precision
from robustirl.irl.mce import curvature as module
from robustirl.irl.mce.curvature import CG_REDUCTION, Curvature, _is_dense
from robustirl.mdp import MDP, MarkovGame

STATES, ACTIONS, DISCOUNT, TAU = 4, 2, 0.8, 0.7
RNG = np.random.default_rng(0)
KERNEL = RNG.dirichlet(np.ones(STATES), size=(STATES, ACTIONS))
PLAYER, OPPONENT = RNG.dirichlet(np.ones(ACTIONS), size=(2, STATES))
VISITS = RNG.dirichlet(np.ones(STATES))
LOCAL = RNG.uniform(0.5, 1.0, size=(STATES, ACTIONS))
FEATURES = RNG.normal(size=(STATES, ACTIONS, STATES * ACTIONS))  # As many as pairs: fewer shapes to compile.
WORLD = MDP(KERNEL, discount=DISCOUNT)


def _mixture(alpha):
    """Where α differs by action, what the player loses of each action goes to the opponent's."""
    return alpha * PLAYER + ((1 - alpha) * PLAYER).sum(-1, keepdims=True) * OPPONENT


def _expected(alpha, features):
    """H = (1/τ) Σ_s ρ(s) Cov[X̃(s,a)] with X̃ = α X + (1-α) Σ_b π_op(b|s) X(s,b)."""
    mixture = _mixture(alpha)
    inverse = np.linalg.inv(np.eye(STATES) - DISCOUNT * np.einsum("sa,sat->st", mixture, KERNEL))
    collected = np.einsum("sa,sad->sd", mixture, features)
    moved = features + DISCOUNT * np.einsum("sat,td->sad", KERNEL, inverse @ collected)
    against = np.einsum("sa,sad->sd", OPPONENT, moved)[:, None]
    weight = np.broadcast_to(alpha, (STATES, ACTIONS))[..., None]
    felt = weight * moved + (1 - weight) * against
    spread = felt - np.einsum("sa,sad->sd", PLAYER, felt)[:, None]
    return np.einsum("s,sa,sad,sae->de", VISITS / TAU, PLAYER, spread, spread)


def _curvature(alpha, features, of_pairs):
    arrays = (jnp.asarray(part) for part in (PLAYER, OPPONENT, _mixture(alpha), VISITS))
    given = None if features is None else jnp.asarray(features)
    return Curvature(MarkovGame(WORLD, alpha), *arrays, given, TAU, of_pairs)


def _conjugate_gradients(matrix, right):
    """Return the textbook's iterate once its residual is a hundredth of the first, and how many steps that took."""
    solution, residual = np.zeros_like(right), right
    direction, count = residual, 0
    while np.linalg.norm(residual) > CG_REDUCTION * np.linalg.norm(right):
        length = residual @ residual / (direction @ matrix @ direction)
        solution, before = solution + length * direction, residual
        residual = residual - length * matrix @ direction
        direction, count = residual + (residual @ residual) / (before @ before) * direction, count + 1
    return solution, count


@pytest.mark.parametrize("alpha", [0.8, LOCAL], ids=["one", "local"])
@working_precision
def test_the_curvature_is_that_of_the_formula(alpha):
    identity = np.eye(STATES * ACTIONS).reshape(STATES, ACTIONS, -1)
    of_states = np.repeat(np.eye(STATES)[:, None], ACTIONS, 1)
    cases = [(None, True, identity), (FEATURES, True, FEATURES), (None, False, of_states)]
    cases.append((FEATURES[:, 0], False, of_states @ FEATURES[:, 0]))
    for features, of_pairs, meant in cases:
        found, expected = _curvature(alpha, features, of_pairs), _expected(alpha, meant)
        np.testing.assert_allclose(found.matrix(), expected, atol=1e-12)
        direction = np.linspace(-1, 2, len(expected))
        np.testing.assert_allclose(found.apply(jnp.asarray(direction)), expected @ direction, atol=1e-12)


@working_precision
def test_steps_are_exact_in_small_worlds_and_conjugate_gradients_in_large_ones(monkeypatch):
    found, matrix = _curvature(0.8, None, True), _expected(0.8, np.eye(8).reshape(STATES, ACTIONS, -1))
    gradient, ridge = np.linspace(-1, 2, 8), np.linspace(0.01, 0.05, 8)
    exact = np.linalg.solve(matrix + np.diag(ridge), gradient)
    np.testing.assert_allclose(found.solve(jnp.asarray(gradient), jnp.asarray(ridge)), exact, rtol=1e-9)
    unit = 1 / np.sqrt(ridge)
    solution, count = _conjugate_gradients(matrix * unit * unit[:, None] + np.eye(8), unit * gradient)
    assert count > 2
    monkeypatch.setattr(module, "LARGEST_DENSE_FEW_ACTIONS", 7)
    rough = found.solve(jnp.asarray(gradient), jnp.asarray(ridge))
    np.testing.assert_allclose(rough, unit * solution, rtol=1e-8)


def test_where_the_matrix_is_written_down(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_DENSE", 5)
    monkeypatch.setattr(module, "LARGEST_DENSE_FEW_ACTIONS", 9)
    monkeypatch.setattr(module, "MOST_ENTRIES", STATES * ACTIONS * 8)
    assert [_is_dense(WORLD, parameters) for parameters in (1, 5, 8, 9)] == [True, True, True, False]
    monkeypatch.setattr(module, "MOST_ENTRIES", 1)
    assert [_is_dense(WORLD, parameters) for parameters in (1, 5, 6)] == [True, True, False]
