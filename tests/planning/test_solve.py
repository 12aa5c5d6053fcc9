"""Every solver against an independent reference in extended precision; bounds, ties, limits, verdicts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from robustirl import envs
from robustirl._jax import double_precision
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import (
    Newton,
    Temperatures,
    ValueIteration,
    sampled_total_return,
    solve,
    state_occupancy,
    total_return,
)
from robustirl.planning.krylov import NewtonKrylov, bicgstab, system
from robustirl.planning.newton import Inverse
from robustirl.planning.solve import choose_solver
from tests.reliability import reference

SOLVERS = (Newton(), NewtonKrylov(), ValueIteration())
TEMPERATURES = ((1.0, 0.0), (0.0, 0.0), (0.5, 2.0))


def random_world(states, actions, seed, discount=0.95, successors=None):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(states, 0.3), (states, actions))
    if successors is not None:
        kernel = np.zeros((states, actions, states))
        places = rng.random((states, actions, states)).argsort(2)[:, :, :successors]
        np.put_along_axis(kernel, places, rng.dirichlet(np.ones(successors), (states, actions)), 2)
    return kernel, MDP(kernel, discount=discount)


@pytest.mark.parametrize("temperatures", TEMPERATURES)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@given(seed=st.integers(0, 2**31), alpha=st.sampled_from([1.0, 0.9, 0.4]), size=st.sampled_from([1.0, 30.0]))
@settings(max_examples=4, deadline=None)
def test_solvers_agree_with_the_reference_within_their_bounds(solver, temperatures, seed, alpha, size):
    kernel, world = random_world(7, 3, seed)
    reward = size * np.random.default_rng(seed).normal(size=7)
    found = solve(MarkovGame(world, alpha), reward, solver=solver, temperatures=Temperatures(*temperatures))
    known = reference.solve_game(kernel, reward, discount=0.95, alpha=alpha, temperatures=temperatures)
    error = np.abs(found.value - known.value.astype(float)).max()
    assert error <= found.verdict.error_bound + known.bound
    assert found.verdict.error_bound <= 1e-9 * max(np.abs(found.value).max(), *temperatures)
    if 0 not in temperatures:  # Policies of soft players are continuous in the value.
        np.testing.assert_allclose(found.player, known.player.astype(float), atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_reward_of_zero_leaves_ties_that_are_shared_evenly(solver):
    _, world = random_world(9, 4, 3)
    found = solve(MarkovGame(world, 0.7), np.zeros(9), solver=solver, temperatures=Temperatures(0.0, 0.0))
    np.testing.assert_allclose(found.player, 0.25)
    np.testing.assert_allclose(found.opponent, 0.25)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_constant_added_to_the_reward_changes_no_policy(solver):
    _, world = random_world(9, 4, 4)
    reward = np.random.default_rng(1).normal(size=9)
    one, other = (solve(MarkovGame(world, 0.8), reward + shift, solver=solver) for shift in (0.0, 5.0))
    np.testing.assert_allclose(one.player, other.player, atol=1e-8)
    np.testing.assert_allclose(other.value - one.value, 100.0, rtol=1e-9)


def test_the_ends_of_a_long_corridor_are_seen_from_everywhere():
    size = 3000
    rows = np.arange(size)
    moves = [np.maximum(rows - 1, 0), np.minimum(rows + 1, size - 1)]
    matrix = scipy.sparse.csr_array(
        (np.ones(2 * size), (np.concatenate([2 * rows, 2 * rows + 1]), np.concatenate(moves))), shape=(2 * size, size)
    )
    world, reward = MDP(matrix, discount=0.99, num_actions=2), np.where(rows == size - 1, 0.0, -1.0)
    found = solve(world, reward, temperatures=Temperatures(0.0, 0.0))
    exact = -(1 - 0.99 ** (size - 1 - rows)) / 0.01
    np.testing.assert_allclose(found.value, exact, atol=1e-7)
    assert isinstance(choose_solver(world), NewtonKrylov)
    occupancy = state_occupancy(world, found.player)
    assert abs(occupancy.sum() - 1) < 1e-12


def test_large_worlds_agree_with_small_methods():
    _, world = random_world(300, 3, 5, 0.98, successors=4)
    reward = np.random.default_rng(2).normal(size=300)
    for alpha in (1.0, 0.85):
        one, other = (solve(MarkovGame(world, alpha), reward, solver=s) for s in (Newton(), NewtonKrylov()))
        np.testing.assert_allclose(one.value, other.value, atol=1e-8)
    policy = one.player
    with double_precision():
        linear = system(world, jnp.asarray(policy), transposed=True)
        found, size, solved = linear.solve(world.initial, world.initial)
    assert solved
    assert size < 1e-12
    np.testing.assert_allclose((1 - 0.98) * found, state_occupancy(world, policy), atol=1e-12)


def test_bicgstab_reaches_the_share_asked_for():
    rng = np.random.default_rng(0)
    with double_precision():
        matrix = jnp.eye(40) - 0.9 * jnp.asarray(rng.dirichlet(np.ones(40), 40))
        right = jnp.asarray(rng.normal(size=40))
        found = bicgstab(lambda x: matrix @ x, right, 1e-8, 100)
        assert jnp.linalg.norm(right - matrix @ found) <= 1e-8 * jnp.linalg.norm(right)
        assert not bicgstab(lambda x: matrix @ x, jnp.zeros(40), 1e-8, 100).any()


def test_newton_recovers_from_any_inverse():
    _, world = random_world(8, 3, 6)
    game, reward = MarkovGame(world, 0.8), np.random.default_rng(3).normal(size=8)
    exact = solve(game, reward)
    with double_precision():
        from robustirl.planning.problem import planning_problem

        problem = planning_problem(game, reward, Temperatures(), 1e3 * np.ones(8), None)
        wrong = Inverse(jnp.asarray(np.random.default_rng(4).normal(size=(8, 8))), jnp.asarray(True))
        found, _ = jax.jit(lambda memory: Newton().steps(problem, memory, jnp.asarray(-1)))(wrong)
        assert found.verdict.converged
        np.testing.assert_allclose(found.value, exact.value, atol=1e-8)
        occupancy, good, _ = Newton().occupancy(world, found.player, world.initial, jnp.asarray(1e-10), wrong)
    assert good
    np.testing.assert_allclose(occupancy, state_occupancy(world, found.player), atol=1e-10)


def test_unfinished_solutions_raise_or_say_so():
    _, world = random_world(6, 2, 7)
    for solver in SOLVERS:
        with pytest.raises(ConvergenceError, match="max_steps"):
            solve(world, 100 * np.arange(6.0), solver=solver, max_steps=1)
        unfinished = solve(world, 100 * np.arange(6.0), solver=solver, max_steps=1, throw=False)
        assert not unfinished.verdict.converged
        assert (
            unfinished.verdict.error_bound >= np.abs(unfinished.value - solve(world, 100 * np.arange(6.0)).value).max()
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton"}, "solver"),
        ({"temperatures": (1.0, -1.0)}, "opponent's temperature"),
        ({"tolerance": 1e-30}, "out of reach"),
        ({"max_steps": 0}, "max_steps"),
        ({"initial_value": [0.0]}, "initial value"),
    ],
)
def test_refusals(options, message):
    _, world = random_world(6, 2, 8)
    with pytest.raises(InvalidInputError, match=message):
        solve(world, np.zeros(6), **options)


def test_the_bound_holds_near_a_discount_of_one():
    world = MDP([[[1.0]]], discount=0.9999)
    found = solve(world, [1.0], temperatures=Temperatures(0, 0))
    assert abs(float(found.value[0]) - 1e4) <= found.verdict.error_bound


def test_sampled_returns_are_about_the_exact_one():
    env = envs.make("three-state")
    world, policy = env.mdp(0.1), np.full((3, 2), 0.5)
    exact = total_return(world, policy, env.reward, horizon=20)
    sampled = sampled_total_return(world, policy, env.reward, key=jax.random.key(0), repetitions=4000, horizon=20)
    assert abs(sampled.mean - exact) < 5 * sampled.deviation / 4000**0.5


@pytest.mark.parametrize("temperatures", [(0.0, 0.0), (1.0, 0.0)])
@pytest.mark.parametrize("alpha", [1.0, 0.9])
def test_certain_moves_at_a_discount_near_one_take_few_steps(alpha, temperatures):
    # Residuals rise on the way, and sweeps alone would need thousands to halve them.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        world = MDP(np.eye(20)[rng.integers(20, size=(20, 4))], discount=0.9999)
        found = solve(
            MarkovGame(world, alpha),
            rng.normal(scale=5, size=(20, 4)),
            solver=Newton(),
            temperatures=Temperatures(*temperatures),
        )
        assert found.verdict.iterations < 40
