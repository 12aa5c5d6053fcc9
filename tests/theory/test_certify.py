"""Certificates and robust planning over sets of kernels, against linear programs, enumeration and closed forms."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from robustirl._jax import working_precision
from robustirl.envs import ThreeState
from robustirl.errors import ConvergenceError
from robustirl.irl import fit
from robustirl.mdp import MDP, MarkovGame, dynamics_distance, uniform_policy
from robustirl.mdp.dense import DenseKernel
from robustirl.planning import Temperatures, discounted_return, policy_value, state_occupancy
from robustirl.theory import as_uncertainty
from robustirl.theory.certify import certify, robust_soft_value
from robustirl.theory.uncertainty import KINDS, KLBall
from tests.planners import newton
from tests.strategies import policies, tasks

DISCOUNTS = (0.5, 0.9, 0.99)
SIZES = {"shapes": ((5, 3),), "discounts": DISCOUNTS}  # One shape serves most tests, since JAX compiles for each.
SMALL = {"shapes": ((2, 2),), "discounts": DISCOUNTS}
radii = st.sampled_from([0.0, 0.02, 0.3, 0.9, 1.6, 2.0])
alphas = st.sampled_from([1.0, 0.95, 0.7, 0.3])
kinds = st.sampled_from(sorted(KINDS))


def close(first, second, tolerance=1e-9):
    """Equal to `tolerance`, relative to the largest value where that exceeds one."""
    scale = max(1.0, float(np.max(np.abs(second))))
    np.testing.assert_allclose(first, second, rtol=0, atol=tolerance * scale)


def rows(kernel):
    return np.asarray(kernel.probabilities)


def world(mdp, kernel):
    return MDP(kernel, discount=mdp.discount, initial=mdp.initial, mask=mdp.mask)


def values(mdp, kernels, policy, reward):
    """V^π in each of many kernels `[n, S, A, S]`, by NumPy alone."""
    chains = np.einsum("sa,nsat->nst", policy, kernels)
    matrices = np.eye(len(reward)) - float(mdp.discount) * chains
    return np.linalg.solve(matrices, np.broadcast_to(reward, chains.shape[:2])[..., None])[..., 0]


def lowest_by_program(row, value, strength, kind):
    """The distribution of lowest expected value in the set around one row, by linear programming."""
    size = len(row)
    cost = value / max(1e-300, np.abs(value).max())
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # The tightest there are.
    if kind == "mixture":  # p >= α T
        bounds = [((1 - strength) * p, None) for p in row]
        return linprog(cost, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=bounds, options=exact).x
    found = linprog(  # p = T + gain - loss, Σ gain = Σ loss <= δ/2, loss <= T
        np.concatenate([cost, -cost]),
        A_ub=np.repeat([[1.0, 0.0]], size, axis=-1),
        b_ub=[strength],
        A_eq=np.repeat([[1.0, -1.0]], size, axis=-1),
        b_eq=[0.0],
        bounds=[(0, None)] * size + [(0, p) for p in row],
        options=exact,
    ).x
    return row + found[:size] - found[size:]


def worst_by_programs(mdp, policy, reward, strength, kind):
    """The worst-case value of a policy: kernels from linear programs, each evaluated, until none is worse."""
    kernel = rows(mdp.kernel).copy()
    value = values(mdp, kernel[None], policy, reward)[0]
    for _ in range(50):
        for s, a in np.argwhere(policy > 0):
            kernel[s, a] = lowest_by_program(rows(mdp.kernel)[s, a], value, strength, kind)
        following = values(mdp, kernel[None], policy, reward)[0]
        if np.max(value - following) <= 1e-12 * max(1, np.abs(value).max()):
            return following
        value = following
    raise AssertionError("the kernels from linear programs did not settle")


@given(task=tasks(**SIZES), radius=radii, kind=st.sampled_from(["ball", "mixture"]))
def test_both_ends_are_those_of_linear_programs(task, radius, kind):
    mdp, policy, reward = task
    certificate = certify(mdp, policy, reward, radius=radius, kind=kind)
    close(certificate.worst_value, worst_by_programs(mdp, policy, reward, radius / 2, kind))
    close(certificate.best_value, -worst_by_programs(mdp, policy, -reward, radius / 2, kind))
    close(certificate.worst_return, mdp.initial @ certificate.worst_value)
    close(certificate.best_return, mdp.initial @ certificate.best_value)
    assert certificate.worst_verdict.converged
    assert certificate.best_verdict.converged
    assert max(certificate.worst_verdict.error_bound, certificate.best_verdict.error_bound) <= 1e-10 * max(
        1, np.abs(certificate.worst_value).max(), np.abs(certificate.best_value).max()
    )


@given(task=tasks(**SMALL), radius=radii)
def test_two_states_by_enumeration(task, radius):
    # Among two states a row is one number, and a linear function of it is extreme at the ends of its interval.
    mdp, policy, reward = task
    kernel = rows(mdp.kernel)
    pairs = [tuple(pair) for pair in np.argwhere(np.asarray(mdp.mask))]
    every = []
    for signs in itertools.product([-1, 1], repeat=len(pairs)):
        other = kernel.copy()
        for pair, sign in zip(pairs, signs, strict=True):
            first = np.clip(kernel[pair][0] + sign * radius / 2, 0, 1)
            other[pair] = first, 1 - first
        every.append(other)
    found = values(mdp, np.array(every), policy, reward)
    certificate = certify(mdp, policy, reward, radius=radius)
    close(certificate.worst_value, found.min(0))
    close(certificate.best_value, found.max(0))


@given(task=tasks(**SIZES), radius=radii, kind=kinds, entropy=st.booleans())
def test_the_returned_kernels_attain_the_ends_and_lie_in_the_set(task, radius, kind, entropy):
    mdp, policy, reward = task
    certificate = certify(mdp, policy, reward, radius=radius, kind=kind, entropy=entropy)
    bonus = -np.sum(policy * np.log(np.where(policy > 0, policy, 1)), axis=-1) if entropy else 0
    for kernel, value in (
        (certificate.worst_kernel, certificate.worst_value),
        (certificate.best_kernel, certificate.best_value),
    ):
        found = world(mdp, kernel)  # The constructor checks that rows are distributions.
        close(policy_value(found, policy, reward + bonus), value)
        assert dynamics_distance(found, mdp) <= radius + 1e-12
        np.testing.assert_array_equal(rows(kernel)[rows(mdp.kernel).sum(-1) == 0], 0)
        if kind == "ball":
            continue
        rest = rows(kernel) - (1 - radius / 2) * rows(mdp.kernel)  # (1-α) T̄
        assert rest.min() >= -1e-12
        if kind == "game":  # T̄ is a row of an available action, the same for all actions of a state.
            for s, a in np.argwhere(np.asarray(mdp.mask)):
                candidates = radius / 2 * rows(mdp.kernel)[s][np.asarray(mdp.mask)[s]]
                assert np.abs(candidates - rest[s, a]).sum(-1).min() <= 1e-12


@given(task=tasks(**SIZES), alpha=alphas, entropy=st.booleans())
def test_the_three_sets_are_nested_around_the_nominal_return(task, alpha, entropy):
    mdp, policy, reward = task
    ball, mixed, game = (certify(mdp, policy, reward, alpha=alpha, kind=kind, entropy=entropy) for kind in KINDS)
    margin = 1e-9 * max(1, np.abs(ball.worst_value).max(), np.abs(ball.best_value).max())
    worst = [ball.worst_return, mixed.worst_return, game.worst_return, game.nominal_return]
    best = [game.nominal_return, game.best_return, mixed.best_return, ball.best_return]
    assert np.all(np.diff(worst + best) >= -margin)
    if not entropy:
        close(game.nominal_return, discounted_return(mdp, policy, reward))
    close(certify(mdp, policy, reward, radius=2 * (1 - alpha), entropy=entropy).worst_value, ball.worst_value)


@given(task=tasks(**SIZES), kind=kinds)
def test_the_range_widens_with_the_radius(task, kind):
    mdp, policy, reward = task
    found = [certify(mdp, policy, reward, radius=radius, kind=kind) for radius in (0.0, 0.1, 0.5, 1.1, 1.9, 2.0)]
    margin = 1e-9 * max(1, np.abs(found[-1].worst_value).max(), np.abs(found[-1].best_value).max())
    assert np.all(np.diff([each.worst_value for each in found], axis=0) <= margin)
    assert np.all(np.diff([each.best_value for each in found], axis=0) >= -margin)
    close(found[0].worst_return, discounted_return(mdp, policy, reward))
    close(found[0].best_return, discounted_return(mdp, policy, reward))
    whole = certify(mdp, policy, reward, alpha=1.0, kind=kind)
    close(whole.worst_value, found[0].worst_value)


@given(task=tasks(**SIZES), alpha=alphas)
def test_around_a_deterministic_world_ball_and_mixture_are_the_same(task, alpha):
    mdp, policy, reward = task
    kernel = np.eye(mdp.num_states)[rows(mdp.kernel).argmax(-1)] * (rows(mdp.kernel).sum(-1, keepdims=True) > 0)
    mdp = world(mdp, kernel)
    ball, mixed = (certify(mdp, policy, reward, alpha=alpha, kind=kind) for kind in ("ball", "mixture"))
    close(ball.worst_value, mixed.worst_value)
    close(ball.best_value, mixed.best_value)


def test_around_a_coin_the_ball_is_larger_than_the_mixture():
    # T = (1/2, 1/2), α = 1/2: within distance 2 (1-α) = 1 the coin can come down on one side always, but
    # half of T and half of anything leaves each side at least a quarter.
    coin = MDP(np.full((2, 2, 2), 0.5), discount=0.5, initial=[1.0, 0.0])
    policy = uniform_policy(coin.mask)
    ball, mixed, game = (certify(coin, policy, [1.0, 0.0], alpha=0.5, kind=kind) for kind in KINDS)
    close(rows(ball.worst_kernel)[:, 0], [[0.0, 1.0], [0.0, 1.0]])
    close(rows(mixed.worst_kernel)[:, 0], [[0.25, 0.75], [0.25, 0.75]])
    close([ball.worst_return, mixed.worst_return, game.worst_return], [1.0, 1.25, 1.5])


def test_a_less_noisy_expert_lies_in_the_ball_and_in_no_mixture():
    # The learner slips and the expert does not. d_dyn = 2 (1-α) for α = 1-ε, yet the mixture with that α does not
    # contain the expert's world: α T^L already loses more than T^E does, and the expert's return is out of range.
    slip, env = 0.25, ThreeState()
    learner, expert, policy = env.mdp(slip), env.mdp(0.0), np.array([[1.0, 0.0]] * 3)
    radius = dynamics_distance(learner, expert).item()
    assert radius == pytest.approx(2 * slip)
    radius = learner.kernel.row_distances(expert.kernel)
    ball, mixed = (certify(learner, policy, env.reward, radius=radius, kind=kind) for kind in ("ball", "mixture"))
    achieved = discounted_return(expert, policy, env.reward)
    close(ball.best_return, achieved)
    assert mixed.best_return < achieved - 0.1


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_three_states_in_closed_form(noise):
    # The expert's world is in the ball of radius d_dyn = 2 ε around the learner's. It is not the worst world
    # there: in the worst one s1 too loses ε to s2 at every step.
    env = ThreeState()
    learner, expert, policy = env.mdp(0.0), env.mdp(noise), np.array([[1.0, 0.0]] * 3)
    discount = env.discount
    bad = -1 / (1 - discount)
    good = (1 + discount * noise * bad) / (1 - discount * (1 - noise))
    certificate = certify(learner, policy, env.reward, radius=2 * noise)
    close(certificate.worst_value, [good - 1, good, bad])
    achieved = discounted_return(expert, policy, env.reward)
    assert certificate.worst_return <= achieved + 1e-9
    assert (certificate.worst_return < achieved - 0.1) == (noise > 0)

    # With the radius of each pair by itself the expert's world is the worst for a1, and attains the end.
    radius = learner.kernel.row_distances(expert.kernel)
    exact = certify(learner, policy, env.reward, radius=radius)
    close(exact.worst_return, achieved)
    close(exact.worst_return, discount / (1 - discount) * (1 - 2 * noise))
    assert dynamics_distance(world(learner, exact.worst_kernel), expert) <= 1e-12


@given(task=tasks(**SIZES), alpha=alphas)
def test_inequality_seven_and_its_equality_for_the_smaller_set(task, alpha):
    mdp, _, reward = task
    value = newton(MarkovGame(mdp, alpha), reward).value
    ball, mixed, game = (robust_soft_value(mdp, reward, alpha=alpha, kind=kind) for kind in KINDS)
    close(game.value, value)
    margin = 1e-9 * max(1, np.abs(ball.value).max())
    assert np.all(mixed.value <= value + margin)
    assert np.all(ball.value <= mixed.value + margin)


@given(task=tasks(**SIZES), alpha=alphas, kind=kinds, data=st.data())
def test_robust_planning_finds_a_saddle_point(task, alpha, kind, data):
    mdp, _, reward = task
    plan = robust_soft_value(mdp, reward, alpha=alpha, kind=kind)
    # No kernel is worse for the player's policy, and no policy is better in the worst kernel.
    close(certify(mdp, plan.player, reward, alpha=alpha, kind=kind, entropy=True).worst_value, plan.value)
    close(newton(MarkovGame(world(mdp, plan.worst_kernel)), reward).value, plan.value)
    # No other policy is sure of more.
    other = data.draw(policies(mdp))
    margin = 1e-9 * max(1, np.abs(plan.value).max())
    assert np.all(certify(mdp, other, reward, alpha=alpha, kind=kind, entropy=True).worst_value <= plan.value + margin)


@given(task=tasks(**SMALL), radius=radii)
def test_without_entropy_planning_is_the_best_of_all_certificates(task, radius):
    mdp, _, reward = task
    plan = robust_soft_value(mdp, reward, radius=radius, temperature=0.0)
    choices = [np.flatnonzero(row) for row in np.asarray(mdp.mask)]
    found = [certify(mdp, np.eye(2)[list(c)], reward, radius=radius).worst_value for c in itertools.product(*choices)]
    close(plan.value, np.max(found, axis=0))
    close(plan.worst_return, mdp.initial @ plan.value)


def test_planning_settles_where_plain_newton_steps_go_round():
    # States 3 and 4 absorb; between two greedy players the steps alone never come to rest on this game.
    kernel = np.zeros((5, 4, 5))
    for state, successors in enumerate([(1, 0, 2, 2), (3, 1, 3, 0), (2, 4, 0, 1), (3, 3, 3, 3), (4, 4, 4, 4)]):
        kernel[state, np.arange(4), successors] = 1
    mdp, reward = MDP(kernel, discount=0.9), np.array([9.0, -10.0, -2.0, 3.0, 0.9])
    plan = robust_soft_value(mdp, reward, alpha=0.5, kind="game", temperature=0.0)
    game = newton(MarkovGame(mdp, 0.5), reward, temperatures=Temperatures(0.0, 0.0))
    close(plan.value, game.value)


def test_a_solver_stopped_early_raises_or_says_so():
    mdp, reward = ThreeState(discount=0.99).mdp(0.1), ThreeState().reward
    policy = uniform_policy(mdp.mask)
    options = {"radius": 0.3, "max_steps": 1, "newton": False}
    with pytest.raises(ConvergenceError, match="robust evaluation of a policy stopped after 1 steps"):
        certify(mdp, policy, reward, **options)
    with pytest.raises(ConvergenceError, match="robust planning stopped after 1 steps"):
        robust_soft_value(mdp, reward, **options)
    early = certify(mdp, policy, reward, **options, throw=False)
    exact = certify(mdp, policy, reward, radius=0.3)
    assert not early.worst_verdict.converged
    error = np.abs(early.worst_value - exact.worst_value).max()
    assert 0.01 < error <= early.worst_verdict.error_bound
    assert not robust_soft_value(mdp, reward, **options, throw=False).verdict.converged


COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)


@working_precision
@pytest.mark.parametrize("chance", [0.01, 0.2, 0.4])
def test_a_tilted_coin(chance):
    """A coin that shows heads with chance p has relative entropy p log 2p + (1-p) log 2(1-p) to a fair one."""
    entropy = chance * np.log(2 * chance) + (1 - chance) * np.log(2 * (1 - chance))
    ball = as_uncertainty(COIN, radius=entropy, kind="kl")
    assert isinstance(ball, KLBall)
    value = jnp.array([3.0, 1.0])
    np.testing.assert_allclose(ball.lowest(value), 1 + 2 * chance, rtol=1e-12)
    np.testing.assert_allclose(ball.kernel(value).dense()[0, 0], [chance, 1 - chance], rtol=1e-11)


@working_precision
def test_no_member_of_the_kl_ball_is_lower():
    world, rng, value = random_world(), np.random.default_rng(1), np.array([0.3, -1.0, 2.0])
    ball = as_uncertainty(world, radius=0.1, kind="kl")
    lowest, rows = np.asarray(ball.lowest(jnp.asarray(value))), np.asarray(world.kernel.dense())
    worst = np.asarray(ball.kernel(jnp.asarray(value)).dense())
    np.testing.assert_allclose((worst * np.log(worst / rows)).sum(-1), 0.1, atol=1e-9)
    for other in rng.dirichlet(np.ones(3), 3000):
        inside = (other * np.log(other / rows)).sum(-1) <= 0.1
        assert np.all((lowest <= other @ value + 1e-12)[inside])


def test_a_certificate_over_the_kl_ball():
    """From state 0 of a coin: V = r + γ (p V0 + (1-p) V1), p of the tilted coin in every step."""
    chance = 0.2
    entropy = chance * np.log(2 * chance) + (1 - chance) * np.log(2 * (1 - chance))
    found = certify(COIN, [[1.0], [1.0]], [1.0, 0.0], radius=entropy, kind="kl")
    np.testing.assert_allclose(found.worst_value, [1.2, 0.2], rtol=1e-9)
    np.testing.assert_allclose(found.nominal_value, [1.5, 0.5], rtol=1e-9)


COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)


@working_precision
def test_a_budget_that_is_split_by_hand():
    """Mass of the first action counts double until it has lost (τ/γ) log 2; what is left takes as much from both."""
    rows = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]  # Both are worth 1 under V = (2, 1, 0).
    world = MDP([rows] * 3, discount=0.5)
    found = as_uncertainty(world, radius=0.5, kind="shared", temperature=0.3).lowest(jnp.array([2.0, 1.0, 0.0]))
    first = 0.6 * np.log(2)
    second_loss = (0.25 - first / 2) / 1.5  # Of the mass 0.25: (first + x) / 2 off the first action, x off the second.
    np.testing.assert_allclose(found[0], [1 - first - second_loss, 1 - second_loss], rtol=1e-12)


@working_precision
@pytest.mark.parametrize("temperature", [0.3, 2.0])
def test_a_shared_budget_against_brute_force(temperature):
    """min τ log Σ exp(γ T'_a·V / τ) over all rows within the budget, by a general solver."""
    world, value = random_world(2), np.array([0.3, -1.0, 2.0])
    shared = as_uncertainty(world, radius=0.5, kind="shared", temperature=temperature)
    kernel = np.asarray(shared.kernel(jnp.asarray(value)).dense())
    rows = np.asarray(world.kernel.dense())
    np.testing.assert_allclose(np.abs(kernel - rows).sum((-2, -1)), 0.5, atol=1e-9)
    assert np.all(kernel >= -1e-15)

    def objective(rows):
        return temperature * np.log(np.exp(0.9 * rows @ value / temperature).sum())

    for state in range(3):
        # Variables: mass taken off each successor of each action; it goes to the state of the lowest value, 1.
        def moved(taken, own=rows[state]):
            out = own - taken.reshape(2, 3)
            out[:, 1] += taken.reshape(2, 3).sum(-1)
            return objective(out)

        found = scipy.optimize.minimize(
            moved,
            np.full(6, 0.01),
            bounds=[(0, mass) for mass in rows[state].ravel()],
            constraints={"type": "ineq", "fun": lambda taken: 0.25 - taken.sum()},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert objective(kernel[state]) <= found.fun + 1e-9
        assert objective(kernel[state]) == pytest.approx(found.fun, abs=1e-6)


COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
WORLD = ThreeState().mdp(noise=0.0)  # γ = 0.9; state 0 leads to 1 or to 2, which are never left.
AT_START = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
RADII = {"ball": 0.3, "mixture": 0.3, "game": 0.3, "kl": 0.1, "shared": 0.3}


def random_world(seed=0, states=3, actions=2):
    rng = np.random.default_rng(seed)
    return MDP(rng.dirichlet(np.ones(states), (states, actions)), discount=0.9, initial=rng.dirichlet(np.ones(states)))


@pytest.mark.parametrize(
    "kind", ["kl", "shared", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ball", "mixture", "game"))]
)
def test_the_gradient_of_the_robust_dual_is_an_occupancy_in_the_worst_world(kind):
    world, reward, step = random_world(), np.array([0.5, 2.0, -1.0]), 1e-4

    def dual(reward):
        return 0.1 * float(robust_soft_value(world, reward, radius=RADII[kind], kind=kind).worst_return)

    numeric = [(dual(reward + step * e) - dual(reward - step * e)) / (2 * step) for e in np.eye(3)]
    plan = robust_soft_value(world, reward, radius=RADII[kind], kind=kind)
    worst = MDP(np.asarray(plan.worst_kernel.dense()), discount=0.9, initial=world.initial)
    np.testing.assert_allclose(numeric, state_occupancy(worst, plan.player), atol=1e-7)


@pytest.mark.parametrize("kind", ["ball", pytest.param("shared", marks=pytest.mark.slow)])
def test_irl_against_the_worst_world_by_hand(kind):
    """The worst kernel leads the first action astray with 0.05 (all of a shared budget): the player tries 8/9/0.95."""
    around = as_uncertainty(WORLD, radius=0.1 * AT_START, kind=kind)
    found = fit(WORLD, [0.1, 0.8, 0.1], uncertainty=around, steps=500)
    assert found.player[0, 0] == pytest.approx(8 / 9 / 0.95, abs=1e-3)
    assert found.occupancy[1] == pytest.approx(0.8, abs=1e-3)
    assert not found.verdict.least_gap > 0  # The bound of standard IRL does not hold here.


@pytest.mark.parametrize(
    ("arguments", "culprits"),
    [
        ({"radius": 2.1}, ("radius", "2.1")),
        ({"radius": float("nan")}, ("radius", "nan")),
        ({"radius": [0.1, 0.2]}, ("radius", "(2,)", "(3, 2)")),
        ({"radius": [[0.0, 0.0], [0.0, 3.0], [0.0, 0.0]]}, ("radius", "state 1, action 1", "3.0")),
        ({"alpha": 1.1}, ("alpha", "1.1")),
        ({"radius": 0.1, "alpha": 0.9}, ("radius", "alpha", "0.1", "0.9")),
        ({}, ("radius", "alpha")),
        ({"radius": 0.1, "kind": "sphere"}, ("'sphere'", "ball, mixture, game")),
        ({"alpha": 0.9, "kind": "kl"}, ("a KL ball is given by a radius",)),
        ({"radius": 0.1, "max_steps": 0}, ("max_steps", "0")),
    ],
)
def test_bad_requests_are_refused(refused, arguments, culprits):
    mdp = ThreeState().mdp(0.1)
    for attempt in (
        lambda: certify(mdp, uniform_policy(mdp.mask), ThreeState().reward, **arguments),
        lambda: robust_soft_value(mdp, ThreeState().reward, **arguments),
    ):
        with refused(*culprits):
            attempt()


def test_leaky_worlds_are_refused(refused):
    mdp = ThreeState().mdp(0.1)
    leaky = MDP(DenseKernel(rows(mdp.kernel) * 0.9, leaky=True), discount=0.9)
    with refused("leaky"):
        certify(leaky, uniform_policy(mdp.mask), ThreeState().reward, radius=0.1)
