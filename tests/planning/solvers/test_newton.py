"""Newton's method: agreement with value iteration, speed, the safeguard, and warm starts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.mdp import MDP, MarkovGame, mixture, uniform_policy
from robustirl.planning import Newton, Temperatures, state_occupancy, two_player_backup
from robustirl.planning.iterates import iterate
from robustirl.planning.linear.dense import PolicyInverse, invert_policy, refine_occupancy
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.newton import _sweep_unless, newton_steps
from robustirl.planning.verdict import stopping_rule
from tests.planners import newton, value_iteration
from tests.strategies import TEMPERATURES, games

GREEDY = Temperatures(0.0, 0.0)
SHAPES = ((2, 2), (5, 4))


def matrix_steps(game, reward, start, inverse, rule, temperatures=Temperatures(), max_steps=500, matmul_updates=None):
    """The steps with matrices as they are used inside compiled code, from an inverse."""
    problem = PlanningProblem(game, reward, start, rule, temperatures, inverse is None)
    return Newton(matmul_updates=matmul_updates).steps(problem, inverse, max_steps)


steps_from = eqx.filter_jit(newton_steps)
matrix_steps_from = eqx.filter_jit(matrix_steps)
BY_PRODUCTS = pytest.mark.parametrize(
    "products", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["as on a processor", "as on a GPU"]
)


@pytest.mark.parametrize(
    "temperatures", [pytest.param(t, marks=pytest.mark.slow if t.opponent else ()) for t in TEMPERATURES]
)
@given(games(shapes=SHAPES))
def test_newton_and_value_iteration_agree(temperatures, drawn):
    game, reward = drawn
    quick = newton(game, reward, temperatures=temperatures)
    plain = value_iteration(game, reward, temperatures=temperatures)
    assert quick.verdict.converged
    assert plain.verdict.converged
    assert np.abs(quick.value - plain.value).max() <= 1e-9 * max(1, np.abs(plain.value).max())


@given(games(shapes=SHAPES))
def test_every_step_halves_the_residual(drawn):
    game, reward = drawn
    first = np.abs(two_player_backup(game, jnp.asarray(reward), jnp.zeros_like(reward)).value).max()
    verdict = newton(game, reward).verdict
    assert verdict.residual * 2.0 ** float(verdict.iterations) <= first * (1 + 1e-9)


def test_newton_takes_a_handful_of_steps_where_value_iteration_takes_thousands():
    rng = np.random.default_rng(0)
    game = MarkovGame(MDP(rng.dirichlet(np.full(12, 0.3), size=(12, 2)), discount=0.999), alpha=0.9)
    reward = rng.normal(size=12)
    assert newton(game, reward).verdict.iterations <= 12
    assert value_iteration(game, reward).verdict.iterations > 5000


# Games between two greedy players, found by trying some hundred thousand random ones: discount, alpha, the successors
# of every action of the first three states, and the reward. The last two states absorb.
RESTLESS_GAMES = {
    "weak player": (0.95, 0.3, [(0, 0, 4, 1), (3, 4, 2, 0), (0, 1, 4, 2)], [5.0, 8.0, -5.0, 0.05, 0.05]),
    "even": (0.9, 0.5, [(1, 0, 2, 2), (3, 1, 3, 0), (2, 4, 0, 1)], [9.0, -10.0, -2.0, 3.0, 0.9]),
}


def restless_game(name):
    discount, alpha, moves, reward = RESTLESS_GAMES[name]
    successors = [*moves, [3] * len(moves[0]), [4] * len(moves[0])]
    return MarkovGame(MDP(np.eye(5)[successors], discount=discount), alpha), jnp.array(reward)


def plain_newton(game, reward, steps):
    """V + (I - γ P_mix)⁻¹ (B(V) - V) with nothing to check it; the residuals on the way."""
    value, residuals = jnp.zeros_like(reward), []
    for _ in range(steps):
        found = two_player_backup(game, reward, value, GREEDY)
        residuals.append(float(jnp.abs(found.value - value).max()))
        policy = game.alpha * found.player + (1 - game.alpha) * found.opponent
        system = np.eye(len(reward)) - game.mdp.discount * game.mdp.kernel.policy_matrix(policy)
        value = value + jnp.asarray(np.linalg.solve(system, found.value - value))
    return residuals


@pytest.mark.parametrize("name", RESTLESS_GAMES)
def test_plain_newton_goes_round_for_ever_where_the_safeguarded_method_arrives(name):
    game, reward = restless_game(name)
    residuals = plain_newton(game, reward, steps=36)
    assert min(residuals) > 0.1
    np.testing.assert_allclose(residuals[-12:], residuals[-24:-12])
    solution = newton(game, reward, temperatures=GREEDY)
    assert solution.verdict.residual * 2.0 ** float(solution.verdict.iterations) <= residuals[0] * (1 + 1e-9)
    exact = value_iteration(game, reward, temperatures=GREEDY, tolerance=1e-12)
    np.testing.assert_allclose(solution.value, exact.value, rtol=1e-9)
    np.testing.assert_array_equal(solution.player, exact.player)
    np.testing.assert_array_equal(solution.opponent, exact.opponent)


@pytest.mark.slow
@pytest.mark.parametrize("name", RESTLESS_GAMES)
def test_steps_by_products_arrive_there_too(name):
    game, reward = restless_game(name)
    exact = value_iteration(game, reward, temperatures=GREEDY, tolerance=1e-12)
    rule = stopping_rule(game, reward, None, GREEDY)
    for inverse in (None, invert_policy(game.mdp, uniform_policy(game.mdp.mask))):
        found, _ = matrix_steps_from(game, reward, jnp.zeros(5), inverse, rule, GREEDY, matmul_updates=True)
        np.testing.assert_allclose(found.value, exact.value, rtol=1e-9)


def unhelpful_inverses(mdp):
    size = mdp.num_states
    own = invert_policy(mdp, uniform_policy(mdp.mask))
    assert isinstance(own, PolicyInverse)
    last = jnp.eye(mdp.num_actions)[mdp.num_actions - 1 - jnp.argmax(mdp.mask[:, ::-1], axis=-1)]
    return {
        "of the uniform policy": own,
        "of another policy": invert_policy(mdp, last),
        "far too large": PolicyInverse(100 * own.matrix),
        "of the wrong sign": PolicyInverse(-own.matrix),
        "zero": PolicyInverse(jnp.zeros((size, size))),
        "not a number": PolicyInverse(jnp.full((size, size), jnp.nan)),
    }


@BY_PRODUCTS
@given(games(shapes=((5, 4),)))
def test_any_inverse_to_start_with_leads_to_the_same_value(products, drawn):
    game, reward = drawn
    cold = newton(game, reward)
    rule = stopping_rule(game, jnp.asarray(reward), None)
    for name, inverse in unhelpful_inverses(game.mdp).items():
        warm, _ = matrix_steps_from(game, jnp.asarray(reward), jnp.zeros(5), inverse, rule, matmul_updates=products)
        assert warm.verdict.converged, name
        scale = max(1, np.abs(cold.value).max())
        np.testing.assert_allclose(warm.value, cold.value, atol=2e-10 * scale, err_msg=name)


@BY_PRODUCTS
@given(games(shapes=((5, 4),)))
def test_the_inverse_of_a_solution_solves_its_neighbor(products, drawn):
    game, reward = drawn
    rule = stopping_rule(game, jnp.asarray(reward), None)
    here, inverse = steps_from(game, jnp.asarray(reward), jnp.zeros(5), None, rule)
    moved = jnp.asarray(reward) + 1e-3 * jnp.arange(5.0)
    there, _ = matrix_steps_from(game, moved, here.value, inverse, rule, matmul_updates=products)
    again = newton(game, moved)
    scale = max(1, np.abs(again.value).max())
    assert there.verdict.converged
    np.testing.assert_allclose(there.value, again.value, atol=2e-10 * scale)


def test_a_good_inverse_needs_no_other():
    rng = np.random.default_rng(0)
    game = MarkovGame(MDP(rng.dirichlet(np.ones(5), size=(5, 4)), discount=0.9), alpha=0.8)
    reward = jnp.asarray(rng.normal(size=5))
    rule = stopping_rule(game, reward, None)
    solution, inverse = steps_from(game, reward, jnp.zeros(5), None, rule)
    _, kept = steps_from(game, reward + 1e-6, solution.value, inverse, rule)
    assert isinstance(kept, PolicyInverse)
    assert isinstance(inverse, PolicyInverse)
    np.testing.assert_array_equal(kept.matrix, inverse.matrix)


@pytest.mark.slow
def test_a_batch_by_products_is_its_members_whatever_one_of_them_begins_with():
    # As `fit_batch` solves on a GPU: all in lockstep, some with a useless inverse, one with a reward that is none.
    rng = np.random.default_rng(3)
    world = MDP(rng.dirichlet(np.full(6, 0.3), size=(6, 3)), discount=0.95)
    game = MarkovGame(world, alpha=0.8)
    rewards = jnp.asarray(rng.normal(size=(5, 6))).at[4, 0].set(jnp.nan)
    own = invert_policy(world, uniform_policy(world.mask))
    assert isinstance(own, PolicyInverse)
    useless = (own.matrix, jnp.zeros((6, 6)), jnp.full((6, 6), jnp.nan), -own.matrix, own.matrix)
    rule = stopping_rule(game, rewards[0], None)

    def one(reward, matrix):
        solution, inverse = matrix_steps(
            game, reward, jnp.zeros(6), PolicyInverse(matrix), rule, Temperatures(), 500, matmul_updates=True
        )
        return solution, *refine_occupancy(
            world, solution.mixture, inverse, world.initial, jnp.asarray(1e-11), matmul_updates=True
        )

    solutions, occupancies, _, exact = eqx.filter_jit(eqx.filter_vmap(one))(rewards, jnp.stack(useless))
    assert solutions.verdict.converged.tolist() == [True] * 4 + [False]
    assert exact[:4].all()
    for i in range(4):
        alone = newton(game, rewards[i])
        np.testing.assert_allclose(solutions.value[i], alone.value, atol=1e-9)
        np.testing.assert_allclose(occupancies[i], state_occupancy(world, alone.mixture), atol=1e-9)


@BY_PRODUCTS
def test_steps_from_an_inverse_are_capped(products):
    rng = np.random.default_rng(0)  # A tame game, in which every step would be worth it.
    game = MarkovGame(MDP(rng.dirichlet(np.ones(5), size=(5, 4)), discount=0.9), alpha=0.8)
    reward = jnp.asarray(rng.normal(size=5))
    rule = stopping_rule(game, reward, None)
    here, inverse = steps_from(game, reward, jnp.zeros(5), None, rule)
    there = reward + 0.3 * jnp.arange(5.0)
    found, _ = matrix_steps_from(game, there, here.value, inverse, rule, Temperatures(), 1, matmul_updates=products)
    assert found.verdict.iterations == 1
    assert not found.verdict.converged


def test_steps_are_capped():
    game, reward = restless_game("even")
    verdict = newton(game, reward, temperatures=GREEDY, max_steps=2, throw=False).verdict
    assert verdict.iterations == 2
    assert not verdict.converged


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_ties_of_the_exact_solution_are_shared_at_the_default_accuracy(seed):
    # From state 0 one action leads to state 1, the others to state 2, whose reward is set to make them equally good.
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(5, 0.5), size=(5, 4))
    kernel[0] = np.eye(5)[[1, 2, 2, 2]]
    kernel[1:, :, [0, 2]] = 0
    kernel[1:] /= kernel[1:].sum(-1, keepdims=True)
    game, reward = MarkovGame(MDP(kernel, discount=0.9), alpha=0.9), rng.normal(size=5)
    for _ in range(3):
        value = newton(game, reward, tolerance=4e-14).value
        reward[2] += float(value[1] - value[2])
    np.testing.assert_allclose(newton(game, reward, tolerance=4e-14).opponent[0], 0.25)
    np.testing.assert_allclose(newton(game, reward).opponent[0], 0.25)


@pytest.mark.slow
def test_where_products_are_cheap_the_answers_are_the_same():
    # What a GPU does: inverses are brought up to date by products, and no step is taken with an old one.
    rng = np.random.default_rng(3)
    game = MarkovGame(MDP(rng.dirichlet(np.full(5, 0.3), size=(5, 4)), discount=0.95), alpha=0.8)
    reward = jnp.asarray(rng.normal(size=5))
    rule = stopping_rule(game, reward, None, GREEDY)
    run = eqx.filter_jit(matrix_steps)
    plain, inverse = run(game, reward, jnp.zeros(5), None, rule, GREEDY, 500, False)
    for start in (None, inverse, PolicyInverse(jnp.zeros((5, 5)))):
        found, _ = run(game, reward, jnp.zeros(5), start, rule, GREEDY, 500, True)
        assert found.verdict.converged
        assert int(found.verdict.iterations) <= 10
        np.testing.assert_allclose(found.value, plain.value, rtol=1e-10)
    policy = mixture(plain.player, plain.opponent, game.alpha)
    exact = np.linalg.inv(np.eye(5) - 0.95 * np.asarray(game.mdp.kernel.policy_matrix(policy)))
    # The policies have settled long before the values, so the inverse is theirs.
    np.testing.assert_allclose(inverse.matrix, exact, rtol=1e-9)


def test_a_chord_step_must_quarter_the_residual():
    # With an inverse that brings down a single state's residual by a known factor, it is kept or renewed.
    game = MarkovGame(MDP([[[1.0]]], discount=0.5))
    reward = jnp.ones(1)
    rule = stopping_rule(game, reward, None)
    for factor, kept in ((0.2, True), (0.3, False)):
        # From a residual r the step with (1 - f) / (1 - γ) leaves f r.
        inverse = PolicyInverse(jnp.array([[(1 - factor) / 0.5]]))
        found, left = steps_from(game, reward, jnp.zeros(1), inverse, rule)
        np.testing.assert_allclose(found.value, [2.0], rtol=1e-9)
        assert isinstance(left, PolicyInverse)
        assert (left.matrix == inverse.matrix).item() == kept
    # Renewed at once: one step, and the value is exact.
    assert int(found.verdict.iterations) == 1


@pytest.mark.parametrize(
    ("rate", "better", "solved_at", "swept"),
    [
        (0.9, False, 0.0, 0.9**7),  # The first power of 0.9 below a half.
        (0.9, False, 0.7, 0.9**4),  # It is solved before that.
        (0.5, False, 0.0, 0.5),  # Halved by one sweep.
        (1.0, False, 0.0, 1.0),  # A sweep that brings nothing is the last.
        (2.0, False, 0.0, 2.0),
        (0.9, True, 0.0, 0.25),  # The step was better: it is taken, and nothing is swept.
    ],
)
def test_sweeps_in_place_of_a_step_end_with_half_the_residual_or_for_want_of_progress(rate, better, solved_at, swept):
    # One state, whose residual a sweep multiplies by the rate: V + residual is B(V).
    def look(value, steps):
        residual = rate * residuals[-1]
        residuals.append(residual)
        return iterate(value, value + residual, (), steps)

    residuals = [1.0]
    begin, stepped = (iterate(jnp.zeros(1), jnp.full(1, size), (), jnp.asarray(3)) for size in (1.0, 0.25))
    with jax.disable_jit():
        found = _sweep_unless(jnp.asarray(better), look, begin, stepped, lambda now: now.residual > solved_at)
    np.testing.assert_allclose(found.residual, swept, rtol=1e-12)
    assert len(residuals) == {0.9: 1 + (0 if better else 4 if solved_at else 7)}.get(rate, 2)


@pytest.mark.parametrize(
    ("rounds", "solved_at", "after", "swept"),
    [
        (5, 0.0, 1.0, 0.9**8),  # Four rounds of two sweeps: the first even power of 0.9 below a half.
        (3, 0.0, 1.0, 0.9**6),  # No more than these rounds.
        (5, 0.7, 1.0, 0.9**4),  # It is solved before that.
        (5, 0.0, 0.6, 0.6 * 0.9**2),  # Half of the residual before the step, not of that after it.
        (5, 0.0, 0.5, 0.5),  # The step has halved it.
    ],
)
def test_sweeps_ahead_are_taken_in_rounds_until_the_residual_is_halved(rounds, solved_at, after, swept):
    def sweep(value, steps):
        seen.append(value)
        return iterate(value, value + after * 0.9 ** len(seen), (), steps)

    seen = []
    begin, stepped = (iterate(jnp.zeros(1), jnp.full(1, size), (), jnp.asarray(3)) for size in (1.0, after))
    solver = Newton(ahead_sweeps=2, ahead_rounds=rounds)
    with jax.disable_jit():
        found = solver._sweep_ahead(sweep, begin, stepped, lambda now: now.residual > solved_at)
    np.testing.assert_allclose(found.residual, swept, rtol=1e-12)


@pytest.mark.parametrize(
    ("inverse", "value", "iterations"),
    [
        (1.0, 1.5, 1),  # I - A X = 1/2 is squared by products: a step leaves a quarter of the residual.
        (0.4, 2.0, 1),  # Too far off for products, and a step leaves 0.8 of it: undone, and the inverse made anew.
        (2.0, 2.0, 1),  # It is the inverse.
    ],
)
def test_steps_by_products_from_a_neighbors_inverse_are_taken_if_they_halve_the_residual(inverse, value, iterations):
    game = MarkovGame(MDP([[[1.0]]], discount=0.5))  # Paid 1 a step, the state is worth 2.
    rule = stopping_rule(game, jnp.ones(1), None)
    old = PolicyInverse(jnp.array([[inverse]]))
    found, _ = matrix_steps_from(game, jnp.ones(1), jnp.zeros(1), old, rule, Temperatures(), 1, matmul_updates=True)
    np.testing.assert_allclose(found.value, [value], rtol=1e-12)
    assert found.verdict.iterations == iterations
