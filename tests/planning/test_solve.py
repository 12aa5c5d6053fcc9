"""Every kernel with every solver: one answer, to 1e-9, with masks, absorbing states and discounts up to 0.9999."""

import dataclasses
import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.envs.noise import noisy_kernel
from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, BandedKernel, DenseKernel, MarkovGame, MixtureKernel, SuccessorKernel
from robustirl.planning import METHODS, Temperatures, choose_method, policy_value, solve, state_occupancy
from robustirl.planning.linear.krylov import solve_chain

GRID = envs.GridWorld(
    "grid", rewards=np.random.default_rng(1).uniform(-3, 0, (5, 4)).round(2), goals=((0, 0), (4, 3)), discount=0.9
)
SOLVERS = [method for method in METHODS if method != "auto"]
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


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("kind", KERNELS)
def test_every_solver_on_every_kernel(kind, method):
    mdp, kernel = world(kind)
    for discount in (0.5, 0.99, 0.9999):
        if (method, discount) == ("value-iteration", 0.9999) and kind != "diagonals":
            continue  # A quarter of a million sweeps.
        for alpha in (1.0, 0.8):
            expected = reference(kernel, np.asarray(mdp.mask), GRID.reward, discount, alpha)
            found = solve(MarkovGame(at(mdp, discount), alpha), GRID.reward, method=method)
            assert bool(found.verdict.converged)
            scale = max(1.0, float(abs(expected).max()))
            assert abs(found.value - expected.astype(float)).max() <= 1e-9 * scale
            assert float(found.verdict.error_bound) >= abs(found.value - expected.astype(float)).max()
            if method != "value-iteration":
                assert int(found.verdict.iterations) <= 20


@pytest.mark.parametrize("method", SOLVERS)
def test_hard_maxima_and_rewards_of_actions(method):
    mdp, kernel = world("diagonals")
    hard = Temperatures(0.0, 0.0)
    expected = reference(kernel, np.asarray(mdp.mask), GRID.reward, 0.9, 0.8, hard)
    found = solve(MarkovGame(mdp, 0.8), GRID.reward, method=method, temperatures=hard)
    np.testing.assert_allclose(found.value, expected.astype(float), rtol=1e-9)
    by_action = np.broadcast_to(GRID.reward[:, None], (20, 4))
    paid = solve(MarkovGame(mdp, 0.8), by_action, method=method, temperatures=hard)
    np.testing.assert_allclose(paid.value, found.value, rtol=1e-9)


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
    own = mdp.kernel.chain(list(jnp.asarray(policy).T))
    solution, _, solved = solve_chain(own, mdp.discount, 0.1 * mdp.initial, mdp.initial, transposed=True)
    assert bool(solved)
    np.testing.assert_allclose(solution, expected, atol=1e-13)


@pytest.mark.parametrize("kind", ["array", "lists", "diagonals"])
@pytest.mark.parametrize("method", SOLVERS)
def test_three_states_in_closed_form(kind, method):
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
    mdp = dataclasses.replace(env.mdp(0.1))
    mdp = MDP(kernel, discount=float(mdp.discount), initial=mdp.initial, mask=mdp.mask)
    # From s₁ and s₂ there is no way out, so their values are R/(1-γ) and, with two equal actions, log 2/(1-γ).
    rest = 1 / (1 - float(mdp.discount))
    found = solve(mdp, env.reward, method=method)
    entropy = np.log(np.asarray(mdp.mask).sum(1))
    np.testing.assert_allclose(found.value[1:], (np.asarray(env.reward) + entropy)[1:] * rest, rtol=1e-9)


def test_the_choice_is_explained_by_size_and_discount():
    small = world("diagonals")[0]
    assert choose_method(MarkovGame(small)) == "newton"
    large = envs.GridWorld("large", rewards=np.zeros((40, 40)))
    assert choose_method(MarkovGame(large.mdp(0.1))) == "newton-krylov"
    assert choose_method(MarkovGame(dataclasses.replace(large, discount=0.5).mdp(0.1))) == "value-iteration"
    assert choose_method(MarkovGame(dataclasses.replace(large, discount=0.9999).mdp(0.1))) == "newton-sparse"


def test_an_unknown_method_is_refused(refused):
    with refused("magic", "newton-krylov"):
        solve(world("array")[0], GRID.reward, method="magic")


@pytest.mark.parametrize("method", SOLVERS)
def test_a_budget_too_small_is_said(method):
    mdp, _ = world("diagonals")
    found = solve(at(mdp, 0.999), GRID.reward, method=method, max_steps=1, throw=False)
    exact = solve(at(mdp, 0.999), GRID.reward, method="newton")
    if not bool(found.verdict.converged):
        # The bound is attained, in an absorbing state.
        assert float(found.verdict.error_bound) >= (1 - 1e-9) * abs(found.value - exact.value).max()


def test_direct_methods_win_where_the_world_is_small_enough_or_a_grid(monkeypatch):
    grid = envs.GridWorld("middling", rewards=np.zeros((15, 15)), discount=0.9999)  # Too large for matrices by default,
    assert choose_method(MarkovGame(grid.mdp(0.1))) == "newton-sparse"
    with monkeypatch.context() as gpu:
        gpu.setattr("jax.default_backend", lambda: "gpu")
        assert choose_method(MarkovGame(grid.mdp(0.1))) == "newton"  # but there not for one at this discount.
    assert choose_method(MarkovGame(dataclasses.replace(grid, discount=0.99).mdp(0.1))) == "newton-krylov"
    large = envs.GridWorld("large", rewards=np.zeros((40, 40)), discount=0.9999)
    lists = MDP(SuccessorKernel(np.zeros((1600, 1, 1), int), np.ones((1600, 1, 1))), discount=0.9999)
    assert choose_method(MarkovGame(lists)) == "newton-krylov"  # Lists may lead anywhere, and factors fill up.
    assert choose_method(MarkovGame(large.mdp(0.1, "uniform-action"))) == "newton-sparse"


def test_in_compiled_code_the_factorisation_is_not_chosen():
    chosen = []

    @eqx.filter_jit
    def look(game):
        chosen.append(choose_method(game))

    for side in (15, 40):  # The discount is not known there, and taken for an ordinary one.
        look(MarkovGame(envs.GridWorld("large", rewards=np.zeros((side, side)), discount=0.9999).mdp(0.1)))
    assert chosen == ["newton-krylov"] * 2


def test_a_world_beyond_the_memory_is_refused_before_work_starts(monkeypatch, refused):
    middling = envs.GridWorld("middling", rewards=np.zeros((15, 15))).mdp(0.1)
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 100_000)
    with refused("solving a world of 225 states needs about 0 GiB", "use a smaller one"):
        solve(middling, np.zeros(225))
    assert bool(solve(world("array")[0], GRID.reward).verdict.converged)  # Small ones are not asked.


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("value-iteration", "value iteration stopped"),
        ("newton", "Newton's method stopped"),
        ("newton-krylov", "Newton's method with BiCGStab stopped"),
    ],
)
def test_the_method_asked_for_is_the_one_that_runs(method, name):
    with pytest.raises(ConvergenceError, match=f"^{name} after [12] steps"):
        solve(at(world("diagonals")[0], 0.999), GRID.reward, method=method, max_steps=1)
