"""What holds for every kernel, solver, reward model and objective: one suite of properties over all of them."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from robustirl import MDP, Demonstrations, MarkovGame, irl, planning, rewards
from robustirl.mdp.policy import mixture, uniform_policy
from robustirl.planning import Temperatures
from robustirl.planning.evaluation import state_action_occupancy
from robustirl.planning.krylov import NewtonKrylov
from tests import strategies

SOLVERS = (planning.Newton(), NewtonKrylov(), planning.ValueIteration())
SIZE = (5, 3)
FIT = {"steps": 40, "throw": False}


def forms(kernel, mask):
    """The same world as an array, as a sparse matrix, and with a part that is the same in every row."""
    sparse = scipy.sparse.csr_array(kernel.reshape(-1, len(kernel)))
    for stored, options in ((kernel, {}), (sparse, {"num_actions": kernel.shape[1]})):
        yield MDP(stored, discount=0.9, mask=mask, **options)


@st.composite
def problems(draw):
    """A kernel, a mask, a reward, and an expert's occupancy in a noisier world."""
    kernel, mask = draw(strategies.kernels(SIZE))
    kernel = np.where(mask[:, :, None], kernel, 0)
    reward = draw(strategies.vectors(SIZE[0], scales=(1.0, 3.0)))
    noisy = 0.9 * kernel + 0.1 * mask[:, :, None] / SIZE[0]
    there = MDP(noisy, discount=0.9, mask=mask)
    rho = np.asarray(planning.state_occupancy(there, planning.expert_policy(there, reward, temperature=1.0)))
    return kernel, mask, reward, rho


@given(problems(), st.sampled_from(strategies.ALPHAS), st.sampled_from(strategies.TEMPERATURES))
def test_every_solver_and_form_agree_within_their_bounds(problem, alpha, temperatures):
    kernel, mask, reward, _ = problem
    found = [
        planning.solve(MarkovGame(world, alpha), reward, solver=solver, temperatures=temperatures)
        for world in forms(kernel, mask)
        for solver in SOLVERS
    ]
    for one in found:
        assert one.verdict.converged
        distance = np.abs(one.value - found[0].value).max()
        assert distance <= one.verdict.error_bound + found[0].verdict.error_bound
        np.testing.assert_allclose(np.asarray(one.player).sum(1), 1, atol=1e-12)
        assert np.all(np.asarray(one.player)[~mask] == 0)


@given(problems(), st.sampled_from(strategies.ALPHAS), st.floats(-5, 5))
def test_a_constant_changes_no_policy_and_a_permutation_permutes(problem, alpha, constant):
    kernel, mask, reward, _ = problem
    world = MDP(kernel, discount=0.9, mask=mask)
    plain = planning.solve(MarkovGame(world, alpha), reward)
    more = planning.solve(MarkovGame(world, alpha), reward + constant)
    np.testing.assert_allclose(more.player, plain.player, atol=1e-8)
    np.testing.assert_allclose(more.value, plain.value + constant / 0.1, atol=1e-7)
    order = np.random.default_rng(0).permutation(SIZE[0])
    moved = MDP(kernel[order][:, :, order], discount=0.9, mask=mask[order])
    other = planning.solve(MarkovGame(moved, alpha), reward[order])
    np.testing.assert_allclose(other.value, plain.value[order], atol=1e-8)
    np.testing.assert_allclose(other.opponent, plain.opponent[order], atol=1e-7)


@given(problems(), st.sampled_from(strategies.ALPHAS))
def test_occupancies_sum_to_one_and_returns_are_products_with_them(problem, alpha):
    kernel, mask, reward, _ = problem
    world = MDP(kernel, discount=0.9, mask=mask)
    solution = planning.solve(MarkovGame(world, alpha), reward)
    policy = np.asarray(mixture(solution.player, solution.opponent, alpha))
    rho = np.asarray(planning.state_occupancy(world, policy))
    chain = np.einsum("sa,sat->st", policy, kernel)
    np.testing.assert_allclose(rho.sum(), 1, atol=1e-12)
    np.testing.assert_allclose(rho, 0.1 * np.asarray(world.initial) + 0.9 * rho @ chain, atol=1e-12)
    np.testing.assert_allclose(planning.discounted_return(world, policy, reward), rho @ reward / 0.1, atol=1e-9)


def models(states):
    """A model of every kind."""
    rng = np.random.default_rng(0)
    yield rewards.TabularReward(states)
    yield rewards.LinearReward(rng.normal(size=(states, 2)))
    yield rewards.classes(["a", "b", "b", "a", "c"][:states])
    yield rewards.NetworkReward(rng.normal(size=(states, 3)), key=jax.random.key(0))


@given(problems(), st.sampled_from([1.0, 0.8]), st.integers(0, 3))
def test_the_gradient_of_the_dual_is_that_of_finite_differences(problem, alpha, which):
    kernel, mask, _, rho = problem
    world, model = MDP(kernel, discount=0.9, mask=mask), list(models(SIZE[0]))[which]
    # A soft opponent, so that the dual has a derivative everywhere.
    temperatures = Temperatures(1.0, 0.5)
    theta = jax.tree.map(lambda leaf: leaf + 0.1, model.initial_parameters())

    def dual(parameters):
        reward = np.asarray(model(parameters))
        solution = planning.solve(MarkovGame(world, alpha), reward, temperatures=temperatures)
        return 0.1 * float(np.asarray(world.initial) @ solution.value) - float(rho @ reward), solution

    _, solution = dual(theta)
    policy = mixture(solution.player, solution.opponent, alpha)
    difference = jnp.asarray(planning.state_occupancy(world, policy)) - rho
    _, back = jax.vjp(model, theta)
    (gradient,) = back(difference)
    direction = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=float)).reshape(leaf.shape), theta)
    step = 1e-5
    ahead, behind = (dual(jax.tree.map(lambda t, d, s=s: t + s * step * d, theta, direction))[0] for s in (1, -1))
    exact = sum(jnp.vdot(g, d) for g, d in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True))
    np.testing.assert_allclose((ahead - behind) / (2 * step), exact, atol=1e-6)


@given(problems(), st.integers(0, 3))
def test_a_fit_keeps_its_best_gap_and_its_promises(problem, which):
    kernel, mask, _, rho = problem
    world, model = MDP(kernel, discount=0.9, mask=mask), list(models(SIZE[0]))[which]
    fit = irl.fit(world, rho, alpha=1.0, reward=model, **FIT)
    gap = np.abs(fit.occupancy - rho).sum()
    np.testing.assert_allclose(fit.verdict.occupancy_gap, gap, atol=1e-9)
    np.testing.assert_allclose(fit.reward, model(fit.parameters), atol=1e-10)
    again = planning.solve(world, fit.reward)
    np.testing.assert_allclose(fit.player, again.player, atol=1e-6)
    assert not fit.verdict.least_gap > fit.verdict.gap + 1e-9  # A bound for every policy holds for this one; or NaN.


@given(problems())
def test_a_soft_expert_of_the_same_world_is_matched_whatever_the_objective(problem):
    kernel, mask, reward, _ = problem
    world = MDP(kernel, discount=0.9, mask=mask)
    policy = np.asarray(planning.expert_policy(world, reward, temperature=1.0))
    rho = np.asarray(planning.state_occupancy(world, policy))
    fit = irl.fit(world, rho, alpha=1.0, throw=False)
    assert fit.verdict.occupancy_gap <= 1e-3
    pairs = np.asarray(state_action_occupancy(world, policy))
    by_pairs = irl.fit(world, pairs, alpha=1.0, reward=rewards.TabularReward(*SIZE), steps=200, throw=False)
    visited = rho > 1e-3
    np.testing.assert_allclose(np.asarray(by_pairs.player)[visited], policy[visited], atol=0.05)


def test_the_opponent_plays_no_part_at_alpha_one_and_batches_are_single_fits():
    rng = np.random.default_rng(3)
    worlds = [MDP(rng.dirichlet(np.ones(5), (5, 3)), discount=0.9) for _ in range(3)]
    rhos = [np.asarray(planning.state_occupancy(w, uniform_policy(w.mask))) for w in worlds[::-1]]
    alphas = [1.0, 0.9, 0.8]
    together = irl.fit_many(worlds, rhos, alphas, **FIT)
    for world, rho, alpha, one in zip(worlds, rhos, alphas, together, strict=True):
        alone = irl.fit(world, rho, alpha=alpha, **FIT)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(a, b)
    local = irl.fit(worlds[0], rhos[0], alpha=np.ones((5, 3)), **FIT)
    np.testing.assert_allclose(local.player, together[0].player, atol=1e-6)


def test_demonstrations_give_the_fit_of_their_occupancy():
    rng = np.random.default_rng(4)
    world = MDP(rng.dirichlet(np.ones(5), (5, 3)), discount=0.9)
    demos = Demonstrations.from_arrays(rng.integers(5, size=(30, 20)).tolist())
    model = irl.RobustIRL(alpha=1.0, **FIT).fit(world, demos)
    fit = irl.fit(world, model.fit_.expert_occupancy, alpha=1.0, **FIT)
    np.testing.assert_allclose(model.policy_, fit.player, atol=1e-9)
