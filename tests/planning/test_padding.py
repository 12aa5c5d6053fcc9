"""Padded worlds: the same solutions and measures of policies, from few programs."""

import logging

import jax
import numpy as np
import pytest
from jax.scipy.linalg import lu_factor, lu_solve

from robustirl._runtime import double_precision
from robustirl.mdp import MDP, MarkovGame, SuccessorKernel
from robustirl.planning import (
    Newton,
    Temperatures,
    discounted_return,
    expert_policy,
    padding,
    policy_value,
    solve,
    state_occupancy,
    total_return,
)
from robustirl.planning.evaluation import _total_return
from robustirl.planning.linear import dense
from robustirl.planning.linear.dense import LARGEST_MATRIX, _solve_on_host
from robustirl.planning.problem import planning_problem
from robustirl.planning.solvers.newton import _run

STATES, ACTIONS, DISCOUNT = 13, 3, 0.9
RNG = np.random.default_rng(0)
KERNEL = RNG.dirichlet(np.full(STATES, 0.3), size=(STATES, ACTIONS))
KERNEL[2, 1] = 0  # There is no such action.
REWARD = RNG.normal(size=STATES)
WORLD = MDP(KERNEL, discount=DISCOUNT, initial=RNG.dirichlet(np.ones(STATES)))
LOCAL_ALPHA = RNG.uniform(0.5, 1, size=(STATES, ACTIONS))


CASES = [(LOCAL_ALPHA, True, 0.5), (0.8, False, 0.0), (0.8, True, 0.5), (LOCAL_ALPHA, False, 0.0), (1.0, False, 0.5)]
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:]]


@pytest.mark.parametrize(("alpha", "actions", "temperature"), [CASES[0], *SLOW])
def test_a_padded_solution_is_the_one_of_the_world_itself(alpha, actions, temperature):
    reward = REWARD[:, None] + RNG.normal(size=(STATES, ACTIONS)) if actions else REWARD
    temperatures = Temperatures(player=temperature)
    game = MarkovGame(WORLD, alpha)
    found = solve(game, reward, temperatures=temperatures)
    with double_precision():
        plain = Newton().run(planning_problem(game, reward, temperatures, None, None), None)
    assert found.value.shape == (STATES,)
    assert found.player.shape == found.opponent.shape == (STATES, ACTIONS)
    assert np.shape(found.alpha) == np.shape(alpha)
    for name in ("value", "player", "opponent", "alpha"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-9, atol=1e-10)
    assert found.player[2, 1] == 0
    assert float(found.verdict.error_bound) <= 1e-8


def test_the_measures_of_a_policy_are_those_of_linear_algebra():
    policy = expert_policy(WORLD, REWARD, temperature=1)
    chain = np.einsum("sa,sat->st", policy, KERNEL)
    inverse = np.linalg.inv(np.eye(STATES) - DISCOUNT * chain)
    initial = np.asarray(WORLD.initial)
    np.testing.assert_allclose(policy_value(WORLD, policy, REWARD), inverse @ REWARD, rtol=1e-12)
    np.testing.assert_allclose(state_occupancy(WORLD, policy), (1 - DISCOUNT) * initial @ inverse, rtol=1e-12)
    np.testing.assert_allclose(discounted_return(WORLD, policy, REWARD), initial @ inverse @ REWARD, rtol=1e-12)
    steps = [initial @ np.linalg.matrix_power(chain, step) @ REWARD for step in range(8)]
    np.testing.assert_allclose(total_return(WORLD, policy, REWARD, horizon=7), sum(steps), rtol=1e-12)


def test_worlds_of_many_sizes_are_few_programs():
    _run.clear()
    _total_return.clear()
    for states in range(10, 17):
        world = MDP(RNG.dirichlet(np.ones(states), size=(states, 3 + states % 2)), discount=DISCOUNT)
        policy = expert_policy(world, REWARD[0] * np.arange(states), temperature=1.0)
        assert policy.shape == (states, 3 + states % 2)
        total_return(world, policy, np.ones(states), horizon=7)
    assert len(_run) == len(_total_return) == 1


def test_what_cannot_be_padded_stays_as_it_is():
    assert padding.pad_world(WORLD).mask.shape == (16, 4)
    for states in (5, 16, 2000):
        lists = np.broadcast_to(np.arange(states)[:, None, None], (states, 2, 1))
        world = MDP(SuccessorKernel(lists, np.ones((states, 2, 1))), discount=DISCOUNT)
        assert padding.pad_world(world) is world


def test_no_world_is_padded_across_the_border_between_two_planners():
    for states in range(padding.SMALLEST, padding.LARGEST + 1):
        size = padding.padded_states(states)
        assert (states <= LARGEST_MATRIX) == (size <= LARGEST_MATRIX)
        assert size <= 1.75 * states
        alone = padding.padded_states(states, padding.PLANNING_SIZES)
        assert size <= alone <= 2.6 * states
        assert (size <= LARGEST_MATRIX) == (alone <= LARGEST_MATRIX)


def test_few_sizes_serve_many_worlds():
    assert len({padding.padded_states(states) for states in range(10, 501)}) <= 10
    assert len({padding.padded_states(states, padding.PLANNING_SIZES) for states in range(10, 501)}) <= 8


@pytest.mark.parametrize("size", [3, 100])
def test_systems_are_solved_on_the_host_with_the_bits_of_jax(size):
    system = np.eye(size) - DISCOUNT * RNG.dirichlet(np.full(size, 0.1), size=size)
    right = RNG.normal(size=size)
    with double_precision():
        factors = lu_factor(system)
        for transposed in (False, True):
            found = _solve_on_host(system, right, transposed)
            np.testing.assert_array_equal(found, lu_solve(factors, right, trans=int(transposed)))


@pytest.mark.usefixtures("mistyped")
def test_large_systems_are_those_of_few_sizes(monkeypatch):
    seen = []

    def solve_large(mdp, policy, right, transposed):
        seen.append((mdp.num_states, policy.shape, right.shape, transposed))
        return np.arange(mdp.num_states)

    monkeypatch.setattr(dense, "_solve_large", solve_large)
    for states, size in ((201, 512), (512, 512), (513, 1024)):
        lists = np.broadcast_to(np.arange(states)[:, None, None], (states, 2, 1))
        world = MDP(SuccessorKernel(lists, np.ones((states, 2, 1))), discount=DISCOUNT)
        policy, right = np.full((states, 2), 0.5), np.ones(states)
        assert dense.solve_policy(world, policy, right).tolist() == list(range(states))
        assert dense.solve_policy_transpose(world, policy, right).tolist() == list(range(states))
        assert seen == [(size, (size, 2), (size,), False), (size, (size, 2), (size,), True)]
        seen.clear()


def compiled_names(caplog, work) -> list[str]:
    """Return the names of the programs that the work makes JAX compile."""
    caplog.clear()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        work()
    return [record.args[0] for record in caplog.records if record.msg.startswith("Compiling")]


def few_successors(states: int) -> np.ndarray:
    kernel, rows = np.zeros((states, 4, states)), np.arange(states)
    for action in range(4):
        kernel[rows, action, RNG.permutation(states)] += 0.25
        kernel[rows, action, RNG.permutation(states)] += 0.75
    return kernel


def plan(states: int) -> None:
    world, reward = MDP(few_successors(states), discount=DISCOUNT), RNG.normal(size=states)
    policy = expert_policy(world, reward, temperature=1)
    state_occupancy(world, policy)
    discounted_return(world, policy, reward)
    total_return(world, policy, reward, horizon=7)


@pytest.mark.parametrize(("one", "other"), [(11, 12), pytest.param(301, 302, marks=pytest.mark.slow)])
def test_a_world_of_another_size_needs_no_program_of_its_own(one, other, caplog):
    plan(one)
    assert compiled_names(caplog, lambda: plan(other)) == []


def test_a_world_of_lists_is_made_without_a_program(caplog):
    kernels = []
    assert compiled_names(caplog, lambda: kernels.append(MDP(few_successors(203), discount=DISCOUNT).kernel)) == []
    assert isinstance(kernels[0], SuccessorKernel)
