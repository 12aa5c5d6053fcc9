"""Every kernel with every solver: one answer, to 1e-9, with masks, absorbing states and discounts up to 0.9999."""

import dataclasses
import functools
import inspect
import logging

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.envs.noise import noisy_kernel
from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, BandedKernel, DenseKernel, MarkovGame, MixtureKernel, SuccessorKernel, banded_or_lists
from robustirl.planning import (
    Newton,
    NewtonKrylov,
    NewtonSparse,
    Temperatures,
    ValueIteration,
    choose_solver,
    policy_value,
    solve,
    state_occupancy,
)
from robustirl.planning.linear.krylov import solve_chain

GRID = envs.GridWorld(
    "grid", rewards=np.random.default_rng(1).uniform(-3, 0, (5, 4)).round(2), goals=((0, 0), (4, 3)), discount=0.9
)
SOLVERS = [ValueIteration(), Newton(), NewtonKrylov(), NewtonSparse()]


def name_of(part: object) -> str:
    return part if isinstance(part, str) else type(part).__name__


EVERY_SOLVER = pytest.mark.parametrize("solver", SOLVERS, ids=name_of)
KERNELS = ["array", "lists", "diagonals", "mixture", "mixture of lists"]


@functools.cache
def world(kind: str) -> tuple[MDP, np.ndarray]:
    """The same noisy grid in each form (rank-one noise for mixtures), and the kernel as an array."""
    moves, available, absorbing = GRID._geometry()
    model = "uniform-state" if "mixture" in kind else "uniform-action"
    array = noisy_kernel(moves, absorbing, 0.2, model, dense=True)
    kernel = noisy_kernel(moves, absorbing, 0.2, model, dense=False)
    if kind == "array":
        kernel = array
    elif kind == "lists":
        assert isinstance(kernel, BandedKernel)
        kernel = kernel.to_lists()
    elif kind == "mixture of lists":
        assert isinstance(kernel, MixtureKernel)
        assert isinstance(kernel.base, BandedKernel)
        kernel = MixtureKernel(kernel.base.to_lists(), kernel.weights, kernel.distribution)
    dense = np.asarray(array.to_sparse().toarray()).reshape(20, 4, 20)
    return MDP(kernel, discount=0.9, mask=available), dense


def at(mdp: MDP, discount: float) -> MDP:
    return MDP(mdp.kernel, discount=discount, initial=mdp.initial, mask=mdp.mask)


def test_the_kernels_are_of_the_kinds_they_should_be():
    expected = [DenseKernel, SuccessorKernel, BandedKernel, MixtureKernel, MixtureKernel]
    assert [type(world(kind)[0].kernel) for kind in KERNELS] == expected
    mixture = world("mixture")[0].kernel
    assert isinstance(mixture, MixtureKernel)
    assert isinstance(mixture.base, BandedKernel)


def reference(kernel, mask, reward, discount, alpha, temperatures=(1.0, 0.0)):
    """Policy iteration in long double, without a line of the library's."""
    size = len(reward)
    kernel, reward = kernel.astype(np.longdouble), np.asarray(reward, np.longdouble)
    value = np.zeros(size, np.longdouble)
    for _ in range(400):
        expected = np.where(mask, discount * np.einsum("sat,t->sa", kernel, value), -np.inf)
        best = expected.max(1, keepdims=True)
        if temperatures[0]:
            weights = np.exp(alpha * (expected - best))
            gain = alpha * best[:, 0] + np.log(weights.sum(1))
        else:
            weights = (expected >= best - 1e-13 * abs(best)).astype(float)
            gain = alpha * best[:, 0]
        lowest = np.where(mask, expected, np.inf)
        worst = lowest.min(1, keepdims=True)
        opponent = lowest <= worst + 1e-13 * abs(worst)
        mix = alpha * weights / weights.sum(1, keepdims=True) + (1 - alpha) * opponent / opponent.sum(1, keepdims=True)
        residual = reward + gain + (1 - alpha) * worst[:, 0] - value
        if abs(residual).max() < 1e-16 * max(1, abs(value).max()):
            break
        system = np.eye(size) - discount * np.einsum("sa,sat->st", mix, kernel)
        step = np.linalg.solve(system.astype(float), residual.astype(float))
        value = value + step
    return value


# Newton's method compiles on every kernel in two seconds, the last two in six: the fast suite has them on one. Lists in
# a mixture are lists, and are a mixture.
PAIRS = [
    pytest.param(
        kind,
        solver,
        marks=pytest.mark.slow if kind == "mixture of lists" or (kind != "diagonals" and place > 1) else (),
    )
    for kind in KERNELS
    for place, solver in enumerate(SOLVERS)
]


@pytest.mark.parametrize(("kind", "solver"), PAIRS, ids=name_of)
def test_every_solver_on_every_kernel(kind, solver):
    mdp, kernel = world(kind)
    for discount in (0.5, 0.99, 0.9999):
        if solver == ValueIteration() and discount == 0.9999 and kind != "diagonals":
            continue  # A quarter of a million sweeps.
        for alpha in (1.0, 0.8):
            expected = reference(kernel, np.asarray(mdp.mask), GRID.reward, discount, alpha)
            found = solve(MarkovGame(at(mdp, discount), alpha), GRID.reward, solver=solver)
            assert bool(found.verdict.converged)
            scale = max(1.0, float(abs(expected).max()))
            assert abs(found.value - expected.astype(float)).max() <= 1e-9 * scale
            assert float(found.verdict.error_bound) >= abs(found.value - expected.astype(float)).max()
            if solver != ValueIteration():
                assert int(found.verdict.iterations) <= 20


@pytest.mark.parametrize(
    "solver",
    [
        ValueIteration(),
        Newton(),
        *(pytest.param(solver(), marks=pytest.mark.slow) for solver in (NewtonKrylov, NewtonSparse)),
    ],
    ids=name_of,
)
def test_hard_maxima_and_rewards_of_actions(solver):
    mdp, kernel = world("diagonals")
    hard = Temperatures(0.0, 0.0)
    expected = reference(kernel, np.asarray(mdp.mask), GRID.reward, 0.9, 0.8, hard)
    found = solve(MarkovGame(mdp, 0.8), GRID.reward, solver=solver, temperatures=hard)
    np.testing.assert_allclose(found.value, expected.astype(float), rtol=1e-9)
    by_action = np.broadcast_to(GRID.reward[:, None], (20, 4))
    paid = solve(MarkovGame(mdp, 0.8), by_action, solver=solver, temperatures=hard)
    np.testing.assert_allclose(paid.value, found.value, rtol=1e-9)


@eqx.filter_jit  # One program instead of a small one for every operation.
def _solved_backwards(mdp, policy):
    chain, start = mdp.kernel.chain(list(policy.T)), mdp.initial
    solution, _, solved = solve_chain(chain, mdp.discount, 0.1 * start, start, transposed=True)
    return solution, solved


@pytest.mark.parametrize("kind", KERNELS)
def test_evaluation_on_every_kernel(kind):
    mdp, kernel = world(kind)
    policy = np.asarray(mdp.mask) / np.asarray(mdp.mask).sum(1, keepdims=True)
    chain = np.einsum("sa,sat->st", policy, kernel)
    system = np.eye(20) - 0.9 * chain
    value, visits = policy_value(mdp, policy, GRID.reward), state_occupancy(mdp, policy)
    np.testing.assert_allclose(value, np.linalg.solve(system, GRID.reward), rtol=1e-11)
    expected = 0.1 * np.linalg.solve(system.T, np.asarray(mdp.initial))
    np.testing.assert_allclose(visits, expected, atol=1e-13)
    solution, solved = _solved_backwards(mdp, jnp.asarray(policy))
    assert bool(solved)
    np.testing.assert_allclose(solution, expected, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        ("array", Newton()),
        ("diagonals", ValueIteration()),
        pytest.param("lists", Newton(), marks=pytest.mark.slow),
        *(pytest.param("diagonals", solver, marks=pytest.mark.slow) for solver in SOLVERS[1:]),
    ],
    ids=name_of,
)
def test_three_states_in_closed_form(kind, solver):
    env = envs.ThreeState()
    array = env.mdp(0.1).kernel
    assert isinstance(array, DenseKernel)
    kernel = array
    if kind != "array":
        places = np.broadcast_to(np.arange(3), (3, 2, 3))
        kernel = SuccessorKernel(places, array.probabilities)
    if kind == "diagonals":
        jumps = range(-2, 3)
        weights = np.zeros((5, 2, 3))
        for s in range(3):
            for t in range(3):
                weights[jumps.index(t - s), :, s] = np.asarray(array.probabilities)[s, :, t]
        kernel = BandedKernel(jumps, weights)
    mdp = env.mdp(0.1)
    mdp = MDP(kernel, discount=float(mdp.discount), initial=mdp.initial, mask=mdp.mask)
    # From s₁ and s₂ there is no way out, so their values are R/(1-γ) and, with two equal actions, log 2/(1-γ).
    rest = 1 / (1 - float(mdp.discount))
    found = solve(mdp, env.reward, solver=solver)
    entropy = np.log(np.asarray(mdp.mask).sum(1))
    np.testing.assert_allclose(found.value[1:], (np.asarray(env.reward) + entropy)[1:] * rest, rtol=1e-9)


def chosen(game: MarkovGame) -> type:
    return type(choose_solver(game))


def test_the_choice_is_explained_by_size_and_discount():
    small = world("diagonals")[0]
    assert chosen(MarkovGame(small)) is Newton
    large = envs.GridWorld("large", rewards=np.zeros((40, 40)))
    assert chosen(MarkovGame(large.mdp(0.1))) is NewtonKrylov
    assert chosen(MarkovGame(dataclasses.replace(large, discount=0.5).mdp(0.1))) is ValueIteration
    assert chosen(MarkovGame(dataclasses.replace(large, discount=0.9999).mdp(0.1))) is NewtonSparse


@pytest.mark.parametrize("solver", ["newton", Newton])
def test_what_is_no_solver_is_refused(solver, refused):
    unchecked = inspect.unwrap(solve)  # The type checks that only tests run under would come first.
    with refused(f"the solver is {solver!r}", "planning.Newton()"):
        unchecked(world("array")[0], GRID.reward, solver=solver)


@EVERY_SOLVER
def test_a_budget_too_small_is_said(solver):
    mdp, _ = world("diagonals")
    found = solve(at(mdp, 0.999), GRID.reward, solver=solver, max_steps=1, throw=False)
    exact = solve(at(mdp, 0.999), GRID.reward, solver=Newton())
    if not bool(found.verdict.converged):
        # The bound is attained, in an absorbing state.
        assert float(found.verdict.error_bound) >= (1 - 1e-9) * abs(found.value - exact.value).max()


def test_direct_methods_win_where_the_world_is_small_enough_or_a_grid(monkeypatch):
    grid = envs.GridWorld("middling", rewards=np.zeros((15, 15)), discount=0.9999)  # Too large for matrices by default,
    assert chosen(MarkovGame(grid.mdp(0.1))) is NewtonSparse
    with monkeypatch.context() as gpu:
        gpu.setattr("jax.default_backend", lambda: "gpu")
        assert chosen(MarkovGame(grid.mdp(0.1))) is Newton  # but there not for one at this discount.
    assert chosen(MarkovGame(dataclasses.replace(grid, discount=0.99).mdp(0.1))) is NewtonKrylov
    large = envs.GridWorld("large", rewards=np.zeros((40, 40)), discount=0.9999)
    lists = MDP(SuccessorKernel(np.zeros((1600, 1, 1), int), np.ones((1600, 1, 1))), discount=0.9999)
    assert chosen(MarkovGame(lists)) is NewtonKrylov  # Lists may lead anywhere, and factors fill up.
    assert chosen(MarkovGame(large.mdp(0.1, "uniform-action"))) is NewtonSparse


@pytest.mark.parametrize(("longest", "solver"), [(8, NewtonSparse), (9, NewtonKrylov)])
def test_rings_whose_moves_are_short_are_factored_at_any_discount(longest, solver):
    states = np.arange(250)
    ahead = np.stack([(states + 1) % 250, (states - longest) % 250], 1)  # In both directions across the end.
    kernel = banded_or_lists(ahead[..., None], np.ones((250, 2, 1)))
    assert chosen(MarkovGame(MDP(kernel, discount=0.9))) is solver


def test_in_compiled_code_the_factorization_is_not_chosen():
    found = []

    @eqx.filter_jit
    def look(game):
        found.append(chosen(game))

    for side in (15, 40):  # The discount is not known there, and taken for an ordinary one.
        look(MarkovGame(envs.GridWorld("large", rewards=np.zeros((side, side)), discount=0.9999).mdp(0.1)))
    assert found == [NewtonKrylov] * 2


def test_a_world_beyond_the_memory_is_refused_before_work_starts(monkeypatch, refused):
    middling = envs.GridWorld("middling", rewards=np.zeros((15, 15))).mdp(0.1)
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 100_000)
    with refused("solving a world of 225 states needs about 0 GiB", "use a smaller one"):
        solve(middling, np.zeros(225))
    assert bool(solve(world("array")[0], GRID.reward).verdict.converged)  # Small ones are not asked.


@pytest.mark.parametrize(
    ("solver", "name"),
    [
        (ValueIteration(), "value iteration stopped"),
        (Newton(), "Newton's method stopped"),
        (NewtonKrylov(), "Newton's method with BiCGStab stopped"),
    ],
)
def test_the_solver_asked_for_is_the_one_that_runs(solver, name):
    with pytest.raises(ConvergenceError, match=f"^{name} after [12] steps"):
        solve(at(world("diagonals")[0], 0.999), GRID.reward, solver=solver, max_steps=1)


def test_one_program_serves_all_temperatures_and_limits(caplog):
    mdp, _ = world("lists")

    def programs(**options) -> int:
        caplog.clear()
        with jax.log_compiles(), caplog.at_level(logging.WARNING):
            solve(mdp, GRID.reward, throw=False, **options)
        return sum("Compiling jit(_run)" in record.message for record in caplog.records)

    programs(temperatures=Temperatures(0.7, 0.0), max_steps=3)
    assert programs(temperatures=Temperatures(), max_steps=2) == 0
    assert programs(temperatures=Temperatures(2.0, 0.0)) == 0
    assert programs(temperatures=Temperatures(2.0, 0.3)) == 1  # Zero or not is part of the program.


BEYOND = [
    pytest.param(NewtonKrylov(), 1 - 1e-10, 1.0, marks=pytest.mark.slow),
    (NewtonSparse(), 1 - 1e-10, 1.0),
    *(pytest.param(s, 0.9, 1e15, marks=pytest.mark.slow if s == NewtonKrylov() else ()) for s in SOLVERS),
]


@pytest.mark.parametrize(("solver", "discount", "scale"), BEYOND)
def test_a_bound_beyond_the_temperature_is_never_silent(solver, discount, scale):
    mdp, _ = world("diagonals")
    cause = rf"at discount {discount!r} float64 can certify values of size \d\.\de\+1\d to no better than .*"
    with pytest.raises(ConvergenceError, match=rf"{cause}more than the temperature 1\.0 .* use a smaller discount"):
        solve(at(mdp, discount), scale * GRID.reward, solver=solver)
    found = solve(at(mdp, discount), scale * GRID.reward, solver=solver, throw=False)
    assert not found.verdict.converged
    assert float(found.verdict.error_bound) > 1.0
    # Whoever asks for a relative accuracy gets it.
    assert solve(at(mdp, discount), scale * GRID.reward, solver=solver, tolerance=1e-4).verdict.converged


def test_large_rewards_are_solved_to_the_temperature_where_that_can_be_certified():
    # 1e-10 of these values is 30 temperatures; the default is as tight as the policies need.
    mdp, _ = world("diagonals")
    found = solve(mdp, 1e10 * GRID.reward)
    assert 1e-10 * np.abs(found.value).max() > 10
    assert found.verdict.converged
    assert found.verdict.error_bound <= 1.0
