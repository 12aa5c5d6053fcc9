"""Learning from occupancies: closed forms, the paper's Adam by hand, the least gap of a linear program, gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize
import scipy.sparse

from robustirl import envs, theory
from robustirl._jax import double_precision
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl import PAPER_SETTINGS, Interrupted, fit, fit_many
from robustirl.irl.fit import begin
from robustirl.irl.optimize import newton_direction
from robustirl.irl.problem import Settings, as_problem
from robustirl.irl.result import Status
from robustirl.mdp import MDP
from robustirl.planning import Temperatures, ValueIteration, expert_policy, state_occupancy
from robustirl.planning.evaluation import state_action_occupancy
from robustirl.planning.krylov import NewtonKrylov
from robustirl.planning.newton import invert
from robustirl.rewards import ClassReward, LinearReward, NetworkReward, TabularReward
from tests.irl.reference import reference_fit

CORNER = envs.ThreeState()


def random_cell(states=20, actions=3, seed=0, noise=0.2, discount=0.9):
    """Return a learner's world, and the occupancy of a soft expert in a noisier one."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(states, 0.2), (states, actions))
    noisy = (1 - noise) * kernel + noise * kernel.mean(1, keepdims=True)
    reward = rng.normal(size=states)
    expert_world = MDP(noisy, discount=discount)
    return MDP(kernel, discount=discount), state_occupancy(
        expert_world, expert_policy(expert_world, reward, kind="soft")
    )


def unmatchable_cell(seed=0):
    """Return a learner's world with more noise than the world of an optimal expert."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(12, 0.2), (12, 3))
    world, expert_world = (
        MDP((1 - noise) * kernel + noise * kernel.mean(1, keepdims=True), discount=0.95) for noise in (0.3, 0.0)
    )
    policy = expert_policy(expert_world, rng.normal(size=12), kind="optimal")
    return world, state_occupancy(expert_world, policy)


def least_gap(world, occupancy):
    """The least ‖ρ_π - ρ‖₁ of any policy, by a linear program."""
    rows, (states, actions) = world.kernel.to_sparse(), world.mask.shape
    own = scipy.sparse.kron(scipy.sparse.eye_array(states), np.ones((actions, 1)))
    eye, gamma = scipy.sparse.eye_array(states), float(world.discount)
    equations = scipy.sparse.block_array([[(own - gamma * rows).T, None, None], [own.T, -eye, eye]])
    right = np.concatenate([(1 - gamma) * np.asarray(world.initial), np.asarray(occupancy)])
    costs = np.concatenate([np.zeros(states * actions), np.ones(2 * states)])
    return scipy.optimize.linprog(costs, A_eq=equations, b_eq=right, method="highs").fun


def test_three_states_have_the_policy_of_the_closed_form():
    expert_world = CORNER.mdp(noise=0.1)
    rho = state_occupancy(expert_world, expert_policy(expert_world, CORNER.reward, kind="optimal"))
    for alpha in (1.0, 0.95):
        found = fit(CORNER.mdp(), rho, alpha=alpha, tolerance=1e-8)
        assert found.player[0, 0] == pytest.approx(CORNER.player_probability(0.1, alpha), abs=1e-6)
        assert found.verdict.status == Status.CONVERGED


@pytest.mark.parametrize("alpha", [1.0, 0.85])
def test_the_papers_settings_are_adam_by_hand(alpha):
    world, rho = random_cell(8, 2)
    found = fit(world, rho, alpha=alpha, **(PAPER_SETTINGS | {"steps": 25}))
    player, reward = reference_fit(
        np.asarray(world.kernel.dense()), np.asarray(world.mask), np.asarray(world.initial), 0.9, rho, alpha, steps=25
    )
    np.testing.assert_allclose(found.reward, reward, atol=1e-6)
    np.testing.assert_allclose(found.player, player, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_ends_near_the_least_gap_and_certifies_it(seed):
    world, rho = unmatchable_cell(seed)
    found, least = fit(world, rho, alpha=1), least_gap(world, rho)
    assert least > 0.01
    assert found.verdict.status == Status.SETTLED
    assert float(found.verdict.least_gap) <= least + 1e-9
    assert least - 1e-9 <= float(found.verdict.occupancy_gap) <= 1.03 * least + 0.005


@pytest.mark.parametrize("alpha", [0.9, 0.8])
def test_the_default_is_no_worse_than_adam_below_one(alpha):
    gaps = []
    for seed in range(3):
        world, rho = random_cell(20, 3, seed)
        found, adam = fit(world, rho, alpha=alpha), fit(world, rho, alpha=alpha, **PAPER_SETTINGS)
        gaps.append((found.verdict.occupancy_gap, np.min(adam.history.occupancy_gap)))
    ours, theirs = np.mean(gaps, 0)
    assert ours <= 1.02 * theirs + 1e-3


@pytest.mark.parametrize("solver", [NewtonKrylov(), ValueIteration()], ids=repr)
def test_fits_take_any_solver(solver):
    world, rho = random_cell()
    found, other = fit(world, rho, alpha=1, tolerance=1e-6), fit(world, rho, alpha=1, tolerance=1e-6, solver=solver)
    np.testing.assert_allclose(found.player, other.player, atol=1e-3)


def test_what_is_matched_is_what_the_reward_can_see():
    world, rho = random_cell()
    classes = np.arange(20) % 4
    found = fit(world, rho, alpha=1, reward=ClassReward(classes))
    assert found.verdict.gap <= found.verdict.tolerance
    assert found.verdict.occupancy_gap > 100 * found.verdict.tolerance
    np.testing.assert_allclose(np.bincount(classes, found.occupancy - rho), 0, atol=1e-4)
    other = fit(world, rho, alpha=1, reward=LinearReward(7.0 * np.eye(4)[classes]))
    np.testing.assert_allclose(found.player, other.player, atol=1e-3)


def test_networks_and_rewards_of_actions_learn():
    world, rho = random_cell()
    network = fit(world, rho, alpha=1, reward=NetworkReward(np.eye(20), key=jax.random.key(0)))
    assert network.verdict.occupancy_gap < 0.01
    policy = expert_policy(world, np.random.default_rng(5).normal(size=(20, 3)), kind="soft")
    pairs = fit(world, state_action_occupancy(world, policy), alpha=1, reward=TabularReward(20, 3))
    assert pairs.verdict.status == Status.CONVERGED
    np.testing.assert_allclose(pairs.player, policy, atol=1e-2)


def test_local_alpha_of_equal_numbers_is_one_alpha():
    world, rho = random_cell(8, 2)
    one, local = (fit(world, rho, alpha=alpha, steps=20, throw=False) for alpha in (0.8, np.full((8, 2), 0.8)))
    np.testing.assert_allclose(one.history.dual[:5], local.history.dual[:5], atol=1e-8)


def test_sets_of_kernels_take_the_opponents_place():
    world, rho = random_cell(8, 2)
    found = fit(world, rho, uncertainty=theory.as_uncertainty(world, radius=0.02))
    assert found.verdict.occupancy_gap < 0.05
    np.testing.assert_array_equal(found.player, found.opponent)


@pytest.mark.parametrize("alpha", [1.0, 0.8])
@pytest.mark.parametrize("pairs", [False, True])
def test_gradients_and_curvatures_are_those_of_finite_differences(alpha, pairs):
    world, rho = random_cell(6, 2)
    shape = (6, 2) if pairs else (6,)
    target = np.repeat(rho[:, None] / 2, 2, 1) if pairs else rho
    model, step = TabularReward(*shape), 1e-5
    temperatures = Temperatures(1.0, 0.5)  # A soft opponent is differentiable.
    with double_precision():
        problem = as_problem(world, target, alpha, model, Settings(temperatures=temperatures))
        state, rule = begin(problem), problem.rule()
        theta = jnp.asarray(np.random.default_rng(1).normal(size=shape))
        direction = jnp.asarray(np.random.default_rng(2).normal(size=shape))
        at = [
            problem.objective.evaluate(problem, theta + k * step * direction, state.here, state.planner, rule)
            for k in (-1, 0, 1)
        ]
        (low, _), (here, _), (high, _) = at
        slope = (high.value - low.value) / (2 * step)
        assert float(slope) == pytest.approx(float(jnp.vdot(here.gradient, direction)), rel=1e-6, abs=1e-8)
        if alpha == 1:
            exact = invert(world, here.solution.mixture)  # The one at hand may be that of a policy before.
            image = problem.objective.curvature(problem, here, exact)(direction.ravel())
            change = (high.gradient - low.gradient) / (2 * step)
            np.testing.assert_allclose(image, change.ravel(), atol=1e-6)


def test_directions_solve_the_regularized_system():
    rng = np.random.default_rng(0)
    with double_precision():
        root, ridge = jnp.asarray(rng.normal(size=(30, 10))), jnp.asarray(rng.uniform(0.1, 1.0, 10))
        slope = jnp.asarray(rng.normal(size=10))
        found = newton_direction(lambda d: root.T @ (root @ d), slope, ridge)
        exact = -jnp.linalg.solve(root.T @ root + jnp.diag(ridge), slope)
    assert np.linalg.norm(found - exact) < 0.02 * np.linalg.norm(exact)
    assert found @ slope < 0


def test_a_permutation_of_states_permutes_the_fit():
    world, rho = random_cell(10, 2)
    order = np.random.default_rng(3).permutation(10)
    kernel = np.asarray(world.kernel.dense())[order][:, :, order]
    one, other = (
        fit(world, rho, alpha=1, tolerance=1e-7),
        fit(MDP(kernel, discount=0.9), rho[order], alpha=1, tolerance=1e-7),
    )
    np.testing.assert_allclose(one.player[order], other.player, atol=1e-5)


def test_many_fits_are_those_made_one_by_one():
    cells = [random_cell(8, 2, seed) for seed in range(3)]
    worlds, rhos, alphas = [world for world, _ in cells], [rho for _, rho in cells], [1.0, 0.9, 0.9]
    options = {**PAPER_SETTINGS, "steps": 10}
    single = [fit(w, r, alpha=a, **options) for w, r, a in zip(worlds, rhos, alphas, strict=True)]
    for vectorize in (False, True):
        for one, other in zip(single, fit_many(worlds, rhos, alphas, vectorize=vectorize, **options), strict=True):
            np.testing.assert_allclose(one.reward, other.reward, atol=1e-8)
            assert len(other.history.dual) == 11


def test_callbacks_see_every_step_and_can_stop():
    world, rho = random_cell(8, 2)
    seen = []
    found = fit(world, rho, alpha=1, callbacks=[lambda step: seen.append(step.step)], steps=4, throw=False)
    assert seen == list(range(int(found.verdict.steps) + 1))
    stopped = fit(world, rho, alpha=0.9, callbacks=[lambda step: step.step < 2])
    assert (stopped.verdict.status, int(stopped.verdict.steps)) == (Status.STOPPED, 2)

    def interrupt(step):
        if step.step == 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        fit(world, rho, alpha=0.9, callbacks=[interrupt])
    assert caught.value.fit.verdict.status == Status.STOPPED


def test_optimizers_of_optax_learn():
    world, rho = random_cell(8, 2)
    found = fit(world, rho, alpha=1, optimizer=optax.lbfgs(), tolerance=1e-4)
    assert found.verdict.converged


def test_a_fit_goes_on_from_earlier_parameters():
    world, rho = random_cell(8, 2)
    first = fit(world, rho, alpha=1)
    again = fit(world, rho, alpha=1, initial_parameters=first.parameters)
    assert (again.verdict.status, int(again.verdict.steps)) == (Status.CONVERGED, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "cannot be chosen"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": 1, "steps": -1}, "steps"),
        ({"alpha": 1, "tolerance": 0}, "tolerance"),
        ({"alpha": 1, "optimizer": "adam"}, "optimizer"),
        ({"alpha": 1, "solver": "newton"}, "solver"),
        ({"alpha": 1, "objective": "regret"}, "objective"),
        ({"alpha": 1, "penalty": 1.0}, "penalty"),
        ({"alpha": 1, "reward": TabularReward(3)}, "reward model"),
        ({"alpha": 1, "reward": TabularReward(8, 2)}, "states and actions"),
        ({"alpha": 1, "initial_parameters": np.zeros(3)}, "initial parameters"),
        ({"alpha": 1, "callbacks": 3}, "callbacks"),
    ],
)
def test_refusals(options, message):
    world, rho = random_cell(8, 2)
    with pytest.raises(InvalidInputError, match=message):
        fit(world, rho, **options)


def test_a_tolerance_that_is_missed_says_why():
    world, rho = unmatchable_cell()
    with pytest.raises(ConvergenceError, match="no policy of this world comes closer"):
        fit(world, rho, alpha=1, tolerance=1e-6)
