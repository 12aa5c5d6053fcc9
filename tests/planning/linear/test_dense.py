"""The linear systems of a policy, solved directly and by an inverse kept from elsewhere."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, BandedKernel, uniform_policy
from robustirl.planning import state_occupancy
from robustirl.planning.linear.dense import (
    UPDATE_MAX_ERROR,
    PolicyInverse,
    invert_matrix,
    invert_policy,
    policy_system,
    refine_occupancy,
    renew_inverse,
    solve_policy,
    solve_policy_roughly,
    solve_policy_transpose,
)
from tests.strategies import tasks, vectors

refine = eqx.filter_jit(refine_occupancy)


def matrix_of(inverse):
    assert isinstance(inverse, PolicyInverse)
    return inverse.matrix


@given(tasks())
def test_direct_solves_and_the_inverse_satisfy_the_system(task):
    mdp, policy, right = task[0], jnp.asarray(task[1]), jnp.asarray(task[2])
    kernel = np.asarray(mdp.kernel.probabilities)
    system = np.eye(mdp.num_states) - float(mdp.discount) * np.einsum("sa,sat->st", task[1], kernel)
    np.testing.assert_allclose(policy_system(mdp, policy), system, atol=1e-14)
    value, visits = solve_policy(mdp, policy, right), solve_policy_transpose(mdp, policy, right)
    atol = 1e-12 / (1 - float(mdp.discount)) * max(1.0, float(np.abs(right).max()))
    np.testing.assert_allclose(system @ value, right, atol=atol)
    np.testing.assert_allclose(visits @ system, right, atol=atol)
    inverse = invert_matrix(mdp, policy)
    np.testing.assert_allclose(inverse.apply(right), value, atol=atol)
    np.testing.assert_allclose(inverse.apply_transpose(right), visits, atol=atol)


@given(tasks(), st.data())
def test_the_two_solves_are_adjoint(task, data):
    mdp, policy, right = task[0], jnp.asarray(task[1]), jnp.asarray(task[2])
    other = jnp.asarray(data.draw(vectors(mdp.num_states)))
    left, right = other @ solve_policy(mdp, policy, right), solve_policy_transpose(mdp, policy, other) @ right
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("transposed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_rough_solve_leaves_a_share_of_the_right_hand_side_and_no_more(transposed):
    forward = np.zeros((2, 1, 300))
    forward[0, 0, :-1], forward[1, 0, -1] = 1, 1  # One cell on, and at rest in the last.
    corridor = MDP(BandedKernel((1, 0), forward), discount=0.9)
    right = jnp.linspace(-1.0, 2.0, 300)
    found = eqx.filter_jit(solve_policy_roughly)(corridor, jnp.ones((300, 1)), right, 1e-3, transposed=transposed)
    system = np.eye(300) - 0.9 * np.asarray(corridor.kernel.policy_matrix(jnp.ones((300, 1))))
    left = np.abs(np.asarray(right) - (system.T if transposed else system) @ np.asarray(found))
    size = float(left.sum() / jnp.abs(right).sum() if transposed else left.max() / 2)
    assert 1e-9 < size <= 1e-3  # Further digits would be wasted.


def wrong_inverses(mdp):
    size = mdp.num_states
    uniform = matrix_of(invert_policy(mdp, uniform_policy(mdp.mask)))
    return {
        "of the uniform policy": uniform,
        "far too large": 100 * uniform,
        "of the wrong sign": -uniform,
        "zero": jnp.zeros((size, size)),
        "not a number": jnp.full((size, size), jnp.nan),
    }


@pytest.mark.parametrize(
    "products", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["as on a processor", "as on a GPU"]
)
@given(tasks(shapes=((1, 1), (5, 4))), st.data())
def test_refinement_reaches_the_occupancy_from_a_wrong_inverse_and_a_wrong_start(products, task, data):
    mdp, policy, _ = task
    exact = state_occupancy(mdp, policy)
    start = jnp.asarray(data.draw(vectors(mdp.num_states)))
    for name, matrix in wrong_inverses(mdp).items():
        found, _, reached = refine(mdp, jnp.asarray(policy), PolicyInverse(matrix), start, jnp.asarray(1e-11), products)
        assert reached, name
        assert np.abs(found - exact).sum() <= 2e-11, name


@given(tasks(shapes=((5, 4),)))
def test_refinement_keeps_an_inverse_that_serves_and_renews_one_that_does_not(task):
    mdp, policy, _ = task
    policy, start, tolerance = jnp.asarray(task[1]), mdp.initial, jnp.asarray(1e-11)
    own = invert_policy(mdp, policy)
    _, kept, _ = refine(mdp, policy, own, start, tolerance)
    np.testing.assert_array_equal(matrix_of(kept), matrix_of(own))
    blank = PolicyInverse(jnp.zeros((5, 5)))
    occupancy, renewed, _ = refine(mdp, policy, blank, start, tolerance)
    if np.abs(occupancy - start).sum() > 1e-9:  # Else the start was the answer.
        np.testing.assert_allclose(matrix_of(renewed), matrix_of(own), rtol=1e-11, atol=1e-11)


def test_an_accuracy_that_is_not_reached_is_admitted():
    mdp = MDP(np.full((2, 1, 2), 0.5), discount=0.9)
    poisoned = jnp.array([float("nan"), 0.0])
    _, _, reached = refine(mdp, jnp.ones((2, 1)), invert_policy(mdp, jnp.ones((2, 1))), poisoned, jnp.asarray(1e-11))
    assert not reached


@pytest.mark.parametrize("discount", [0.9, 0.999])
def test_a_loose_tolerance_bounds_the_error_of_the_occupancy(discount):
    rng = np.random.default_rng(2)
    mdp = MDP(rng.dirichlet(np.full(5, 0.3), size=(5, 4)), discount=discount)
    policy = jnp.asarray(rng.dirichlet(np.ones(4), size=5))
    inverse = invert_policy(mdp, uniform_policy(mdp.mask))
    found, _, reached = refine(mdp, policy, inverse, mdp.initial, jnp.asarray(1e-3))
    assert reached
    assert np.abs(found - state_occupancy(mdp, policy)).sum() <= 1e-3


@given(tasks(), st.floats(0, 1))
def test_an_inverse_is_brought_up_to_date_by_products_or_factored_anew(task, share):
    mdp, policy = task[0], jnp.asarray(task[1])
    uniform = uniform_policy(mdp.mask)
    old = invert_matrix(mdp, share * policy + (1 - share) * uniform)
    found = renew_inverse(mdp, policy, old, matmul_updates=True)
    exact = matrix_of(invert_matrix(mdp, policy))
    system = np.asarray(policy_system(mdp, policy))
    before = np.linalg.norm(np.eye(mdp.num_states) - system @ np.asarray(old.matrix))
    after = np.linalg.norm(np.eye(mdp.num_states) - system @ np.asarray(found.matrix))
    assert after <= (before**2 if before <= UPDATE_MAX_ERROR * mdp.num_states**0.5 else 0) + 1e-9
    nothing = PolicyInverse(jnp.zeros_like(old.matrix))  # Which products would never get away from.
    np.testing.assert_array_equal(renew_inverse(mdp, policy, nothing, matmul_updates=True).matrix, exact)
    np.testing.assert_array_equal(renew_inverse(mdp, policy, old, matmul_updates=False).matrix, exact)
    np.testing.assert_array_equal(renew_inverse(mdp, policy, None, matmul_updates=True).matrix, exact)


def test_where_products_are_cheap_an_occupancy_is_refined_by_them(monkeypatch):
    monkeypatch.setattr("robustirl.planning.linear.dense.use_matmul_updates", lambda: True)  # As on a GPU.
    rng = np.random.default_rng(2)
    mdp = MDP(rng.dirichlet(np.full(5, 0.3), size=(5, 4)), discount=0.9)
    policy = jnp.asarray(rng.dirichlet(np.ones(4), size=5))
    own = matrix_of(invert_policy(mdp, policy))
    exact = state_occupancy(mdp, policy)
    for matrix in (own, 0.9 * own, jnp.zeros((5, 5))):
        found, newest, reached = refine_occupancy(mdp, policy, PolicyInverse(matrix), mdp.initial, jnp.asarray(1e-11))
        assert reached
        assert np.abs(found - exact).sum() <= 1e-11
        left = np.eye(5) - np.asarray(policy_system(mdp, policy)) @ np.asarray(matrix_of(newest))
        assert np.linalg.norm(left) <= 0.3


def test_a_neighbors_inverse_is_squared_and_a_strangers_is_not():
    mdp = MDP(np.full((2, 1, 2), 0.5), discount=0.9)
    policy = jnp.ones((2, 1))
    own = matrix_of(invert_policy(mdp, policy))
    near = renew_inverse(mdp, policy, PolicyInverse(0.9 * own), matmul_updates=True)
    np.testing.assert_allclose(near.matrix, 0.99 * own, rtol=1e-12)  # An error of 0.1 of it becomes one of 0.01.
    far = renew_inverse(mdp, policy, PolicyInverse(0.4 * own), matmul_updates=True)
    np.testing.assert_allclose(far.matrix, own, rtol=1e-12)
