"""Worlds on lists of successors, too large for S x S matrices: the same answers without one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

from robustirl import envs, irl
from robustirl.mdp import MDP, DenseKernel, MarkovGame, SuccessorKernel, mixture
from robustirl.mdp.dense import DenseChain
from robustirl.planning import expert_policy, policy_value, solve, state_occupancy, total_return
from robustirl.planning.linear.dense import PolicyInverse, invert_policy, writes_matrices
from robustirl.planning.linear.krylov import bicgstab, solve_chain
from tests.planners import value_iteration

SIDE = 15  # 225 states: just too many for a matrix.


@pytest.fixture(scope="module")
def env():
    rewards = np.where(np.random.default_rng(0).uniform(size=(SIDE, SIDE)) < 0.2, -10.0, -1.0)
    rewards[0, 0] = 0.0
    return envs.GridWorld("large", rewards=rewards, discount=0.95)


@pytest.fixture(scope="module", params=["uniform-state", pytest.param("uniform-action", marks=pytest.mark.slow)])
def world(env, request):
    return env.mdp(0.1, request.param)


def direct(world, policy, right, transposed=False):
    rows = world.kernel.to_sparse()
    pairs = scipy.sparse.csr_array(
        (np.asarray(policy).ravel(), (np.repeat(np.arange(world.num_states), 4), np.arange(4 * world.num_states)))
    )
    system = scipy.sparse.identity(world.num_states) - float(world.discount) * (pairs @ rows)
    return scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(system)).solve(
        np.asarray(right), "T" if transposed else "N"
    )


def test_no_matrix_is_written(world):
    assert not isinstance(world.kernel, DenseKernel)
    assert not writes_matrices(world)
    assert invert_policy(world, jnp.full((world.num_states, 4), 0.25)) is None


def test_small_lists_still_use_one():
    small = MDP(SuccessorKernel([[[0]], [[1]]], np.ones((2, 1, 1))), discount=0.9)
    assert isinstance(invert_policy(small, jnp.ones((2, 1))), PolicyInverse)


def test_values_and_occupancies_are_those_of_a_sparse_direct_solver(env, world):
    policy = expert_policy(world, env.reward)
    assert np.allclose(policy_value(world, policy, env.reward), direct(world, policy, env.reward), rtol=1e-10)
    expected = (1 - float(world.discount)) * direct(world, policy, np.asarray(world.initial), transposed=True)
    found = state_occupancy(world, policy)
    assert np.allclose(found, expected, atol=1e-13)
    assert found.sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("alpha", [1.0, 0.85])
def test_newton_agrees_with_value_iteration(env, world, alpha):
    game = MarkovGame(world, alpha)
    fast, slow = solve(game, env.reward), value_iteration(game, env.reward)
    assert bool(fast.verdict.converged)
    assert np.abs(fast.value - slow.value).max() <= fast.verdict.error_bound + slow.verdict.error_bound
    assert np.allclose(mixture(fast.player, fast.opponent, alpha).sum(1), 1)


def test_returns_are_those_of_the_array(env, world):
    policy = expert_policy(world, env.reward)
    array = MDP(
        DenseKernel(world.kernel.to_sparse().toarray().reshape(world.num_states, 4, -1)), discount=0.95, mask=world.mask
    )
    ours = total_return(world, policy, env.reward, horizon=50)
    assert ours == pytest.approx(float(total_return(array, policy, env.reward, horizon=50)), rel=1e-10)


@pytest.mark.slow
def test_a_fit_lowers_the_gap(env, world):
    rho = state_occupancy(world, expert_policy(world, env.reward))
    learner = env.mdp(0.05, "uniform-state")
    result = irl.fit(learner, rho, alpha=0.95, steps=8)
    assert result.verdict.status == irl.Status.MAX_STEPS
    assert result.history.occupancy_gap[-1] < result.history.occupancy_gap[0]
    assert np.allclose(result.occupancy, state_occupancy(learner, result.mixture), atol=1e-9)


def test_a_solve_that_fails_is_never_silent():
    # Not a chain at all: it does not contract, and the system has no solution.
    singular = DenseChain(jnp.eye(5) / 0.9)
    *_, solved = jax.jit(lambda b: solve_chain(singular, jnp.asarray(0.9), b, b))(jnp.ones(5))
    assert not bool(solved)


def test_where_the_krylov_method_breaks_down_sweeps_finish():
    # Around a ring in one direction, the present residual is orthogonal to the first at once.
    ring = DenseChain(jnp.roll(jnp.eye(50), 1, axis=1))
    right = jnp.zeros(50).at[0].set(1.0)
    rough, _ = bicgstab(lambda x: x - 0.9 * ring.expect(x), right, 1e-12, 3)
    assert np.linalg.norm(right - (rough - 0.9 * ring.expect(rough))) <= 1
    for transposed in (False, True):
        found, size, solved = solve_chain(ring, jnp.asarray(0.9), right, jnp.zeros(50), transposed=transposed)
        system = np.eye(50) - 0.9 * np.asarray(ring.matrix)
        assert bool(solved)
        assert float(size) < 1e-14
        np.testing.assert_allclose(found, np.linalg.solve(system.T if transposed else system, right), atol=1e-13)
